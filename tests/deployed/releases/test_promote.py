"""What a promotion makes of what is deployed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec import structs

from tests.support.releases import DIGEST
from tests.support.samples import JOB, environment, fitting
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.backends.outcome import Outcome
from trainform.deployed.releases.promote import experiment_of, not_of_source, origin, unpinned
from trainform.deployed.releases.source import Source
from trainform.deployed.updates import Update
from trainform.errors import TrainformError
from trainform.job.check import check_experiment
from trainform.job.render import RenderedJob, render_job
from trainform.manifests.objects import pod_selector
from trainform.plan.record import read_record
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.release import ReleasedExperiment, digest

UPDATE = Update("update", "succeeded", "2026-11-20T09:10:44Z", "2026-11-20T09:12:44Z", 0, "1999ff7a0d3c", True, "")
MIRROR = {"registry.example.com": "mirror.dev.example.com"}
RAN = {"mirror.dev.example.com/ai/pytorch-training:2.8": {f"mirror.dev.example.com/ai/pytorch-training@{DIGEST}"}}
OTHER = f"sha256:{'7a' * 32}"
OVERLAYS = {
    "dev": {"roles": {"worker": {"replicas": 1}}, "queue": "night"},
    "prod": {"roles": {"worker": {"replicas": 16}}},
}


def source(dev: Environment | None = None, ran: dict[str, set[str]] | None = None, **parts: Any) -> Source:
    """What is deployed in dev, as the cluster has recorded it."""
    where = environment(registries=MIRROR) if dev is None else dev
    job = render_job(Experiment.model_validate({**JOB, **parts}), where)
    assert job.problems == ()
    record = read_record(json.loads(json.dumps(job.manifests[-1].body)))
    assert record is not None
    outcome = Outcome("succeeded", "2026-11-20T10:00:00Z")
    return Source("vision/sdxl-lora.dev", "dev", record, UPDATE, outcome, 2836, RAN if ran is None else ran)


def in_prod(found: Source) -> RenderedJob:
    """The job of a release of the source."""
    given = ReleasedExperiment("sdxl-lora", "0123456789abcdef0123", experiment_of(found))
    return check_experiment(given, environment(name="prod")).or_raise()


def test_it_is_the_experiment_of_all_environments_with_every_default() -> None:
    found = experiment_of(source(environments=OVERLAYS))
    assert (found["roles"]["worker"]["replicas"], found["queue"], found["max_retry"]) == (2, "default", 3)
    assert found["environments"] == OVERLAYS
    assert found["image"] == f"{JOB['image']}@{DIGEST}", "the name of the experiment, and not that of the mirror"


def test_of_the_environment_nothing_is_in_it() -> None:
    dev = environment(
        registries=MIRROR,
        namespace={"name": "team-a"},
        image_pull_secrets=["pull-dev"],
        node_selector={"zone": "dev-1"},
    )
    roles = {"worker": {"accelerators": {"a800": 8}}}
    storage = {"data": {"size": "1Ti", "class": "fast", "mount": "/data"}}
    text = json.dumps(experiment_of(source(dev, roles=roles, storage=storage)))
    for word in ("team-a", "mirror.dev", "pull-dev", "dev-1", "baidu.com", "cephfs"):
        assert word not in text


def test_what_exists_only_in_one_environment() -> None:
    """Every default is written, but for those that a file must not set beside what an overlay sets."""
    parts: dict[str, Any] = {
        "storage": {"data": {"size": "1Ti", "mount": "/data", "keep": True}, "runs": {"size": "1Gi", "mount": "/runs"}},
        "ssh": {"port": 2022},
    }
    claims = {"data": {"size": None, "keep": None, "claim": "images"}, "runs": {"size": None, "claim": "runs"}}
    overlays = {"prod": {"storage": claims, "ssh": {"secret": "cluster-keys"}}}
    found = source(environments=overlays, **parts)
    assert experiment_of(found)["storage"]["data"]["keep"] is True
    experiment = in_prod(found).experiment
    assert {name: volume.claim for name, volume in experiment.storage.items()} == {"data": "images", "runs": "runs"}
    assert experiment.ssh is not None
    assert experiment.ssh.secret is not None


@pytest.mark.parametrize("overlays", [{}, OVERLAYS, {"staging": {"roles": {"worker": {"replicas": 7}}, "ttl": "12h"}}])
def test_a_release_that_goes_on_from_stage_to_stage_keeps_its_content(overlays: dict[str, Any]) -> None:
    storage = {"data": {"size": "1Ti", "mount": "/data"}}
    prod = {"prod": {**overlays.get("prod", {}), "storage": {"data": {"size": None, "claim": "images"}}}}
    first = experiment_of(source(environments={**overlays, **prod} if overlays else {}, storage=storage))
    staging = environment(name="staging", registries={"registry.example.com": "mirror.staging.example.com"})
    job = check_experiment(ReleasedExperiment("sdxl-lora", "0123456789abcdef0123", first), staging).or_raise()
    record = read_record(json.loads(json.dumps(job.manifests[-1].body)))
    assert record is not None
    second = experiment_of(structs.replace(source(), environment="staging", record=record, ran={}))
    assert digest(second) == digest(first)


def test_where_it_comes_from() -> None:
    parts = "vision/sdxl-lora.dev", "dev", source().record
    made = origin(*parts, structs.replace(UPDATE, release="0123456789abcdef0123"), source().outcome, 2836)
    assert made.model_dump() == {
        "stack": "vision/sdxl-lora.dev",
        "environment": "dev",
        "revision": source().record.revision,
        "run": 1,
        "version": None,
        "commit": "1999ff7a0d3c",
        "dirty": True,
        "updated": "2026-11-20T09:12:44Z",
        "parent": "0123456789abcdef0123",
        "outcome": "succeeded",
        "seconds": 2836,
    }
    made = origin(*parts, structs.replace(UPDATE, commit="", dirty=None))
    assert (made.outcome, made.commit, made.dirty, made.parent) == ("unknown", None, None, None)


def test_what_another_version_has_recorded_and_nobody_can_read() -> None:
    found = source()
    record = structs.replace(found.record, experiment={**found.record.experiment, "gone": 1}, version="9.1.0")
    with pytest.raises(TrainformError, match=r"recorded by trainform 9\.1\.0") as raised:
        experiment_of(structs.replace(found, record=record))
    assert "`pulumi up -s sdxl-lora.dev`" in raised.value.fix


@pytest.mark.parametrize(
    ("ids", "reason"),
    [
        (set(), "no pod of the source that has run it"),
        ({f"x@{DIGEST}", f"x@sha256:{'5a' * 32}"}, "have run it as x@sha256:4f"),
        ({f"other.example.com/ai/pytorch-training@{DIGEST}"}, f"as other.example.com/ai/pytorch-training@{DIGEST}"),
    ],
)
def test_an_image_that_nobody_can_pin_is_refused(ids: set[str], reason: str) -> None:
    (name,) = RAN
    found = source(ran={name: ids})
    (problem,) = unpinned(in_prod(found), found)
    assert problem.path == "image"
    assert reason in problem.reason
    assert "@sha256:" in problem.fix


@pytest.mark.parametrize(
    ("overlay", "new"),
    [
        ({}, {}),
        ({"roles": {"worker": {"replicas": 16}}}, {}),
        ({"image": f"registry.example.com/ai/other@{OTHER}"}, {"image": f"registry.example.com/ai/other@{OTHER}"}),
        ({"image": f"registry.example.com/ai/copy@{DIGEST}"}, {}),
    ],
)
def test_an_image_that_only_the_target_has_is_none_of_the_sources(overlay: dict[str, Any], new: dict[str, str]) -> None:
    found = source(environments={"prod": overlay} if overlay else {})
    assert not_of_source(in_prod(found), found) == new


def test_an_image_that_no_pod_has_needs_no_digest() -> None:
    roles = {"worker": {"image": f"{JOB['image']}@{DIGEST}"}}
    found = source(roles=roles, image="registry.example.com/ai/unused:1", ran={})
    assert [*unpinned(in_prod(found), found)] == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_pods_of_every_operator_are_found_by_their_labels(backend: str) -> None:
    """By which the images of the source are read: those that trainform gives to the pods themselves."""
    roles = fitting(backend, {"master": {"replicas": 1}, "worker": {"replicas": 2}})
    job = render_job(Experiment.model_validate({**JOB, "backend": backend, "roles": roles}), environment())
    assert job.problems == ()
    pods, _ = BACKENDS[backend].pods(job.plan, job.manifests)
    wanted = {**pod_selector("sdxl-lora"), defaults.REVISION_LABEL: job.plan.revision}
    assert pods
    for pod in pods:
        assert wanted.items() <= pod["metadata"]["labels"].items()
