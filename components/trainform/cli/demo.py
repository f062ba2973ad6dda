"""`trainform demo`: what a newcomer watches first."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.rule import Rule
from rich.table import Table

from trainform.catalog import defaults
from trainform.cli.overview import show_overview
from trainform.cli.progress import display
from trainform.cluster.read import Cluster
from trainform.errors import TrainformError
from trainform.examine import examine
from trainform.manifests.objects import pod_selector
from trainform.plan.model import Plan
from trainform.progress import Progress
from trainform.sandbox import chosen_folder, copy_project, exports, from_environment, note_older_salts, up
from trainform.sandbox.exports import UNSET
from trainform.spec.load import load_environment, project_root
from trainform.terminal.lines import echo
from trainform.terminal.screen import Screen, screen
from trainform.toolchain import ensure, look_ahead

EXPERIMENT, ENVIRONMENT = "sdxl-lora", "dev"
STACK = f"{EXPERIMENT}.{ENVIRONMENT}"
PATIENCE_SECONDS = 60.0

NEXT = f"""
Now yours, in a copy of the project; your clone stays as it is:

  cd {{folder}}
  source .venv/bin/activate; eval "$(trainform sandbox env)"

  change    edit stacks/experiments/{EXPERIMENT}.yaml there: the image, say
  review    trainform plan {EXPERIMENT} -e {ENVIRONMENT}          ranks, ports, variables
            pulumi preview -s {STACK} --diff   what changes, and how
  apply     pulumi up -s {STACK}
  destroy   pulumi destroy -s {STACK}          the claim stays
  stop      trainform sandbox down                   the copy stays

In the clone `make stop` ends the sandbox too, and `make demo` goes on.
"""


def command() -> None:
    """Walk a four-node job through preview, up and its pods on the sandbox. Run again, it does nothing twice.

    First it shows the job's plan, its manifests and what will come; then it gets the tool chain where that is missing.

    It works in a copy of the project beside the sandbox (.trainform/sandbox-demo), since Pulumi writes into the stacks' files: the
    project itself stays as it is. What you edit in the copy stays there, and the demo goes on with it.
    """
    console = screen()
    root = project_root()
    if not (root / "stacks" / "experiments" / f"{EXPERIMENT}.yaml").is_file():
        raise TrainformError(
            f"there is no experiment {EXPERIMENT} here: the demo shows that of a clone of trainform",
            "run this in a clone; or in an empty folder `trainform init`, which says how to run an experiment on the sandbox",
        )
    progress = display()
    sandbox = chosen_folder(None)
    folder = copy_project(root, sandbox, progress)
    note_older_salts(root, sandbox, progress)
    environment = load_environment(ENVIRONMENT, folder).checked()
    plan = examine(EXPERIMENT, ENVIRONMENT, root=folder).plan()
    settings = from_environment(environment, sandbox)
    show_overview(console, plan, sum(pool.count for pool in settings.pools), look_ahead())
    up(settings, ensure(progress), progress)
    shell = _shell(console, folder, sandbox)

    console.print(Rule("The environment: namespace, queue and shared claims"))
    shell.run("pulumi", "stack", "select", "--create", "--non-interactive", ENVIRONMENT)
    shell.watch("pulumi", "up", "-s", ENVIRONMENT, "--yes", "--skip-preview")
    console.print(
        Rule(f"The experiment: {plan.totals.pods} nodes, {sum(plan.totals.accelerators.values())} accelerators")
    )
    shell.run("pulumi", "stack", "select", "--create", "--non-interactive", STACK)
    shell.watch("pulumi", "preview", "-s", STACK)
    shell.watch("pulumi", "up", "-s", STACK, "--yes", "--skip-preview")

    console.print(Rule("Its pods, placed as a gang by Volcano"))
    console.print(_table(plan, _running_pods(plan, progress)))
    echo(*NEXT.format(folder=shlex.quote(str(folder))).split("\n"))


def _shell(console: Screen, folder: Path, sandbox: Path) -> Shell:
    """As after `eval "$(trainform sandbox env)"`, for this process too: its reads of the cluster go to the sandbox."""
    variables = exports(sandbox)
    os.environ["KUBECONFIG"] = variables["KUBECONFIG"]
    environ = {**os.environ, **variables}
    return Shell(console, folder, {name: value for name, value in environ.items() if name not in UNSET})


class Shell:
    """Runs commands in the copy of the project and shows them as a person would type them."""

    def __init__(self, console: Screen, folder: Path, environ: dict[str, str]) -> None:
        self.console = console
        # with it pulumi has --event-log; Pulumi's own Automation API does the same
        self.environ = {**environ, "PULUMI_DEBUG_COMMANDS": "true"}
        self.color = "always" if console.is_terminal else "never"
        self._folder = folder

    def watch(self, *words: str) -> None:
        """Run a command of pulumi's that works on resources, as a person would type it."""
        shown = " ".join(words)
        self.console.print()
        self.console.print(f"$ {shown}", style="bold")
        with tempfile.NamedTemporaryFile() as events:
            try:
                self._run(shown, [*words, "--color", self.color, "--event-log", events.name])
            except TrainformError:
                if heard_ctrl_c(Path(events.name)):
                    raise KeyboardInterrupt from None
                raise

    def run(self, *words: str) -> None:
        """Run a command without showing what it prints."""
        self._run(" ".join(words), words, subprocess.PIPE)

    def _run(self, shown: str, words: Sequence[str], pipe: int | None = None) -> None:
        """To the end; an error of the command ends the demo with what to do."""
        process = subprocess.Popen(words, cwd=self._folder, env=self.environ, stdout=pipe, stderr=pipe, text=True)
        try:
            _, errors = process.communicate()
        except KeyboardInterrupt:
            # The terminal has told pulumi too: it ends what it is doing, notes it and gives back the stack's lock. Killed, it could not.
            process.communicate()
            raise
        if process.returncode != 0:
            raise TrainformError(
                f"`{shown}` ended with exit code {process.returncode}",
                "look at what it says, and run the same command again to go on; a killed pulumi leaves a lock: "
                f'`cd {shlex.quote(str(self._folder))}`, `eval "$(trainform sandbox env)"`, `pulumi cancel -s STACK`; '
                "`make stop` and `make demo` begin anew",
                errors.strip().split("\n") if errors else (),
            )


def heard_ctrl_c(events: Path) -> bool:
    """Whether pulumi was interrupted, by its event log. In a terminal its display reads the keys, Ctrl-C too (3.259):
    no signal goes to the other processes, and its exit code is that of any failure."""
    return '"message":"^C received' in events.read_text(errors="replace")


def _running_pods(plan: Plan, progress: Progress) -> list[dict[str, Any]]:
    """The pods once all of them run, or as they are when patience ends: the table tells."""
    cluster = Cluster(plan.context)
    selector = {**pod_selector(plan.experiment), defaults.REVISION_LABEL: plan.revision}
    deadline = time.monotonic() + PATIENCE_SECONDS
    with progress.step("waiting for the gang") as step:
        while True:
            pods = cluster.find_all("Pod", plan.namespace, selector)
            running = sum(pod["status"].get("phase") == "Running" for pod in pods)
            step.update(f"waiting for the gang: {running} of {plan.totals.pods} pods run")
            if running == plan.totals.pods or time.monotonic() > deadline:
                return pods
            time.sleep(0.2)


def _table(plan: Plan, pods: list[dict[str, Any]]) -> Table:
    found = {pod["metadata"]["name"]: pod for pod in pods}
    table = Table("pod", "rank", "phase", "node", "gets", box=None, padding=(0, 2, 0, 0))
    roles = {role.name: role for role in plan.roles}
    for pod in plan.pods():
        live = found.get(pod.name, {})
        spec, status = live.get("spec", {}), live.get("status", {})
        accelerators = roles[pod.role].accelerators
        gets = "" if accelerators is None else f"{accelerators[1]} {accelerators[0]}"
        rank = "" if pod.rank is None else str(pod.rank)
        table.add_row(pod.name, rank, status.get("phase", "missing"), spec.get("nodeName", ""), gets)
    return table
