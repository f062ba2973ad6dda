"""A new project: what `trainform init` writes into an empty folder. Of this repository's own project the same files are held equal by a test."""

from __future__ import annotations

import dataclasses
import json
import re
from urllib.parse import urlsplit

from trainform.scaffold.experiment import stack_text
from trainform.scaffold.yaml_text import plain
from trainform.spec.names import END
from trainform.spec.schema import FILES, schema

PROJECT_NAME = rf"^[A-Za-z0-9_.-]{{1,100}}{END}"  # of Pulumi, which keeps `pulumi` to itself
CONFIG = "trainform"
EXPERIMENT, ENVIRONMENT = "hello", "dev"


@dataclasses.dataclass(frozen=True)
class ConfigKey:
    """A key of the stacks' config. default: as YAML, empty for a key that must be given."""

    name: str
    type: str
    description: str
    default: str = ""

    def declaration(self) -> str:
        """As Pulumi.yaml declares it."""
        lines = [f"  {CONFIG}:{self.name}:", f"    type: {self.type}", f"    description: {self.description}"]
        return "\n".join([*lines, *([f"    default: {self.default}"] if self.default else [])])


CONFIG_KEYS = (
    ConfigKey("environment", "string", "Name of a file in stacks/environments."),
    ConfigKey(
        "experiment",
        "string",
        "Name of a file in stacks/experiments. Without it the stack is the environment's own.",
        '""',
    ),
    ConfigKey("run", "integer", "Counts deliberate repetitions of an unchanged experiment.", "1"),
    ConfigKey(
        "sshSecret",
        "string",
        "What the SSH keys of the stack's job are derived from (deepspeed, mpi). Set it with --secret.",
        '""',
    ),
)

PULUMI = """\
name: {name}
description: Distributed training jobs, one stack for each experiment in each environment.
runtime:
  name: python
  options:
    toolchain: pip
{virtualenv}main: stacks
stackConfigDir: stacks
{config}
"""

PROGRAM = '''\
"""The program of every stack; what differs between stacks is in their config."""

from trainform.resources.program import run

run()
'''

DEV = """\
# yaml-language-server: $schema=../schemas/environment.schema.json
# A cluster on this machine: `trainform sandbox up -e dev` makes these nodes. `trainform new -e NAME --from-context CONTEXT` describes a real one.
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
# The version of the provider that the sandbox has: Pulumi takes no other one, and fetches none there. On a cluster of your own it downloads
# whatever stands here.
pulumi-kubernetes=={plugin}
pip>=24.1  # Pulumi runs `pip list` before each program; older ones take twice as long
"""

IGNORED = """\
.venv/
.trainform/
__pycache__/
"""

WORKFLOW = """\
# Checks what every stack would run; needs no cluster.
name: trainform
on: [push, pull_request]
permissions: {contents: read}
jobs:
  check:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v5
      - uses: actions/setup-python@v6
        with: {python-version: "3.12", cache: pip}
      - run: python -m pip install -r requirements.txt
      - run: |
          for file in stacks/Pulumi.*.yaml; do
            stack=${file#stacks/Pulumi.}
            set -- "$@" -s "${stack%.yaml}"
          done
          trainform check "$@"
"""


def project_name(folder: str) -> str:
    """A name for the project in a folder of this name."""
    words = re.sub(r"[^A-Za-z0-9_.-]+", "-", folder).strip("-.")[:100]
    return words if is_project_name(words) else CONFIG


def is_project_name(name: str) -> bool:
    """Whether Pulumi takes it."""
    return re.match(PROJECT_NAME, name) is not None and re.match(r"pulumi(\.|$)", name, re.IGNORECASE) is None


def pulumi_yaml(name: str, virtualenv: str | None) -> str:
    """The project's definition. Pulumi takes types of keys in the project's own namespace alone, so other projects have comments."""
    if name == CONFIG:
        config = "\n".join(["config:", *(key.declaration() for key in CONFIG_KEYS)])
    else:
        lines = (f"#   {CONFIG}:{key.name}: {key.description}" for key in CONFIG_KEYS)
        config = "\n".join(["# What the files of stacks hold below `config`:", *lines])
    chosen = "" if virtualenv is None else f"    virtualenv: {virtualenv}\n"
    return PULUMI.format(name=plain(name), virtualenv=chosen, config=config)


def requirement(version: str, origin: str | None) -> str:
    """What pip is to install for the trainform that runs: the same commit where it came from a repository, else the version.

    origin: the text of `direct_url.json` of the installation (packaging.python.org, "Recording the Direct URL Origin"), None where it came
    from an index. An address on this machine, or with a password, means nothing elsewhere.
    """
    found = {} if origin is None else json.loads(origin)
    url, vcs = str(found.get("url", "")), found.get("vcs_info", {})
    if "commit_id" not in vcs or urlsplit(url).scheme in ("", "file") or urlsplit(url).password is not None:
        return f"trainform=={version}"
    return f"trainform @ {vcs['vcs']}+{url}@{vcs['commit_id']}"


def hello(registry: str = "") -> str:
    """The first experiment. registry: before the image's name, with a slash."""
    return HELLO.format(registry=registry)


def project_files(name: str, virtualenv: str | None, trainform: str, plugin: str) -> dict[str, str]:
    """Text by path. virtualenv: the one in which Pulumi runs the program; None for the Python on PATH. trainform: as a
    requirement of pip's. plugin: version of the sandbox's Kubernetes provider."""
    return {
        "Pulumi.yaml": pulumi_yaml(name, virtualenv),
        "requirements.txt": REQUIREMENTS.format(trainform=trainform, plugin=plugin),
        ".gitignore": IGNORED,
        ".github/workflows/trainform.yaml": WORKFLOW,
        "stacks/__main__.py": PROGRAM,
        f"stacks/environments/{ENVIRONMENT}.yaml": DEV,
        f"stacks/Pulumi.{ENVIRONMENT}.yaml": stack_text(ENVIRONMENT),
        f"stacks/experiments/{EXPERIMENT}.yaml": hello(),
        f"stacks/Pulumi.{EXPERIMENT}.{ENVIRONMENT}.yaml": stack_text(ENVIRONMENT, EXPERIMENT),
        **{f"stacks/schemas/{file}": schema(kind) for file, kind in FILES.items()},
    }
