"""`trainform demo`: a first job on the sandbox, for new users."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer
from msgspec import Struct, structs
from rich.rule import Rule

from trainform import defaults
from trainform.cli.plan_text import headline
from trainform.cli.progress import display
from trainform.console.lines import echo, terminal_width
from trainform.console.screen import Screen, screen
from trainform.errors import TrainformError
from trainform.job.check import check_experiment
from trainform.local.sandbox.control import up
from trainform.local.sandbox.exports import UNSET, exports
from trainform.local.sandbox.folder import chosen_folder
from trainform.local.sandbox.project_copy import copy_project
from trainform.local.sandbox.real.start import NODE_IMAGE, load_images
from trainform.local.sandbox.settings import settings_from_environment
from trainform.local.toolchain.ensure import PendingWork, ensure, pending_work
from trainform.local.toolchain.parts import build_time
from trainform.local.toolchain.releases import DOWNLOAD_GB
from trainform.spec.load import load_environment, project_root

SIMULATED, REAL, ENVIRONMENT = "sdxl-lora", "hello", defaults.ENVIRONMENT
REAL_NODES = 2

NEXT = """
Now try it yourself, in a copy of the project; your clone does not change:

  cd {folder}
  source .venv/bin/activate; eval "$(trainform sandbox env)"

  change    edit stacks/experiments/{experiment}.yaml there: the image, say
  review    trainform plan {experiment} -e {environment}
            trainform review {stack}
            pulumi preview -s {stack} --diff
  apply     pulumi up -s {stack}
  destroy   pulumi destroy -s {stack}   # the claim stays
  stop      trainform sandbox down   # the copy stays

In the clone, `make stop` stops the sandbox too, and `make demo` continues.
"""


RealOption = Annotated[bool, typer.Option("--real", help="Run a smaller job for real, on nodes that are containers.")]


def command(real: RealOption = False) -> None:
    """Run a job on the sandbox: preview, up, and its pods.

    Four nodes with accelerators are simulated. With --real, the two pods of a job without accelerators run in Docker
    containers with a kubelet, and their output is shown.

    First it shows the job and its objects; then it installs the tool chain if that is missing. Another run continues
    where the last one ended.

    It works in a copy of the project next to the sandbox (.trainform/sandbox-demo), since Pulumi writes into the files
    of stacks: the project itself does not change. Your edits in the copy stay there, and the demo uses them.
    """
    experiment = REAL if real else SIMULATED
    console = screen()
    root = project_root()
    if not (root / "stacks" / "experiments" / f"{experiment}.yaml").is_file():
        raise TrainformError(
            f"there is no experiment {experiment} here: the demo runs in a clone of trainform",
            "run it in a clone; or run `trainform init` in an empty folder, which shows how to run an experiment on "
            "the sandbox",
        )
    progress = display()
    sandbox = chosen_folder(None)
    folder = copy_project(root, sandbox, progress)
    environment = load_environment(ENVIRONMENT, folder).or_raise()
    job = check_experiment(experiment, ENVIRONMENT, root=folder).or_raise()
    plan, stack = job.plan, f"{experiment}.{ENVIRONMENT}"
    settings = structs.replace(settings_from_environment(environment, sandbox), real=REAL_NODES if real else 0)
    echo(*headline(plan, None, (), terminal_width()))
    echo(*(f"  {manifest.body['kind']:<21}  {manifest.body['metadata']['name']}" for manifest in job.manifests))
    _show_pending(pending_work(), experiment)
    toolchain = ensure(progress)
    if real:
        # the nodes' own image has Python
        load_images({NODE_IMAGE: job.experiment.image}, sandbox, progress)
    up(settings, toolchain, progress)
    shell = _shell(console, folder, sandbox)

    console.print(Rule("The environment: namespace, queue and shared claims"))
    shell.run("pulumi", "stack", "select", "--create", "--non-interactive", ENVIRONMENT)
    shell.watch("pulumi", "up", "-s", ENVIRONMENT, "--yes", "--skip-preview")
    accelerators = sum(plan.totals.accelerators.values())
    console.print(Rule(f"The experiment: {plan.totals.pods} nodes, {accelerators} accelerators"))
    shell.run("pulumi", "stack", "select", "--create", "--non-interactive", stack)
    shell.watch("pulumi", "preview", "-s", stack)
    shell.watch("pulumi", "up", "-s", stack, "--yes", "--skip-preview")

    console.print(Rule("Its pods, placed as a gang by Volcano"))
    shell.watch("trainform", "wait", stack, "--for", "running", "--timeout", "5m")
    shell.watch("trainform", "status", stack)
    if real:
        shell.watch("trainform", "logs", stack, "-f")
    echo(*_next(folder, experiment).split("\n"))


def _next(folder: Path, experiment: str) -> str:
    stack = f"{experiment}.{ENVIRONMENT}"
    return NEXT.format(folder=shlex.quote(str(folder)), experiment=experiment, environment=ENVIRONMENT, stack=stack)


def _show_pending(pending: PendingWork, experiment: str) -> None:
    """Print how the missing tools are installed, and commands to try until then."""
    ways = [f"downloaded ({DOWNLOAD_GB} GB)"] if pending.downloads else []
    ways += [f"built ({build_time(pending.parts)})"] if pending.parts else []
    if ways:
        echo("", f"The tool chain is {' or '.join(ways)}, once. Meanwhile, in another terminal here:")
        echo(*(f"  .venv/bin/trainform {verb} {experiment} -e {ENVIRONMENT}" for verb in ("plan", "render")))


def _shell(console: Screen, folder: Path, sandbox: Path) -> Shell:
    """Return a shell that uses the sandbox and this trainform."""
    environ = {**os.environ, **exports(sandbox)}
    environ["PATH"] = f"{Path(sys.executable).parent}:{environ['PATH']}"
    return Shell(console, folder, {name: value for name, value in environ.items() if name not in UNSET})


class Shell(Struct, frozen=True):
    """Runs commands in the copy of the project, and shows them as a user would type them."""

    console: Screen
    folder: Path
    environ: dict[str, str]

    def watch(self, *words: str) -> None:
        """Run a command, and show its output."""
        self.console.print()
        self.console.print(f"$ {' '.join(words)}", style="bold")
        self.run(*words, pipe=None)

    def run(self, *words: str, pipe: int | None = subprocess.PIPE) -> None:
        """Run a command until it ends, by default without its output. Raises `TrainformError` with a fix if it
        fails."""
        process = subprocess.Popen(words, cwd=self.folder, env=self.environ, stdout=pipe, stderr=pipe, text=True)
        try:
            _, errors = process.communicate()
        except KeyboardInterrupt:
            # the terminal sent the signal to pulumi too, which must finish, store its state and release the lock
            process.communicate()
            raise
        if process.returncode != 0:
            raise TrainformError(
                f"`{' '.join(words)}` ended with exit code {process.returncode}",
                "read its output, and run the same command again to continue; a killed pulumi leaves a lock: "
                f'`cd {shlex.quote(str(self.folder))}`, `eval "$(trainform sandbox env)"`, `pulumi cancel -s STACK`; '
                "`make stop` and `make demo` start again from the beginning",
                errors.strip().split("\n") if errors else (),
            )
