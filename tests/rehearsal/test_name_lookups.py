"""Init containers of operators that run in another image than their own."""

from __future__ import annotations

from tests.support.samples import plan
from trainform.rehearsal.run.run import with_getent
from trainform.rehearsal.sources import from_plan
from trainform.rehearsal.workload import init_containers


def test_training_operator_waits_for_the_master_with_getent() -> None:
    made = plan(backend="kubeflow", roles={"master": {"replicas": 1}, "worker": {"replicas": 2}})
    before = from_plan(made)
    workload = with_getent(before)
    (script,) = {
        container["command"][-1]
        for pod in workload.pods
        for container in init_containers(pod)
        if container["name"] == "init-pytorch"
    }
    assert f"if getent hosts {made.job}-master-0; then" in script
    assert "nslookup" not in script
    assert [note for note in workload.notes if note not in before.notes] == [
        f"worker-{index}: init-pytorch waits with `getent hosts` in the place of `nslookup`" for index in range(2)
    ]
    assert "nslookup" in str(before.pods)


def test_other_pods_stay_as_they_are() -> None:
    before = from_plan(plan())
    assert with_getent(before) == before
