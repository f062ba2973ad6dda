# The project's commands. `make` without arguments lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# If this variable is set, every process of a test run compiles the project again.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help venv setup demo stop test proof rehearse image docker lint docs types pytest-test bench golden lock clean node-v2

help: ## List the commands.
	@grep -E '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

venv:
	@$(PYTHON) tools/venv.py

setup: venv ## Create the environment and get the tool chain. `test`, `proof`, `rehearse` and `bench` run it.
	@$(BIN)/trainform toolchain ensure

demo: venv ## Run a four-node job on a sandbox: preview, up, and its pods. With REAL=1 a small one for real, in Docker.
	@$(BIN)/trainform demo $(if $(REAL),--real)

stop: venv ## Stop the sandboxes of `make demo` and of rehearsals, and remove their data.
	@$(BIN)/trainform sandbox down
	@for folder in .trainform/rehearsals .trainform/rehearsals-with-claims; do \
		test ! -d "$$folder" || $(BIN)/trainform sandbox down --folder "$$folder" || exit; done

# `make test` needs these add-ons; `make proof` needs all of them.
ADDONS_OF_TEST  := trainer,jobset
ADDONS_OF_PROOF := kubeflow,trainer,jobset,kueue,kubedl
# One process for each core; with more than four, sandboxes take too much memory.
PYTEST          := $(BIN)/python -m pytest -n auto --maxprocesses 4 -o console_output_style=classic --durations 10

test: setup ## Run lint, types and the tests that show that each part works. Before each commit.
	@$(BIN)/trainform toolchain ensure --with $(ADDONS_OF_TEST)
	@$(MAKE) --no-print-directory --jobs 3 lint types pytest-test

pytest-test:
	@$(PYTEST) --part test

proof: setup ## Run the tests that `make test` leaves out: all operators, generated experiments, rehearsals, kills.
	@$(BIN)/trainform toolchain ensure --with $(ADDONS_OF_PROOF)
	@$(PYTEST) --part proof

rehearse: setup image ## Run the launchers on real nodes that `make proof` leaves out, and the emulation without nodes.
	@$(BIN)/trainform toolchain ensure --with $(ADDONS_OF_PROOF)
	@$(PYTEST) --part rehearsal

image: docker ## Build the image of the rehearsals: torchrun, accelerate, deepspeed, mpirun, TensorFlow and JAX on CPUs.
	@$(BIN)/python -m tools.rehearsal_image

node-v2: docker ## Check real nodes on cgroup v2: user-mode Linux, which is built once (10 minutes). On Debian.
	@$(BIN)/python -m tools.cgroup_v2

docker: venv ## Start a Docker daemon if none answers: Debian's docker.io, in a folder of the cache.
	@$(BIN)/python -m tools.docker_daemon ensure

lint: venv
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/lint-imports --no-cache --no-logo
	@git grep -Lz '^#!/bin/bash' '*.sh' | xargs -0 $(BIN)/shellcheck --shell sh
	@git grep -lz '^#!/bin/bash' '*.sh' | xargs -0 $(BIN)/shellcheck
	@$(BIN)/shellcheck .ci/run
	@$(SITE)

# Read anew each time: what another page lost is seen in the pages that link to it. A warning, such as a broken link, is an error.
SITE = $(BIN)/sphinx-build -c tools/docs -b html -E -a -W --keep-going -q -d site/.doctrees . site

docs: venv ## The site of the documents, in site/. Links and their anchors are checked.
	@$(SITE)
	@echo 'open site/index.html'

types: venv
	@$(BIN)/mypy

bench: setup ## Measure what docs/reference/benchmarks.md shows.
	@$(BIN)/python -m bench

golden: venv ## Write golden manifests, schemas and generated pages again; review the diff.
	@$(BIN)/trainform schema
	@$(BIN)/python -m tools.docs
	@$(BIN)/python -m pytest -q tests/backends tests/corpus --update-golden

COMPILE = $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	--upgrade --quiet

lock: venv ## Choose new versions for the lock files.
	@$(COMPILE) pyproject.toml -c constraints.txt --group dev -o requirements.txt
	@echo 'torchx[kubernetes]' | $(COMPILE) - -o requirements-bench.txt

clean: ## Remove the virtual environment and caches of tools; the tool chain stays.
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis site
