"""`trainform rehearse`: the plan's pods as containers on this machine."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainform.cli.arguments import EnvironmentOption, ExperimentArgument, RunOption

if TYPE_CHECKING:
    from trainform.examine import Examined
    from trainform.plan import Plan
    from trainform.rehearsal.stage import Stage

ProcessesOption = Annotated[
    int | None,
    typer.Option(
        "--processes",
        min=1,
        metavar="N",
        help="At most so many CPU processes on each node, in place of its accelerators. Default: 2; with --from-cluster as admitted.",
        show_default=False,
    ),
]
ProbeOption = Annotated[
    bool,
    typer.Option("--probe", help="A small program in place of the training: ranks, world size, an all-reduce."),
]
ClusterOption = Annotated[
    bool,
    typer.Option("--from-cluster", help="Take the pods that the cluster's controller made of the job, not the plan's."),
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
        help="A folder of this machine in place of a claim, else an empty volume. Again for further ones.",
        show_default=False,
    ),
]
TimeoutOption = Annotated[
    str, typer.Option("--timeout", metavar="TIME", help="How long the pods may take: 90s, 10m, 1h.")
]


def command(
    experiment: ExperimentArgument,
    environment: EnvironmentOption,
    processes: ProcessesOption = None,
    probe: ProbeOption = False,
    from_cluster: ClusterOption = False,
    image: ImageOption = None,
    claim: ClaimOption = None,
    timeout: TimeoutOption = "10m",
    run: RunOption = 1,
) -> None:
    """Run the job's pods as containers on this machine, before it queues for accelerators.

    Same commands, environment, files, secrets, shared memory and names as in the cluster; Docker must run here. Ctrl-C removes
    everything. Exit code 1 if a pod fails or does not end in time.
    """
    from trainform.cli.progress import display
    from trainform.errors import TrainformError
    from trainform.examine import examine
    from trainform.rehearsal.display import console_display
    from trainform.rehearsal.probe import probed
    from trainform.rehearsal.run import Options, rehearse
    from trainform.terminal.lines import echo

    options = Options(
        image=image, timeout=_seconds(timeout), claims=dict(map(_folder, claim if claim is not None else ()))
    )
    examined = examine(experiment, environment, run)
    plan, stage = _stage(examined, processes, from_cluster)
    if probe:
        stage = probed(stage, plan, examined.checked()[0].launcher)
    outcome = rehearse(stage, options, console_display(), display())
    if not outcome.succeeded:
        raise TrainformError(
            f"the rehearsal of {stage.experiment} did not end well:",
            "the pods' own lines stand above; where it hangs, `--timeout 1m` tells earlier who waits",
            outcome.problem.split("\n"),
        )
    echo(f"{stage.experiment}: {len(outcome.pods)} pods rehearsed")


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
    from trainform.spec.quantities import DURATION_HINT, seconds

    try:
        return float(seconds(timeout))
    except ValueError:
        raise typer.BadParameter(DURATION_HINT, param_hint="--timeout") from None


def _folder(claim: str) -> tuple[str, Path]:
    """Name and folder of `NAME=DIR`."""
    name, _, folder = claim.partition("=")
    path = Path(folder).expanduser().absolute()
    if not name or not folder or not path.is_dir():
        raise typer.BadParameter(f"{claim} is no claim's name and a folder that is there", param_hint="--claim")
    return name, path
