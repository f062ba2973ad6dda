"""`trainform wait`."""

from __future__ import annotations

import asyncio
import contextlib
from functools import partial
from typing import Annotated, Literal

import typer
from msgspec import structs

from trainform.cli.arguments import StackEnvironmentOption, StackJobArgument, option, seconds_of
from trainform.cli.jobs import target_of
from trainform.cli.status_text import TROUBLE, headline
from trainform.cluster.live_drift import seconds_between
from trainform.cluster.phases import ENDED_PODS, Phase
from trainform.console.lines import echo
from trainform.console.secrets import masked_lines
from trainform.errors import ClusterError
from trainform.running.failure import CASCADE
from trainform.running.model import Failure, Fault, JobStatus
from trainform.running.read import JOB
from trainform.running.snapshot import Target
from trainform.running.status import status_of_target
from trainform.running.watch import after_changes

UNREAD, WORKLOAD, NEVER, TIMEOUT, OTHER = 1, 4, 5, 6, 7
"""Exit codes of a wait that does not reach its goal."""
REFRESH = 30.0  # seconds; each read of a queued job lists the nodes and the pods of the cluster
LONGEST_RESTART = 360  # seconds between the end of a container and that of its job: the kubelet waits at most 300
Goal = Literal["running", "succeeded"]
GoalOption = Annotated[Goal, option("running|succeeded", "What to wait for. Default: succeeded.", "--for")]
TimeoutOption = Annotated[str | None, option("TIME", "The longest wait: `30m`, `12h`. Default: no limit.", "--timeout")]


def command(
    word: StackJobArgument,
    environment: StackEnvironmentOption = None,
    goal: GoalOption = "succeeded",
    timeout: TimeoutOption = None,
) -> None:
    """Wait until a deployed job runs or has succeeded.

    Each change of its phase or its reason is a line. The command goes on while the cluster does not answer, an image or
    a Secret is missing, or `trainform suspend` applies, and when a preempted job waits again: set --timeout.

    Exit code: 0, 4 if the job failed by a fault of workload or user, 5 if it never fits, 6 after the timeout, 7 if it
    failed for another or an unknown reason, or is gone; 1 if its status cannot be read, 2 for wrong arguments.
    """
    seconds = None if timeout is None else seconds_of("--timeout", timeout)
    raise typer.Exit(asyncio.run(_wait(target_of(word, environment), goal, seconds)))


async def _wait(target: Target, goal: Goal, seconds: float | None) -> int:
    """Print each change until the wait ends; return the exit code."""
    job, shown = "", list[object]()
    code: int | None = None
    begun = False
    seen: Failure | None = None
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            read = partial(status_of_target, outputs=False)
            async for found, error in after_changes(target, read, REFRESH):
                job, (found, seen) = job if job else found.job, keep_cause(found, seen)
                begun = begun or bool(found.started or found.restarts)
                change = [found.job, found.phase, bool(error), *(reason.code for reason in found.reasons[:1])]
                if change != shown:
                    why = error if error else headline(found)
                    name = found.job if found.job else found.experiment
                    echo(masked_lines(f"{found.read_at} {name} {found.phase}{': ' if why else ''}{why}"))
                shown, before, code = change, code, exit_code(found, goal, job, begun)
                # end at the second read: new nodes or queues may follow
                if code is None or (code in (UNREAD, NEVER) and code != before):
                    continue
                if code == UNREAD:
                    raise ClusterError(found.not_read[JOB], "ask the platform team for the permission")
                if found.job != job != "":
                    echo(f"{job} was replaced by {found.job}" if found.job else f"{job} is gone")
                return code
    echo("timed out")
    return TIMEOUT


def keep_cause(found: JobStatus, seen: Failure | None) -> tuple[JobStatus, Failure | None]:
    """Replace an unknown cause by the last one that was seen. Return the status, and the failure to keep for the next
    call."""
    end = None if found.failure is None else found.failure.end
    if end and end.cause not in CASCADE and any(pod.end == end and pod.state in TROUBLE for pod in found.pods):
        seen = found.failure
    if found.phase is not Phase.FAILED or found.fault is not None or not seen or not seen.end:
        return found, seen
    ago = seconds_between(seen.end.at, found.ended if found.ended else found.read_at)
    if ago is not None and ago <= LONGEST_RESTART:
        found = structs.replace(found, failure=seen, fault=seen.end.fault)
    return found, seen


def exit_code(found: JobStatus, goal: Goal, job: str, begun: bool = False) -> int | None:
    """Return the exit code of a wait for the job object of this name; None while the goal can still be reached. begun:
    pods of it have started, so it fits."""
    if JOB in found.not_read and all(pod.state in ENDED_PODS for pod in found.pods):
        return UNREAD
    if found.job != job or found.phase is Phase.GONE:
        return OTHER
    if found.phase in (goal, Phase.SUCCEEDED):
        return 0
    if found.phase is Phase.FAILED:
        return WORKLOAD if found.fault in (Fault.WORKLOAD, Fault.USER) else OTHER
    return NEVER if any(reason.never for reason in found.reasons) and not begun else None
