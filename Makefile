# The one place with the project's commands. `make` alone lists them.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

# Where it is set, each of the many processes of a test run compiles the project anew.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help venv setup demo stop test proof rehearse image docker lint types pytest-test bench golden lock clean

help: ## List the commands.
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

venv:
	@$(PYTHON) tools/venv.py

setup: venv ## Virtual environment, locked packages, tool chain. `test`, `proof`, `rehearse` and `bench` call it.
	@$(BIN)/trainform toolchain ensure

demo: venv ## A four-node job through preview and up on a control plane of its own.
	@$(BIN)/trainform demo

stop: venv ## End the sandbox of `make demo` and remove its state.
	@$(BIN)/trainform sandbox down

# What `make test` needs of the add-ons; `make proof` needs all.
ADDONS_OF_TEST  := trainer,jobset
ADDONS_OF_PROOF := kubeflow,trainer,jobset,kueue,kubedl
PYTEST          := $(BIN)/python -m pytest -n 2 -o console_output_style=classic --durations 10

test: setup ## Lint, types, and what shows that every kind of thing works. Before each commit.
	@$(BIN)/trainform toolchain ensure --with $(ADDONS_OF_TEST)
	@$(MAKE) --no-print-directory --jobs 3 lint types pytest-test

pytest-test:
	@$(PYTEST) --part test

proof: setup ## The tests that `make test` leaves out: all operators, generated experiments, rehearsals, kills.
	@$(BIN)/trainform toolchain ensure --with $(ADDONS_OF_PROOF)
	@$(PYTEST) --part proof

rehearse: setup image ## Real launchers in the pods that the real controller made, as containers.
	@$(BIN)/python -m pytest tests/engine/test_rehearsals.py tests/rehearsal/test_worlds.py

image: docker ## The image of the rehearsals: torchrun, accelerate, deepspeed, mpirun and TensorFlow on CPUs.
	@$(BIN)/python -m tools.rehearsal_image

docker: venv ## A Docker daemon; where none answers, Debian's docker.io in a folder of the cache.
	@$(BIN)/python -m tools.docker_daemon ensure

lint: venv
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .

types: venv
	@$(BIN)/mypy

bench: setup ## The measurements of docs/benchmarks.md.
	@$(BIN)/python -m tests.bench

golden: venv ## Write the golden manifests and schemas anew; review the diff.
	@$(BIN)/trainform schema
	@$(BIN)/python -m trainform.spec.reference > docs/fields.md
	@$(BIN)/python -m trainform.backends.launch_contract > docs/launch-contract.md
	@$(BIN)/python -m trainform.backends.comparison > docs/backends.md
	@$(BIN)/python -m pytest -q tests/backends --update-golden

COMPILE = $(BIN)/uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --no-annotate \
	--upgrade --quiet

lock: venv ## Choose the versions of the lock files anew.
	@$(COMPILE) pyproject.toml -c constraints.txt --group dev -o requirements.txt
	@echo 'torchx[kubernetes]' | $(COMPILE) - -o requirements-bench.txt

clean: ## Remove the virtual environment and caches of tools; the tool chain stays.
	@rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
