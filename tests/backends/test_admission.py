"""The admission of an environment, which each backend supports or refuses, and what it renders for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.samples import environment, fitting, plan, reasons
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests

SUPPORTED = {
    "volcano": ("volcano",),
    "jobset": ("volcano", "kueue", "none"),
    "trainer": ("volcano", "kueue", "none"),
    "kubeflow": ("volcano", "kueue", "none"),
    "kubedl": ("volcano", "none"),
    "kubernetes": ("volcano", "kueue", "none"),
}
WITHOUT_GANG = [(backend, each) for backend, supported in SUPPORTED.items() for each in supported[1:]]
ROLES = {"master": {"replicas": 1}, "worker": {"replicas": 3}}
OF_VOLCANO = ("schedulerName", "schedulingPolicy", "podGroupPolicy", "scheduling.k8s.io/group-name")
QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


def keys(value: Any) -> Iterator[str]:
    """Yield the keys of all mappings in the value."""
    if isinstance(value, dict):
        yield from value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys(item)


@pytest.mark.parametrize("backend", SUPPORTED)
@pytest.mark.parametrize("admission", ["none", "volcano", "kueue"])
def test_a_backend_supports_an_admission_or_is_refused(backend: str, admission: str) -> None:
    found = reasons(environment(admission=admission, queues={}), backend=backend, roles=fitting(backend, ROLES))
    assert [*found] == ([] if admission in SUPPORTED[backend] else ["backend"])
    assert SUPPORTED[backend] == BACKENDS[backend].ADMISSIONS


@pytest.mark.parametrize(("backend", "admission"), WITHOUT_GANG)
def test_nothing_of_volcano_without_its_admission(backend: str, admission: str) -> None:
    made = plan(cluster=environment(admission=admission, queues={}), backend=backend, roles=fitting(backend, ROLES))
    manifests = job_manifests(made)
    assert "PodGroup" not in [manifest.body["kind"] for manifest in manifests]
    found = {key for manifest in manifests for key in keys(manifest.body)}
    assert found.isdisjoint(OF_VOLCANO)
    assert not any("queue" in key for key in found - {QUEUE_LABEL})
    assert (QUEUE_LABEL in found) == (admission == "kueue")
    assert not any("volcano" in name for name in BACKENDS[backend].crds(made))


@pytest.mark.parametrize(
    ("backend", "switched"), [("kubeflow", ("spec.runPolicy.suspend",)), ("jobset", ()), ("trainer", ())]
)
def test_a_job_that_is_made_suspended_is_kueue_s_to_start(backend: str, switched: tuple[str, ...]) -> None:
    """An update leaves the field to Kueue. The webhooks of the other kinds suspend a new job themselves."""
    for admission in ("kueue", "none"):
        made = plan(cluster=environment(admission=admission, queues={}), backend=backend, roles=ROLES)
        job = next(manifest for manifest in job_manifests(made) if manifest.is_job)
        assert job.controller_owned == (switched if admission == "kueue" else ())
        assert ("suspend" in {*keys(job.body)}) == bool(job.controller_owned)


@pytest.mark.parametrize("backend", ["jobset", "trainer", "kubeflow"])
def test_a_priority_of_workloads(backend: str) -> None:
    """Kueue reads it from a label of the job, and its pods keep the cluster's default."""
    kueue = environment(admission="kueue", queues={}, workload_priorities=True)
    manifests = job_manifests(plan(cluster=kueue, backend=backend, roles=ROLES, priority_class="urgent"))
    job = next(manifest.body for manifest in manifests if manifest.is_job)
    assert job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] == "urgent"
    assert "priorityClassName" not in {key for manifest in manifests for key in keys(manifest.body)}
    own = reasons(kueue, backend=backend, priority_class="urgent", labels={"kueue.x-k8s.io/priority-class": "low"})
    assert own == {"labels.kueue.x-k8s.io/priority-class": "the key is set by trainform itself"}


def test_a_priority_of_workloads_that_is_not_allowed() -> None:
    limits = {"priority_classes": ["normal"]}
    kueue = environment(admission="kueue", queues={}, workload_priorities=True, limits=limits)
    assert reasons(kueue, backend="jobset", priority_class="normal") == {}
    assert [*reasons(kueue, backend="jobset", priority_class="urgent")] == ["priority_class"]


NONE = environment(admission="none", queues={})


@pytest.mark.parametrize(
    ("parts", "path", "reason"),
    [
        ({"queue": "night"}, "queue", "in this environment jobs start without a queue system (`admission: none`)"),
        (
            {"queue": {"weight": 2}},
            "queue",
            "in this environment jobs start without a queue system (`admission: none`)",
        ),
        (
            {"network": {"topology": {"mode": "hard", "highest_tier": 2}}},
            "network.topology",
            "the field is for Volcano, and in this environment jobs start without a queue system",
        ),
        (
            {"roles": {"worker": {"replicas": 4, "min_available": 3}}},
            "roles.worker.min_available",
            "the value lets a part of the pods start, and without admission each pod starts as soon as it fits",
        ),
    ],
)
def test_fields_without_admission(parts: dict[str, Any], path: str, reason: str) -> None:
    assert reasons(NONE, backend="jobset", **parts) == {path: reason}


def test_an_elastic_job_needs_no_gang() -> None:
    """Its rendezvous waits for `min_nodes`, and grows."""
    elastic = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 2, "max_nodes": 8}}}
    for backend in ("jobset", "trainer", "kubeflow"):
        assert reasons(NONE, backend=backend, launcher=elastic, roles={"worker": {"replicas": 4}}) == {}
