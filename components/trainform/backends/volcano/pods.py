"""Where the pods of any Job of Volcano are, whoever wrote it; of the kinds too from which Volcano makes Jobs."""

from __future__ import annotations

from trainform.backends.workloads import PodsAt


def _job(spec: str) -> tuple[PodsAt, ...]:
    """The tasks of the spec of a Job at the path."""
    return (PodsAt(f"{spec}.tasks.*", gang=True, least="minAvailable", scheduler=f"{spec}.schedulerName"),)


JOBS = {
    "batch.volcano.sh/Job": "spec",
    "batch.volcano.sh/CronJob": "spec.jobTemplate.spec",
    "flow.volcano.sh/JobTemplate": "spec",
}
"""The path of a Job's spec in each kind, as `GROUP/KIND`."""
PODS = {kind: _job(spec) for kind, spec in JOBS.items()}
