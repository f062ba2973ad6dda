"""`trainform demo`: what a newcomer watches first."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.rule import Rule
from rich.table import Table

from trainform.catalog import defaults
from trainform.cli.progress import display
from trainform.cluster.read import Cluster
from trainform.errors import TrainformError
from trainform.examine import examine
from trainform.manifests.objects import pod_selector
from trainform.plan.model import Plan
from trainform.progress import Progress
from trainform.sandbox import chosen_folder, exports, from_environment, up
from trainform.spec.load import load_environment, project_root
from trainform.toolchain import ensure

EXPERIMENT, ENVIRONMENT = "sdxl-lora", "dev"
STACK = f"{EXPERIMENT}.{ENVIRONMENT}"
PATIENCE_SECONDS = 60.0

NEXT = f"""
Now yours. In this folder:

  source .venv/bin/activate; eval "$(trainform sandbox env)"

  change    edit stacks/experiments/{EXPERIMENT}.yaml, for instance the image
  review    trainform plan {EXPERIMENT} -e {ENVIRONMENT}        ranks, ports, environment, names
            pulumi preview -s {STACK} --diff    names the changed field, and says whether the job is replaced
  apply     pulumi up -s {STACK}
  destroy   pulumi destroy -s {STACK}           leaves the checkpoints' claim
  stop      make stop                                ends the sandbox

Pulumi has noted each stack's encryption salt in stacks/Pulumi.*.yaml; `git checkout stacks` forgets it.
"""


def command() -> None:
    """Walk a four-node job through preview, up and its pods on the sandbox. Run again, it does nothing twice."""
    console = Console(highlight=False)
    root = project_root()
    if not (root / "Pulumi.yaml").is_file():
        raise TrainformError("there is no Pulumi.yaml here or above", "run this in a clone of trainform")
    progress = display()
    folder = chosen_folder(None)
    environment = load_environment(ENVIRONMENT, root).checked()
    plan = examine(EXPERIMENT, ENVIRONMENT, root=root).plan()
    up(from_environment(environment, folder), ensure(progress), progress)
    variables = exports(folder)
    os.environ["KUBECONFIG"] = variables["KUBECONFIG"]
    shell = Shell(console, root, {**os.environ, **variables})
    shell.environ.pop("PULUMI_CONFIG_PASSPHRASE", None)

    console.print(Rule("The environment: namespace, queue and shared claims"))
    shell.run("pulumi", "stack", "select", "--create", "--non-interactive", ENVIRONMENT, quiet=True)
    shell.run("pulumi", "up", "-s", ENVIRONMENT, "--yes", "--skip-preview", "--color", shell.color)
    console.print(
        Rule(f"The experiment: {plan.totals.pods} nodes, {sum(plan.totals.accelerators.values())} accelerators")
    )
    shell.run("pulumi", "stack", "select", "--create", "--non-interactive", STACK, quiet=True)
    shell.run("pulumi", "preview", "-s", STACK, "--color", shell.color)
    shell.run("pulumi", "up", "-s", STACK, "--yes", "--skip-preview", "--color", shell.color)

    console.print(Rule("Its pods, placed as a gang by Volcano"))
    console.print(_table(plan, _running_pods(plan, progress)))
    console.print(NEXT, markup=False, soft_wrap=True)


class Shell:
    """Runs commands in the project and shows them as a person would type them."""

    def __init__(self, console: Console, root: Path, environ: dict[str, str]) -> None:
        self.console = console
        self.environ = environ
        self.color = "always" if console.is_terminal else "never"
        self._root = root

    def run(self, *words: str, quiet: bool = False) -> None:
        """Run to the end; an error of the command ends the demo with what to do."""
        shown = " ".join(word for word in words if word not in ("--color", self.color))
        if not quiet:
            self.console.print(f"\n$ {shown}", style="bold", markup=False)
        pipe = subprocess.PIPE if quiet else None
        process = subprocess.Popen(words, cwd=self._root, env=self.environ, stdout=pipe, stderr=pipe, text=True)
        try:
            _, said = process.communicate()
        except KeyboardInterrupt:
            # The terminal has told pulumi too: it ends what it is doing, notes it and gives back the stack's lock. Killed, it could not.
            process.communicate()
            raise
        if process.returncode != 0:
            raise TrainformError(
                f"`{shown}` ended with exit code {process.returncode}{f': {said.strip()}' if said else ''}",
                "look at what it says; a lock of a killed pulumi: `pulumi cancel -s STACK`; `make stop` and `make demo` begin anew",
            )


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
