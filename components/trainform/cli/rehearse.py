"""`trainform rehearse`: the job on real nodes, or its pods as containers, on this machine."""

from __future__ import annotations

import dataclasses
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trainform.cli.app import prints
from trainform.cli.arguments import DATA, ChosenEnvironmentOption, Form, JobArgument, option, seconds_of
from trainform.cli.jobs import jobs

if TYPE_CHECKING:
    from trainform.errors import TrainformError
    from trainform.job.render import RenderedJob
    from trainform.local.rehearsal.run.report import Outcome
    from trainform.local.rehearsal.workload import Workload
    from trainform.plan.model import Plan

MOST_PROCESSES = (
    "At most this number of CPU processes on each node, instead of its accelerators. Default: 2. With --from-cluster "
    "there are as many as the cluster admitted."
)
PROBE = "Run a small program instead of the training: ranks, world size, an all-reduce; with MPI who runs where."
CLUSTER = "Rehearse the pods that the cluster's controller created for the job, not those of the plan."
CLAIM = (
    "Mount a folder of this machine instead of the claim NAME, which is an empty volume otherwise. The job can write "
    "to it. May be repeated."
)
EMULATE = (
    "Run the pods as containers of Docker, without a cluster. So do --from-cluster, and machines where real nodes "
    "cannot run."
)
EmulateOption = Annotated[bool, typer.Option("--emulate", help=EMULATE)]
ProcessesOption = Annotated[int | None, option("N", MOST_PROCESSES, "--processes", min=1)]
ProbeOption = Annotated[bool, typer.Option("--probe", help=PROBE)]
ClusterOption = Annotated[bool, typer.Option("--from-cluster", help=CLUSTER)]
ImageOption = Annotated[str | None, option("IMAGE", "Run all pods in this image.", "--image")]
ClaimOption = Annotated[list[str] | None, option("NAME=DIR", CLAIM, "--claim")]
TimeoutOption = Annotated[str, typer.Option("--timeout", metavar="TIME", help="Time limit for the pods: 90s, 10m, 1h.")]


@prints(*DATA)
def command(
    word: JobArgument,
    environment: ChosenEnvironmentOption = None,
    processes: ProcessesOption = None,
    probe: ProbeOption = False,
    from_cluster: ClusterOption = False,
    image: ImageOption = None,
    claim: ClaimOption = None,
    timeout: TimeoutOption = "10m",
    emulate: EmulateOption = False,
    *,
    form: Form,
) -> None:
    """Run the job on real nodes on this machine.

    The operator's own job, with CPU processes instead of accelerators, runs in a new namespace on a sandbox for
    rehearsals, whose nodes are containers with a kubelet. Commands, variables, files, shared memory and names are the
    same as in the cluster; empty volumes and stand-ins take the place of claims and Secrets. Docker is required. Ctrl-C
    removes the job; the nodes stay for the next rehearsal. Exit code: 0, or 1 if the job fails or does not end in
    time, or if a pod has failed for good before the job is complete.
    """
    from trainform.cli.progress import display
    from trainform.console.lines import echo, echo_json
    from trainform.console.screen import PIPED_WIDTH, screen
    from trainform.job.check import check_experiment
    from trainform.local.rehearsal.probe import check_probe, probed
    from trainform.local.rehearsal.run.display import ConsoleDisplay
    from trainform.local.rehearsal.run.rehearse import Options, rehearse

    count = _processes(processes, from_cluster=from_cluster)
    options = Options(
        image=image,
        timeout=float(seconds_of("--timeout", timeout)),
        claims=dict(map(_folder, claim if claim is not None else ())),
    )
    (chosen,) = jobs([word], [] if environment is None else [environment])
    chosen = chosen.loaded()
    job = check_experiment(chosen.experiment, chosen.environment, chosen.run, chosen.root).or_raise()
    if probe:
        check_probe(job.plan)
    shown = ConsoleDisplay(screen(err=form is Form.JSON, piped_width=PIPED_WIDTH))
    reason = "" if emulate else _why_emulated(job, from_cluster=from_cluster)
    if not emulate and not reason:
        from trainform.local.rehearsal.real.run import rehearse_on_nodes

        rehearsed, outcome = rehearse_on_nodes(job, count, options, shown, display(), probe=probe)
    else:
        plan, rehearsed = _live_workload(job) if from_cluster else _planned_workload(job, count)
        if reason:
            rehearsed = dataclasses.replace(rehearsed, notes=(f"emulated: {reason}", *rehearsed.notes))
        if probe:
            rehearsed = probed(rehearsed, plan, job.experiment.launcher)
        outcome = rehearse(rehearsed, options, shown, display())
    error = _error(rehearsed, outcome)
    if form is Form.JSON:
        echo_json(_as_dict(rehearsed, outcome, error))
        raise typer.Exit(0 if error is None else error.exit_code)
    if error is not None:
        raise error
    echo(f"{rehearsed.experiment}: {len(outcome.pods)} pods rehearsed")


def _processes(given: int | None, *, from_cluster: bool) -> int:
    """Return the most processes on a node. CommandLineError if the cluster has admitted another number."""
    from trainform.errors import CommandLineError
    from trainform.local.rehearsal.fewer_processes import PROCESSES

    if from_cluster and given is not None:
        reason = "--processes cannot be used with --from-cluster: the cluster admitted the pods with their processes"
        raise CommandLineError(reason, "leave out one of the two")
    return PROCESSES if given is None else given


def _why_emulated(job: RenderedJob, *, from_cluster: bool) -> str:
    """Return why the job does not run on real nodes; "" if it does."""
    from trainform.local.docker_daemon import no_real_nodes

    if from_cluster:
        return "the pods are those of another cluster"
    if job.plan.naming.agent is not None:
        return "the operator's launcher needs an image with its own kubectl"
    return no_real_nodes()


def _error(workload: Workload, outcome: Outcome) -> TrainformError | None:
    from trainform.errors import TrainformError

    if outcome.succeeded:
        return None
    return TrainformError(
        f"the rehearsal of {workload.experiment} failed:",
        "read the output of the pods above, correct the experiment, and rehearse it again",
        outcome.problem.split("\n"),
    )


def _as_dict(workload: Workload, outcome: Outcome, error: TrainformError | None) -> dict[str, object]:
    from trainform.local.rehearsal.run.report import Masker

    masked = Masker(workload.secrets)
    shown = ("pod", "phase", "exit_code", "reason", "restarts")
    pods = [
        {name: getattr(record, name) for name in shown} | {"seconds": round(record.seconds, 1)}
        for record in outcome.pods
    ]
    described: dict[str, object] = {
        "ok": error is None,
        "experiment": workload.experiment,
        "pods": pods,
        "notes": [masked(note) for note in workload.notes],
    }
    return described if error is None else described | {"error": error.as_dict()}


def _planned_workload(job: RenderedJob, processes: int) -> tuple[Plan, Workload]:
    """Return the plan with CPU processes instead of accelerators, and its pods."""
    from trainform.local.rehearsal.fewer_processes import differences, smaller_plan
    from trainform.local.rehearsal.sources import workload_of_plan

    plan = smaller_plan(job.plan, job.experiment, job.environment, processes)
    workload = workload_of_plan(plan)
    return plan, dataclasses.replace(workload, notes=(*differences(job.plan, plan), *workload.notes))


def _live_workload(job: RenderedJob) -> tuple[Plan, Workload]:
    """Return the plan, and the pods that the cluster's controller made of it."""
    from trainform.cluster.api import ClusterApi
    from trainform.cluster.identity import refuse_another
    from trainform.local.rehearsal.sources import workload_of_cluster

    cluster = ClusterApi(job.plan.context)
    refuse_another(cluster, job.environment)
    return job.plan, workload_of_cluster(cluster, job.plan)


def _folder(claim: str) -> tuple[str, Path]:
    """Return name and folder of `NAME=DIR`. Raises `InputError` if it is not such a pair, or if the folder does not
    exist."""
    from trainform.errors import InputError, Problem

    name, _, folder = claim.partition("=")
    path = Path(folder).expanduser().absolute()
    if not name or not folder:
        fix = f"write the claim's name and a folder of this machine: {name if name else 'NAME'}=DIR"
        raise InputError([Problem("--claim", claim, "is not NAME=DIR", fix)])
    if not path.is_dir():
        fix = f"correct its path, or create it: mkdir -p {shlex.quote(str(path))}"
        raise InputError([Problem("--claim", claim, "names a folder that does not exist", fix)])
    return name, path
