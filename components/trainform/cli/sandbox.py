"""`trainform sandbox`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import structs

from trainform.cli import candidates
from trainform.cli.app import App, prints
from trainform.cli.arguments import DATA, WHICH_ENVIRONMENT, Form, argument, environment_option, option
from trainform.cli.jobs import from_input
from trainform.console.lines import echo, echo_json, note
from trainform.errors import InputError, Problem, TrainformError

if TYPE_CHECKING:
    from trainform.local.sandbox.settings import SandboxSettings
    from trainform.local.sandbox.status import SandboxStatus
    from trainform.spec.environment import Environment

app = App(help="Start and stop a real control plane with simulated or real nodes.")

NOT_RUNNING = 1
REAL_NODES, MOST_REAL_NODES = 2, 64
FAILING_COMMAND = "false"
"""A command that fails. `eval ""` succeeds, and the shell would continue with the user's own cluster and stacks."""

ENVIRONMENT = (
    f"{WHICH_ENVIRONMENT} The sandbox gets its nodes, storage classes and context, and its operators make gangs if "
    "its `admission` is volcano. Default: as the last time, else two "
    "nodes without accelerators."
)
FOLDER = "The sandbox's folder. Default: TRAINFORM_SANDBOX, else .trainform/sandbox next to the nearest Pulumi.yaml."
TIMEOUT = "Time limit for the start, without builds. Default: 90, plus 20 for each add-on and 60 for each real node."
NODES = (
    "`real`, or `real=N`: run N nodes (default 2) as containers with a kubelet, next to the simulated ones. Pods run "
    "there, unless their namespace says otherwise. `simulated`: none. Default: as the last time. Docker is required."
)
WITH = (
    f"Also run these operators: {candidates.ADD_ONS}; several with commas. Each is built once. They stay until `down`."
)
PURGE = (
    "Also remove the folder with the logs and the passphrase, and the images of real nodes if it had any. Secrets in "
    "stack files can no longer be read after that."
)
EnvironmentOption = Annotated[str | None, environment_option(ENVIRONMENT)]
FolderOption = Annotated[Path | None, option("DIR", FOLDER, "--folder")]
ImageArgument = Annotated[str, argument("IMAGE", "Name of an image, or id of one that `docker images` lists.")]
NameOption = Annotated[str | None, option("NAME", "The name in the experiments that use it. Default: its own.", "--as")]
TimeoutOption = Annotated[float | None, option("SECONDS", TIMEOUT, "--timeout", min=1)]
NodesOption = Annotated[str | None, option("real[=N]|simulated", NODES, "--nodes")]
WithOption = Annotated[list[str] | None, option("ADD-ONS", WITH, "--with", autocompletion=candidates.addons)]
PurgeOption = Annotated[bool, typer.Option("--purge", help=PURGE)]


@app.verb("up")
@prints(*DATA)
def up_command(
    environment: EnvironmentOption = None,
    nodes: NodesOption = None,
    addons: WithOption = None,
    folder: FolderOption = None,
    timeout: TimeoutOption = None,
    *,
    form: Form,
) -> None:
    """Start the control plane, or make the running one match the environment.

    It has a real API server, Volcano with its webhooks, and simulated nodes with the environment's accelerators, all on
    loopback. Pods run until they are deleted, or end if their template has the annotations
    `sandbox.trainform.dev/run-for: 30s` and `sandbox.trainform.dev/exit-code: "1"`. Sandboxes in different folders can
    run at the same time.
    """
    from trainform.cli.progress import display
    from trainform.local.sandbox.addons import chosen_addons
    from trainform.local.sandbox.control import up
    from trainform.local.sandbox.folder import chosen_folder
    from trainform.local.toolchain.ensure import ensure
    from trainform.spec.load import load_environment

    progress = display()
    chosen = chosen_addons([] if addons is None else addons)  # before a build: a wrong name is an error at once
    real = None if nodes is None else _real(nodes)
    loaded = None if environment is None else load_environment(from_input(environment)).or_raise()
    settings = structs.replace(_settings(loaded, chosen_folder(folder)), addons=chosen, real=real)
    sandbox = up(settings, ensure(progress), progress, timeout)
    option = "" if folder is None else f" --folder {shlex.quote(str(folder))}"
    count, following = sum(pool.count for pool in settings.pools), f'eval "$(trainform sandbox env{option})"'
    if form is Form.JSON:
        place = {"folder": str(settings.folder), "url": sandbox.url, "context": sandbox.context, "uid": sandbox.uid}
        numbers = {"nodes": count, "real_nodes": sandbox.real_nodes}
        echo_json({"ok": True, **place, **numbers, "addons": list(settings.addons), "next": [following]})
        return
    real_nodes = f", {sandbox.real_nodes} real nodes" if sandbox.real_nodes else ""
    echo(f"sandbox up: {sandbox.url}, {spell_contexts(sandbox.context, settings.contexts)}, {count} nodes{real_nodes}")
    note(f"next: {following}")


def _real(nodes: str) -> int:
    """Return how many real nodes the option names. Raises `InputError` for another text."""
    kind, separator, number = nodes.partition("=")
    if nodes == "simulated":
        return 0
    if kind != "real" or (separator and not (number.isdigit() and 0 < int(number) <= MOST_REAL_NODES)):
        fix = f"write real, real=N with N from 1 to {MOST_REAL_NODES}, or simulated"
        raise InputError([Problem("--nodes", nodes, "is not a kind of nodes", fix)])
    return int(number) if separator else REAL_NODES


def spell_contexts(own: str, aliases: Sequence[str]) -> str:
    """Return the name of the sandbox's context, with the environment's names for it."""
    others = ", ".join(name for name in aliases if name != own)
    return f"context {own} (in stacks and errors: {others})" if others else f"context {own}"


def _settings(environment: Environment | None, folder: Path) -> SandboxSettings:
    from trainform.local.sandbox.settings import SandboxSettings, default_pools, settings_from_environment
    from trainform.local.sandbox.state import read_settings

    if environment is not None:
        return settings_from_environment(environment, folder)
    before = read_settings(folder)
    return SandboxSettings(folder, default_pools()) if before is None else before


@app.verb("load")
@prints(*DATA)
def load_command(image: ImageArgument, name: NameOption = None, folder: FolderOption = None, *, form: Form) -> None:
    """Import an image of this machine's Docker for real nodes.

    Docker pulls it if it is missing. It is imported once for all sandboxes and stays after `down`; `down --purge` of a
    sandbox with real nodes removes all images. Running nodes without it start again, and so do their pods.
    """
    from trainform.cli.progress import display
    from trainform.local.sandbox.folder import chosen_folder
    from trainform.local.sandbox.real.start import load_images

    names, restarted = load_images({image: name}, chosen_folder(folder), display())
    if form is Form.JSON:
        echo_json({"ok": True, "names": names, "restarted_nodes": restarted})
        return
    echo(f"loaded {image} as {', '.join(names)}")
    if restarted:
        note(f"restarted {restarted} real nodes")


@app.verb("down")
@prints(*DATA)
def down_command(folder: FolderOption = None, purge: PurgeOption = False, *, form: Form) -> None:
    """Stop what `up` started, and remove the cluster with all objects in it.

    The state of Pulumi stacks in the sandbox is removed too: it describes objects that no longer exist. The logs and
    the passphrase stay, since the salts in stack files belong to it. The demo's copy of the project always stays.
    """
    from trainform.cli.progress import display
    from trainform.local.sandbox.control import down
    from trainform.local.sandbox.folder import chosen_folder
    from trainform.local.sandbox.project_copy import copy_folder

    place = chosen_folder(folder)
    found = down(place, display(), purge)
    if form is Form.JSON:
        left = [str(path) for path in (place, copy_folder(place)) if path.exists()]
        echo_json({"ok": True, "folder": str(place), "was_running": found, "left": left})
        return
    echo(f"sandbox down: {place}" if found else f"no sandbox is running in {place}")
    if not purge and place.exists():
        option = "" if folder is None else f" --folder {shlex.quote(str(folder))}"
        note(f"its logs and the passphrase of its stacks stay; `trainform sandbox down --purge{option}` removes them")
    if copy_folder(place).exists():
        note(f"the demo's copy of the project stays: {copy_folder(place)}")


@app.verb("status")
@prints(*DATA)
def status_command(folder: FolderOption = None, *, form: Form) -> None:
    """Show the state of the components.

    Exit code: 0, or 1 if the sandbox is not up.
    """
    from trainform.local.sandbox.folder import chosen_folder
    from trainform.local.sandbox.status import status

    found = status(chosen_folder(folder))
    if form is Form.JSON:
        echo_json(found.as_dict())
    else:
        _print(found)
    if not found.running:
        raise typer.Exit(NOT_RUNNING)


def _print(found: SandboxStatus) -> None:
    from rich.table import Table

    from trainform.console.screen import screen

    console = screen()
    table = Table("component", "state", "pid", "port", box=None)
    table.add_column("log", overflow="fold")
    for row in found.components:
        state = "running" if row.running else "stopped"
        numbers = ["" if number is None else str(number) for number in (row.pid, row.port)]
        table.add_row(row.name, state, *numbers, str(row.log.relative_to(found.folder)))
    console.print(table)
    nodes = f"{found.nodes_ready} of {found.nodes} nodes ready{_real_nodes(found)}, API server {found.url}"
    state = nodes if found.running else "not running"
    addons = f", add-ons {', '.join(found.addons)}" if found.addons else ""
    console.print()
    console.print(f"{state}{addons}, folder {found.folder}", soft_wrap=True)


def _real_nodes(found: SandboxStatus) -> str:
    """Return the part of the last line that counts and names real nodes."""
    real = found.real_nodes
    return f", {sum(real.values())} of {len(real)} real nodes ready ({', '.join(real)})" if real else ""


@app.verb("env")
@prints(*DATA)
def env_command(folder: FolderOption = None, *, form: Form) -> None:
    """Print the environment variables that point a shell to the sandbox.

    After `eval "$(trainform sandbox env)"` kubectl and pulumi use it: KUBECONFIG, PATH, PULUMI_* and GOGC are set.
    The state of stacks is in the sandbox's folder, and secrets are encrypted with a passphrase, which is created once
    and kept in a file there. If no sandbox is up, the command `false` is printed, so that `eval` fails too.
    """
    from trainform.local.sandbox.exports import UNSET, exports
    from trainform.local.sandbox.folder import chosen_folder

    try:
        variables = exports(chosen_folder(folder))
    except (TrainformError, OSError):
        if form is not Form.JSON:
            echo(FAILING_COMMAND)
        raise
    if form is Form.JSON:
        echo_json({"unset": list(UNSET), "export": variables})
        return
    for name in UNSET:
        echo(f"unset {name}")
    for name, value in variables.items():
        echo(f"export {name}={shlex.quote(value)}")
