"""The status of a job, from its objects in the cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import structs

from trainform.backends.backend import BACKENDS
from trainform.backends.outcome import Outcome
from trainform.cluster.live_drift import seconds_between
from trainform.cluster.phases import ENDED, Phase, PodState, needed_pods, phase_of, pod_state, restarts_of_job
from trainform.console.sections import counted, listed
from trainform.deployed.accelerators import accelerators_of_roles
from trainform.manifests.manifest import mapping, mappings
from trainform.running.failure import end_of, failure_of
from trainform.running.model import Cost, Fault, JobStatus, PodStatus
from trainform.running.pods import first_ranks, place_of
from trainform.running.read import JOB, PODS, read, read_around, target_of_stack
from trainform.running.snapshot import Body, Snapshot, Target, container_statuses
from trainform.spec.environment import hourly_cost

SECONDS = 5.0
WAITS = frozenset({Phase.QUEUED, Phase.STARTING, Phase.RESTARTING})
"""Phases that have reasons."""
MOST_NODES = 3  # that a line names
STOPPED = "it was aborted, as by `vcctl job suspend`; `vcctl job resume` runs it again"


def status(stack: str) -> JobStatus:
    """Return the status of the job of a stack of the project in the current folder.

    Raises `InputError` for wrong files, `ClusterError` if the cluster does not answer.
    """
    return status_of_target(target_of_stack(stack))


def status_of_target(target: Target, *, outputs: bool = True) -> JobStatus:
    """Read the objects of the job, and return its status. outputs: see `read`."""
    snapshot = read(target, SECONDS, outputs=outputs)
    found = status_of(snapshot)
    maybe_preempted = found.phase is Phase.FAILED and not found.fault and not found.restarts
    if found.phase not in WAITS and not maybe_preempted:
        return found
    from trainform.running.facts import read_facts  # they import the arithmetic of reviews
    from trainform.running.waiting import preemption, reasons

    snapshot = read_around(snapshot, SECONDS)
    found = structs.replace(found, not_read=snapshot.not_read)
    if maybe_preempted:
        evicted = preemption(snapshot)
        return structs.replace(found, message=evicted, fault=Fault.QUEUE, failure=None) if evicted else found
    facts = read_facts(snapshot, SECONDS)
    return structs.replace(
        found,
        message=found.message or preemption(snapshot, facts),
        reasons=reasons(snapshot, facts),
        not_read={**found.not_read, **facts.live.not_read},
    )


def status_of(snapshot: Snapshot) -> JobStatus:
    """Return the status of the job whose objects were read, without the reasons why it waits."""
    record, job, target = snapshot.record, snapshot.job, snapshot.target
    pods = _pods(snapshot)
    phase, outcome = _phase(snapshot, pods), _outcome(snapshot)
    started = min((pod.started for pod in pods if pod.started), default="")
    ended = outcome.at if phase in ENDED else ""
    accelerators = {} if record is None else dict(sorted(accelerators_of_roles(record.experiment.get("roles")).items()))
    here = [pod for pod in pods if pod.state is not PodState.FAILED]
    until = ended or (snapshot.read_at if any(pod.state is not PodState.SUCCEEDED for pod in here) else "")
    needed = needed_pods(job, snapshot.gang)
    failure = None if phase in (Phase.SUCCEEDED, Phase.GONE) else failure_of(snapshot)
    return JobStatus(
        read_at=snapshot.read_at,
        stack=target.stack,
        experiment=target.experiment,
        environment=target.environment.name,
        namespace=target.namespace,
        job=snapshot.name,
        revision=snapshot.revision,
        backend="" if record is None else record.backend,
        admission=snapshot.admission,
        queue=snapshot.queue_name,
        phase=phase,
        phase_from_job=phase in ENDED and not pods,
        message=_message(snapshot, phase, outcome, pods),
        fault=failure.end.fault if phase is Phase.FAILED and failure and failure.end else None,
        failure=failure,
        pods=pods,
        needed=needed if needed else len(here),
        placed=sum(bool(pod.node) for pod in here),
        restarts=sum(pod.restarts for pod in pods) + restarts_of_job(mapping(mapping(job).get("status"))),
        created=str(mapping(mapping(job).get("metadata")).get("creationTimestamp", "")),
        started=started,
        ended=ended,
        accelerators=accelerators,
        cost=_cost(snapshot, accelerators, seconds_between(started, until)),
        not_read=snapshot.not_read,
    )


def _phase(snapshot: Snapshot, pods: tuple[PodStatus, ...]) -> Phase:
    job: Body | None = {} if JOB in snapshot.not_read else snapshot.job
    counts = None if PODS in snapshot.not_read else Counter(pod.state for pod in pods)
    return phase_of(job, counts, snapshot.gang, snapshot.admission)


def _outcome(snapshot: Snapshot) -> Outcome:
    record, job = snapshot.record, snapshot.job
    if record is None or job is None or record.backend not in BACKENDS:
        return Outcome()
    return BACKENDS[record.backend].OUTCOME(job, snapshot.pods)


def _message(snapshot: Snapshot, phase: Phase, outcome: Outcome, pods: tuple[PodStatus, ...]) -> str:
    """Return one sentence on the phase; "" if there is nothing to add."""
    recorded = "" if snapshot.record is None else snapshot.record.job
    number = Counter(pod.state for pod in pods)
    live = len(pods) - number[PodState.SUCCEEDED] - number[PodState.FAILED]
    lost = sorted({pod.node for pod in pods if pod.state is PodState.LOST})
    not_read = listed([*snapshot.not_read]) if snapshot.not_read else ""
    rules = (
        (phase is Phase.GONE and not recorded, "it is not deployed; `pulumi up` deploys it"),
        (phase is Phase.GONE, f"the recorded job {recorded} is not in the cluster"),
        (lost != [], f"no report from {', '.join(lost[:MOST_NODES])}: the state of its pods is unknown"),
        (phase is Phase.UNKNOWN, f"{'its pods have ended, and ' if pods else ''}{not_read} could not be read"),
        (phase is Phase.SUSPENDED, "`trainform resume` and `pulumi up` start its pods again"),
        (outcome.word == "stopped", STOPPED),
        (
            phase is Phase.ENDING and outcome.at != "",
            f"it has {outcome.word}, and {counted(live, 'pod')} may still run",
        ),
        (outcome.word == "succeeded in part", "not all of its pods have succeeded"),
        (snapshot.name != recorded != "", f"`pulumi up` runs, or failed half way: {recorded} is recorded as deployed"),
    )
    return next((text for holds, text in rules if holds), "")


def _cost(snapshot: Snapshot, accelerators: Mapping[str, int], seconds: int | None) -> Cost | None:
    hourly = hourly_cost(accelerators, snapshot.target.environment)
    if hourly is None or seconds is None:
        return None
    return Cost(round(float(hourly.amount) * seconds / 3600, 2), hourly.currency)


# --- pods


def _pods(snapshot: Snapshot) -> tuple[PodStatus, ...]:
    ranks = first_ranks(snapshot.record)
    found = [_pod(body, ranks, snapshot.outputs) for body in snapshot.pods]
    return tuple(sorted(found, key=lambda pod: (pod.role, pod.index, pod.created)))


def _pod(body: Body, ranks: Mapping[str, int], outputs: Mapping[str, str]) -> PodStatus:
    metadata, status, place = mapping(body.get("metadata")), mapping(body.get("status")), place_of(body, ranks)
    state, name, statuses = pod_state(body), str(metadata.get("name", "")), container_statuses(body)
    return PodStatus(
        name=name,
        role=place.role,
        index=place.index,
        rank=place.rank,
        node=str(mapping(body.get("spec")).get("nodeName", "")),
        state=state,
        reason="" if state in (PodState.RUNNING, PodState.SUCCEEDED) else next(_reasons(status, statuses), ""),
        restarts=sum(count for each in statuses if isinstance(count := each.get("restartCount"), int)),
        created=str(metadata.get("creationTimestamp", "")),
        started=str(status.get("startTime", "")),
        last_output=outputs.get(name, ""),
        end=end_of(body),
    )


def _reasons(status: Mapping[str, Any], statuses: list[dict[str, Any]]) -> Iterator[str]:
    """Yield why a pod does not run, the most specific reason first."""
    for kind in ("terminated", "waiting"):
        for each in statuses:
            state = mapping(mapping(each.get("state")).get(kind))
            if state.get("reason") and state.get("exitCode") != 0:
                yield str(state["reason"])
    if status.get("reason"):
        yield str(status["reason"])
    for condition in mappings(status.get("conditions")):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            yield str(condition.get("reason", ""))
