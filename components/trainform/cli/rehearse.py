"""`trainform rehearse`: the plan's pods as containers on this machine."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainform.cli.arguments import (
    ChosenEnvironmentOption,
    ExperimentArgument,
    JsonOption,
    RunOption,
    StackOption,
    choose,
)

if TYPE_CHECKING:
    from trainform.errors import TrainformError
    from trainform.examine import Examined
    from trainform.plan import Plan
    from trainform.rehearsal.run import Outcome
    from trainform.rehearsal.stage import Stage

ProcessesOption = Annotated[
    int | None,
    typer.Option(
        "--processes",
        min=1,
        metavar="N",
        help="Most CPU processes on each node, in place of its accelerators. Default: 2; with --from-cluster what "
        "the cluster admitted.",
        show_default=False,
    ),
]
ProbeOption = Annotated[
    bool,
    typer.Option("--probe", help="Run a small program in place of the training: ranks, world size, an all-reduce."),
]
ClusterOption = Annotated[
    bool,
    typer.Option(
        "--from-cluster", help="Rehearse the pods that the cluster's controller made of the job, not the plan's."
    ),
]
ImageOption = Annotated[
    str | None,
    typer.Option("--image", metavar="IMAGE", help="Run all pods in this image.", show_default=False),
]
ClaimOption = Annotated[
    list[str] | None,
    typer.Option(
        "--claim",
        metavar="NAME=DIR",
        help="Mount a folder of this machine in place of a claim, which is an empty volume otherwise. May be repeated.",
        show_default=False,
    ),
]
TimeoutOption = Annotated[
    str, typer.Option("--timeout", metavar="TIME", help="The most time that the pods may take: 90s, 10m, 1h.")
]


def command(
    experiment: ExperimentArgument = None,
    environment: ChosenEnvironmentOption = None,
    stack: StackOption = None,
    processes: ProcessesOption = None,
    probe: ProbeOption = False,
    from_cluster: ClusterOption = False,
    image: ImageOption = None,
    claim: ClaimOption = None,
    timeout: TimeoutOption = "10m",
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the job's pods as containers on this machine.

    They have the same commands, variables, files, secrets, shared memory and names as in the cluster. Docker must run
    here. Ctrl-C removes everything. Exit code: 0, or 1 if a pod fails or does not end in time.
    """
    from trainform.cli.progress import display
    from trainform.rehearsal.display import console_display
    from trainform.rehearsal.probe import probed
    from trainform.rehearsal.run import Options, rehearse
    from trainform.terminal.lines import echo, echo_json

    options = Options(
        image=image, timeout=_seconds(timeout), claims=dict(map(_folder, claim if claim is not None else ()))
    )
    examined = choose(experiment, environment, stack, run).examine()
    plan, rehearsed = _stage(examined, processes, from_cluster)
    if probe:
        rehearsed = probed(rehearsed, plan, examined.checked()[0].launcher)
    outcome = rehearse(rehearsed, options, console_display(err=as_json), display())
    error = _error(rehearsed, outcome)
    if as_json:
        echo_json(_as_dict(rehearsed, outcome, error))
        raise typer.Exit(0 if error is None else error.exit_code)
    if error is not None:
        raise error
    echo(f"{rehearsed.experiment}: {len(outcome.pods)} pods rehearsed")


def _error(stage: Stage, outcome: Outcome) -> TrainformError | None:
    from trainform.errors import TrainformError

    if outcome.succeeded:
        return None
    return TrainformError(
        f"the rehearsal of {stage.experiment} did not end well:",
        "the pods' own lines stand above; where it hangs, `--timeout 1m` tells earlier who waits",
        outcome.problem.split("\n"),
    )


def _as_dict(stage: Stage, outcome: Outcome, error: TrainformError | None) -> dict[str, object]:
    from trainform.rehearsal.masking import Masker

    masked = Masker(stage.secrets)
    pods = [
        {
            "pod": record.pod,
            "phase": record.phase,
            "exit_code": record.exit_code,
            "reason": record.reason,
            "restarts": record.restarts,
            "seconds": round(record.seconds, 1),
        }
        for record in outcome.pods
    ]
    described: dict[str, object] = {
        "ok": error is None,
        "experiment": stage.experiment,
        "pods": pods,
        "notes": [masked(note) for note in stage.notes],
    }
    return described if error is None else described | {"error": error.as_dict()}


def _stage(examined: Examined, processes: int | None, from_cluster: bool) -> tuple[Plan, Stage]:
    """What is rehearsed, the plan's pods or the cluster's, and the plan with CPU processes in place of accelerators."""
    from trainform.rehearsal.processes import PROCESSES, differences, smaller_plan, with_processes
    from trainform.rehearsal.sources import from_cluster as live_stage
    from trainform.rehearsal.sources import from_plan

    experiment, environment = examined.checked()
    plan = examined.plan()
    most = PROCESSES if processes is None and not from_cluster else processes
    smaller = plan if most is None else smaller_plan(plan, experiment, environment, most)
    stage = from_plan(smaller)
    if from_cluster:
        from trainform.cluster.read import Cluster

        stage = with_processes(live_stage(Cluster(plan.context), plan), from_plan(plan), stage)
    return smaller, dataclasses.replace(stage, notes=(*differences(plan, smaller), *stage.notes))


def _seconds(timeout: str) -> float:
    from trainform.errors import InputError, Problem
    from trainform.spec.quantities import DURATION_HINT, seconds

    try:
        return float(seconds(timeout))
    except ValueError:
        raise InputError([Problem("--timeout", timeout, "is not a duration", DURATION_HINT)]) from None


def _folder(claim: str) -> tuple[str, Path]:
    """Name and folder of `NAME=DIR`; InputError where it is no such pair, or the folder is not there."""
    from trainform.errors import InputError, Problem

    name, _, folder = claim.partition("=")
    path = Path(folder).expanduser().absolute()
    if not name or not folder:
        fix = f"write the claim's name and a folder of this machine: {name if name else 'NAME'}=DIR"
        raise InputError([Problem("--claim", claim, "is not NAME=DIR", fix)])
    if not path.is_dir():
        fix = f"correct its path, or make it: mkdir -p {shlex.quote(str(path))}"
        raise InputError([Problem("--claim", claim, "names a folder that is not there", fix)])
    return name, path
