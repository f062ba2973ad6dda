"""Where the pods of a JobSet are."""

from __future__ import annotations

from trainform.backends.workloads import DEADLINE, PodsAt


def replicated_jobs(path: str, job: str = "") -> PodsAt:
    """The pods of the replicated jobs at the path: so many Jobs, each with so many pods. job: as in `Pods`."""
    return PodsAt(
        f"{path}.replicatedJobs.*",
        "template.spec.template",
        ("replicas", "template.spec.parallelism"),
        run_time=f"template.spec.{DEADLINE}",
        job=job,
    )


PODS = {"jobset.x-k8s.io/JobSet": (replicated_jobs("spec"),)}
