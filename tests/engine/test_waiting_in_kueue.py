"""Why Kueue does not admit a job, with the real Kueue, and which job preempted another one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.engine.kueue import local_queue
from tests.engine.live import Live, until
from tests.engine.project import Project
from tests.engine.test_capacity import GPU
from tests.engine.test_waiting import Queue
from trainform.backends.admission import PRIORITY_LABEL
from trainform.running import waiting
from trainform.running.waiting import preemption

pytestmark = pytest.mark.proof("Kueue's own reasons")

KUEUE = "kueue.x-k8s.io/v1beta2"
LOW, HIGH = 10, 1000


class JobSets(Queue):
    """The same for JobSets that Kueue admits."""

    plural = "jobsets"

    def admitted(self, name: str, replicas: int, **parts: Any) -> str:
        """Make a job, and return NAMESPACE/NAME once Kueue has admitted it."""
        made = self.submit(name, replicas, **parts)
        where = (self.plural, made.plan.job, self.project.namespace)
        until(lambda: not self.live.get(*where)["spec"]["suspend"], f"Kueue to admit {name}")
        return f"{self.project.namespace}/{made.plan.job}"


@pytest.fixture
def queue(addons_project: Project, addons_live: Live, monkeypatch: pytest.MonkeyPatch) -> Iterator[JobSets]:
    project, live, namespace = addons_project, addons_live, addons_project.namespace
    monkeypatch.setenv("KUBECONFIG", project.environ["KUBECONFIG"])
    classes = {f"{namespace}-low": LOW, f"{namespace}-high": HIGH}
    project.environment(backend="jobset", admission="kueue", limits={}, workload_priorities=True)
    bodies: list[dict[str, Any]] = [
        {"apiVersion": KUEUE, "kind": "WorkloadPriorityClass", "metadata": {"name": name}, "value": value}
        for name, value in classes.items()
    ]
    live.wait_for_free_nodes()
    for body in bodies:
        live.make(body)
    found, quotas = JobSets(project, live), {GPU: 16, "rdma/hca": 16}
    try:
        with local_queue(live, namespace, quotas, preemption={"withinClusterQueue": "LowerPriority"}):
            yield found
            found.clear()
    finally:
        for body in bodies:
            live.remove(body)


def test_a_queue_that_is_full_then_stopped(queue: JobSets) -> None:
    namespace = queue.project.namespace
    never = queue.why(queue.submit("large", 3, queue="team"), "never-fits")
    assert (never.object, never.needed) == (f"ClusterQueue/{namespace}", "24")
    hog = queue.admitted("hog", 1, queue="team")
    waits = queue.submit("waits", 2, queue="team")
    full = queue.why(waits, "queue-full")
    assert (full.object, full.needed, full.free) == (f"ClusterQueue/{namespace}", "16", "8")
    assert [(holder.job, holder.amount, holder.queue) for holder in full.holders] == [(hog, "8", namespace)]

    def considered() -> str | None:
        """Return what Kueue itself writes."""
        texts = [reason.text for reason in waiting.reasons(*queue.look(waits)) if reason.code == "kueue"]
        return next((text for text in texts if GPU in text), None)

    assert "position in the queue: unknown" in until(considered, "Kueue to consider the job")
    path = f"/apis/{KUEUE}/clusterqueues/{namespace}"
    queue.live.merge(path, {"spec": {"stopPolicy": "Hold"}})
    assert queue.why(waits, "queue-closed").object.partition("/")[0] in ("ClusterQueue", "LocalQueue")


def test_a_local_queue_that_does_not_exist(queue: JobSets) -> None:
    missing = queue.why(queue.submit("lost", 1, queue="nowhere"), "queue-missing")
    assert missing.object == "LocalQueue/nowhere"


def test_a_job_that_another_one_preempts(queue: JobSets) -> None:
    namespace = queue.project.namespace
    queue.admitted("victim", 2, queue="team", priority_class=f"{namespace}-low")
    victim = queue.made[-1]
    assert PRIORITY_LABEL in queue.look(victim)[0].job["metadata"]["labels"]  # type: ignore[index]
    urgent = queue.admitted("urgent", 1, queue="team", priority_class=f"{namespace}-high")
    found = until(lambda: preemption(*queue.look(victim)) or None, "the preemption", 60.0)
    assert found.endswith(f"UTC by {urgent}")
    assert queue.why(victim, "queue-full").holders[0].job == urgent
