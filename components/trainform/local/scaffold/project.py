"""A new project: the files that `trainform init` writes. A test compares them with those of this repository."""

from __future__ import annotations

import json
import re
from urllib.parse import urlsplit

from pydantic import BaseModel

from trainform import defaults
from trainform.local.scaffold.new_experiment import stack_text
from trainform.local.scaffold.yaml_text import scalar
from trainform.review.model import Review
from trainform.review.stored import SCHEMA_FILE
from trainform.spec.names import END
from trainform.spec.schema import FILES, schema
from trainform.stacks.drift.report_model import SCHEMA_FILE as DRIFT_SCHEMA_FILE
from trainform.stacks.drift.report_model import DriftReport
from trainform.stacks.saved.saved_review import SCHEMA_FILE as APPLY_SCHEMA_FILE
from trainform.stacks.saved.saved_review import Verdict

PROJECT_NAME = rf"^[A-Za-z0-9_.-]{{1,100}}{END}"  # as Pulumi accepts it; `pulumi` itself is reserved
CONFIG = "trainform"
EXPERIMENT, ENVIRONMENT = "hello", defaults.ENVIRONMENT
SCHEMAS: dict[str, type[BaseModel]] = {
    **FILES,
    SCHEMA_FILE: Review,
    DRIFT_SCHEMA_FILE: DriftReport,
    APPLY_SCHEMA_FILE: Verdict,
}


# Keys of the stacks' config. Pulumi accepts types only for keys of the project, so comments name these.
CONFIG_KEYS = {
    "environment": "Name of a file in stacks/environments.",
    "experiment": "Name of a file in stacks/experiments. Without it the stack is the environment's own.",
    "run": "Counts deliberate repetitions of an unchanged experiment. Default: 1.",
    "suspend": "true: the job has no pods, and its object stays. 'trainform suspend' sets it. Default: false.",
    "release": "Name of a file in stacks/releases, which 'trainform promote' sets. Without it the stack follows the "
    "experiment's file.",
    "sshSecret": "What the SSH keys of the stack's job are derived from (deepspeed, mpi). Set it with --secret.",
}

PULUMI = """\
name: {name}
description: Distributed training jobs, one stack for each experiment in each environment.
runtime:
  name: python
  options:
    toolchain: pip
{virtualenv}main: stacks
stackConfigDir: stacks
# What the files of stacks hold below `config`:
{config}
"""

PROGRAM = '''\
"""The program of every stack; what differs between stacks is in their config."""

from trainform.resources.program import run

run()
'''

POLICY = """\
description: The limits of the environment that a stack belongs to.
runtime:
  name: python
{options}"""

POLICY_PROGRAM = '''\
"""The policy pack: `pulumi preview --policy-pack policy` judges every stack by the limits of its environment."""

from trainform.resources.policy_pack.program import run

run(__file__)
'''

DEV = """\
# yaml-language-server: $schema=../schemas/environment.schema.json
# A cluster on this machine: `trainform sandbox up -e dev` makes these nodes. `trainform new -e NAME --from-context \
CONTEXT` describes a real one.
name: dev
cluster: {context: trainform-sandbox}
namespace: {name: training, create: true}
accelerators:
  gpu: {resource: nvidia.com/gpu, per_node: 8, nodes: 4, cpu: 96, memory: 1000Gi}
"""

HELLO = """\
# yaml-language-server: $schema=../schemas/experiment.schema.json
# The smallest job: two pods without accelerators that print who they are. Copy this one first.
name: hello
image: {registry}python:3.12-slim
launcher: {{command: [python, -c, "import os; print('rank', os.environ['RANK'], 'of', os.environ['WORLD_SIZE'])"]}}
roles:
  worker: {{replicas: 2, cpu: 1, memory: 1Gi}}
shared_memory: 64Mi
"""

REQUIREMENTS = """\
{trainform}
# The SDK of the policy pack pins protobuf to 5.29, which other packages may refuse.
# For `pulumi preview --policy-pack policy` take away the "# " of the next line.
# {with_policy}
# The version of the provider that the sandbox has: Pulumi takes no other one, and fetches none
# there. On a cluster of your own it downloads whatever stands here.
pulumi-kubernetes=={plugin}
pip>=24.1  # Pulumi runs `pip list` before each program; older ones take twice as long
"""

IGNORED = """\
.venv/
.trainform/
__pycache__/
build/
*.egg-info/
# reports of `trainform review`
/review.*
/*.json
"""

CHECKOUT = "actions/checkout@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1"
SETUP_PYTHON = "actions/setup-python@5fda3b95a4ea91299a34e894583c3862153e4b97 # v7.0.0"
"""Actions of GitHub, each pinned by its commit, which no tag can move. The workflows of the documents have the same."""

WORKFLOW = f"""\
# Checks what every stack would run, by the limits of its environment; needs no cluster.
# The policy pack is not run here: it judges what a program registers in a preview, which needs
# Pulumi, its login and the cluster. Where these are:
# `pulumi preview --policy-pack policy -s STACK`.
name: trainform
on: [push, pull_request]
permissions: {{contents: read}}
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: {CHECKOUT}
      - uses: {SETUP_PYTHON}
        with: {{python-version: "3.12", cache: pip}}
      - run: python -m pip install -r requirements.txt
      - run: trainform check --all
"""


def project_name(folder: str) -> str:
    """Return a project name for a folder of this name."""
    words = re.sub(r"[^A-Za-z0-9_.-]+", "-", folder).strip("-.")[:100]
    return words if is_project_name(words) else CONFIG


def is_project_name(name: str) -> bool:
    """Return True if Pulumi accepts the name."""
    return re.match(PROJECT_NAME, name) is not None and re.match(r"pulumi(\.|$)", name, re.IGNORECASE) is None


def requirement(version: str, origin: str | None) -> str:
    """Return the pip requirement for the running trainform: its commit if it was installed from a repository, else its
    version.

    `origin`: the text of the installation's `direct_url.json` (packaging.python.org, "Recording the Direct URL
    Origin"), None if it was installed from an index. A local URL, or one with a password, is not used, since it does
    not work on other machines.
    """
    commit = _commit(origin)
    return f"trainform=={version}" if commit is None else f"trainform @ {commit}"


def is_unpublished(origin: str | None) -> bool:
    """Return whether an index may lack the version: it was not installed from one. `origin`: as above."""
    return origin is not None and _commit(origin) is None


def _commit(origin: str | None) -> str | None:
    """Return the address of the installed commit, for pip; None if other machines cannot use it."""
    found = {} if origin is None else json.loads(origin)
    url, vcs = str(found.get("url", "")), found.get("vcs_info", {})
    if "commit_id" not in vcs or urlsplit(url).scheme in ("", "file") or urlsplit(url).password is not None:
        return None
    return f"{vcs['vcs']}+{url}@{vcs['commit_id']}"


def project_files(name: str, virtualenv: str | None, trainform: str, plugin: str) -> dict[str, str]:
    """Return the text of each file by path. `virtualenv`: where Pulumi runs the program, None for the Python on PATH.
    `trainform`: a pip requirement. `plugin`: the version of the sandbox's Kubernetes provider."""
    options = "" if virtualenv is None else f"    virtualenv: {virtualenv}\n"
    # The policies run in the environment of the program; paths count from their own folder.
    policy = "" if virtualenv is None else f"  options:\n    toolchain: pip\n    virtualenv: ../{virtualenv}\n"
    config = "\n".join(f"#   {CONFIG}:{key}: {description}" for key, description in CONFIG_KEYS.items())
    # the extra that the policy pack needs; pip accepts it next to the requirement without it
    with_policy = trainform.replace("trainform", "trainform[policy]", 1)
    return {
        "Pulumi.yaml": PULUMI.format(name=scalar(name), virtualenv=options, config=config),
        "requirements.txt": REQUIREMENTS.format(trainform=trainform, with_policy=with_policy, plugin=plugin),
        ".gitignore": IGNORED,
        ".github/workflows/trainform.yaml": WORKFLOW,
        "policy/PulumiPolicy.yaml": POLICY.format(options=policy),
        "policy/__main__.py": POLICY_PROGRAM,
        "stacks/__main__.py": PROGRAM,
        f"stacks/environments/{ENVIRONMENT}.yaml": DEV,
        f"stacks/Pulumi.{ENVIRONMENT}.yaml": stack_text(ENVIRONMENT),
        f"stacks/experiments/{EXPERIMENT}.yaml": HELLO.format(registry=""),
        f"stacks/Pulumi.{EXPERIMENT}.{ENVIRONMENT}.yaml": stack_text(ENVIRONMENT, EXPERIMENT),
        **{f"stacks/schemas/{file}": schema(kind) for file, kind in SCHEMAS.items()},
    }
