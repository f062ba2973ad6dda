"""`trainform new`."""

from __future__ import annotations

import os
import re
import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
import yaml

from trainform.backends.job import job_problems
from trainform.catalog import defaults
from trainform.cli.arguments import EnvironmentOption
from trainform.errors import InputError, Problem
from trainform.examine import examine_environment
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.libyaml import Dumper
from trainform.spec.load import find_file, parse, project_root
from trainform.spec.names import MEANING, SERVICE_LABEL, is_label, matches
from trainform.spec.read import parse_mapping
from trainform.terminal.lines import echo


class LauncherName(StrEnum):
    """Launchers that `new` can write."""

    TORCHRUN = "torchrun"
    ACCELERATE = "accelerate"
    COMMAND = "command"


LAUNCHERS = {
    LauncherName.TORCHRUN: "torchrun: {script: /app/train.py, args: []}",
    LauncherName.ACCELERATE: "accelerate: {script: /app/train.py, args: []}",
    LauncherName.COMMAND: "command: [python, /app/train.py]",
}

TEMPLATE = """\
# yaml-language-server: $schema={schema}
# What runs. `trainform plan {name} -e {environment}` shows what it means; docs/fields.md lists every field.
name: {quoted_name}
image: {image}
launcher: {{{launcher}}}
roles:
  worker: {{replicas: {nodes}{accelerators}}}
storage:
  checkpoints: {{size: 100Gi, mount: /mnt/checkpoints, keep: true}}   # survives `pulumi destroy`
shared_memory: 16Gi
queue: {queue}
"""
ONE_LINE = 1 << 20  # columns, so that no text is folded
STACK = "config:\n  trainform:experiment: {name}\n  trainform:environment: {environment}\n"


def command(
    name: Annotated[
        str, typer.Argument(help="Name of the experiment: lower-case letters, digits, '-'.", show_default=False)
    ],
    environment: EnvironmentOption,
    image: Annotated[
        str | None, typer.Option(help="Container image. Default: a placeholder in the environment's first registry.")
    ] = None,
    launcher: Annotated[LauncherName, typer.Option(help="What starts the processes.")] = LauncherName.TORCHRUN,
    nodes: Annotated[int, typer.Option(min=1, help="Pods in the training world.")] = 2,
    accelerators: Annotated[
        str | None,
        typer.Option(metavar="KIND:COUNT", help="For each pod. Default: a full node of the environment's first kind."),
    ] = None,
) -> None:
    """Write the files of a new experiment: stacks/experiments/NAME.yaml and stacks/Pulumi.NAME.ENV.yaml. Overwrites nothing."""
    root = project_root()
    if not matches(SERVICE_LABEL, name):
        raise InputError([Problem("NAME", name, *MEANING[SERVICE_LABEL])])
    _refuse_bytes({"--image": image, "--environment": environment})
    offered = examine_environment(environment).checked()
    kind = next(iter(offered.accelerators), None)
    default = None if kind is None else f"{kind}:{offered.accelerators[kind].per_node}"
    registry = offered.limits.registries[0] if offered.limits.registries else "docker.io"
    text = TEMPLATE.format(
        schema="../schemas/experiment.schema.json",
        name=name,
        quoted_name=_plain(name),
        environment=offered.name,
        image=_plain(f"{registry}/change-me:latest" if image is None else image),
        launcher=LAUNCHERS[launcher],
        nodes=nodes,
        accelerators=_accelerators(default if accelerators is None else accelerators),
        queue=_plain(next(iter(offered.queues), defaults.QUEUE)),
    )
    _refuse_problems(text, offered)
    files = {
        root / "stacks" / "experiments" / f"{name}.yaml": text,
        root / "stacks" / f"Pulumi.{name}.{offered.name}.yaml": STACK.format(
            name=_plain(name), environment=_plain(_for_stack(environment, root))
        ),
    }
    _write(files, root)
    for path in files:
        echo(f"wrote {path.relative_to(root)}")
    stack = f"{name}.{offered.name}"
    echo(
        "next: edit the experiment, then",
        f"  trainform plan {name} -e {shlex.quote(environment)}",
        f"  pulumi stack init {stack}",
        f"  pulumi preview -s {stack}",
        f"  pulumi up -s {stack}",
    )


def _refuse_bytes(options: dict[str, str | None]) -> None:
    """A file of YAML cannot hold what is no text; the shell passes it on in halves of characters."""
    problems = [
        Problem(option, given, "holds bytes that are no text", "write it in UTF-8")
        for option, given in options.items()
        if given is not None and given.encode(errors="replace").decode() != given
    ]
    if problems:
        raise InputError(problems)


def _for_stack(environment: str, root: Path) -> str:
    """How the stack names the environment: paths count from the current folder here, and from the project's in a stack."""
    path, _ = find_file(Environment, environment, None)
    whole = path.resolve()
    if whole.parent == (root / "stacks" / "environments").resolve():
        return whole.stem
    return os.path.relpath(whole, root)


def _plain(text: str) -> str:
    """The text as YAML: in quotes where it would be read as something else (`no`, `12`, `a: b`)."""
    try:
        content = parse_mapping(f"text: {text}", "")
    except InputError:
        return _quoted(text)
    return text if content.data == {"text": text} else _quoted(text)


def _quoted(text: str) -> str:
    return str(yaml.dump(text, Dumper=Dumper, default_style='"', width=ONE_LINE)).strip()


def _accelerators(option: str | None) -> str:
    if option is None:
        return ""
    kind, _, count = option.partition(":")
    if not is_label(kind) or re.fullmatch("[0-9]{1,9}", count) is None:
        fix = "write it like a800:8, with at most 9 of the digits 0 to 9"
        raise InputError([Problem("--accelerators", option, "is not KIND:COUNT", fix)])
    return f", accelerators: {{{_plain(kind)}: {int(count)}}}" if int(count) else ""


def _refuse_problems(text: str, environment: Environment) -> None:
    """What would be written must pass `check`; nothing is written otherwise."""
    parsed = parse(Experiment, parse_mapping(text, "").data)
    problems = list(parsed.problems)
    if parsed.model is not None and not problems:
        problems = job_problems(parsed.model, environment)
    if problems:
        raise InputError(problems)


def _write(files: dict[Path, str], root: Path) -> None:
    there = [path for path in files if os.path.lexists(path)]
    if there:
        raise InputError(
            [
                Problem("NAME", str(path.relative_to(root)), "exists already", "choose another name, or edit that file")
                for path in there
            ]
        )
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
