"""Images by the names under which an environment has them, wherever one stands."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import JOB, environment, experiment, job
from trainform.backends.backend import BACKENDS
from trainform.errors import InputError
from trainform.job.render import RenderedJob, render_job
from trainform.plan.images import pulled
from trainform.plan.inputs import job_inputs, job_record

MIRROR = "mirror.prod.example.com"
REGISTRIES = {
    "registry.example.com": MIRROR,
    "registry.example.com/ai": f"{MIRROR}:5000/vision",
    "registry.example.com:8443": f"{MIRROR}/internal",
    "docker.io": f"{MIRROR}/hub",
    "docker.io/library/python": f"{MIRROR}/python",
}
DIGEST = f"sha256:{'0' * 64}"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("registry.example.com/tools:1", f"{MIRROR}/tools:1"),
        ("registry.example.com/ai/pytorch-training:2.8", f"{MIRROR}:5000/vision/pytorch-training:2.8"),
        (f"registry.example.com/ai/sd:2@{DIGEST}", f"{MIRROR}:5000/vision/sd:2@{DIGEST}"),
        ("registry.example.com/ai-tools/sd", f"{MIRROR}/ai-tools/sd"),
        ("registry.example.com:8443/ai/sd", f"{MIRROR}/internal/ai/sd"),
        ("registry.example.com:5000/ai/sd", "registry.example.com:5000/ai/sd"),
        ("registry.example.com.evil.org/ai/sd", "registry.example.com.evil.org/ai/sd"),
        ("pytorch/pytorch:2.8", f"{MIRROR}/hub/pytorch/pytorch:2.8"),
        ("docker.io/pytorch/pytorch", f"{MIRROR}/hub/pytorch/pytorch"),
        ("busybox", f"{MIRROR}/hub/library/busybox"),
        ("python:3.11", f"{MIRROR}/python:3.11"),
        (f"python@{DIGEST}", f"{MIRROR}/python@{DIGEST}"),
        ("python3/python", f"{MIRROR}/hub/python3/python"),
        ("ghcr.io/team/python", "ghcr.io/team/python"),
    ],
)
def test_the_longest_prefix_counts_and_tag_and_digest_stay(written: str, name: str) -> None:
    assert pulled(written, REGISTRIES) == name
    assert pulled(written, {}) == written


@pytest.mark.parametrize(
    "wrong",
    ["registry", "pytorch", "https://registry.example.com", "registry.example.com/", "registry.example.com/ai:1", ""],
)
def test_a_registry_has_a_host_and_no_tag(wrong: str) -> None:
    for registries in ({wrong: MIRROR}, {"docker.io": wrong}):
        with pytest.raises(InputError):
            environment(registries=registries)
    assert environment(registries={"localhost/ai": "127.0.0.1:5000"}).registries


# An image in every place that has one.
EVERYWHERE: dict[str, Any] = {
    "image": "registry.example.com/ai/a:1",
    "roles": {
        "worker": {"replicas": 2, "init": [{"name": "first", "command": ["true"],
                    "image": "registry.example.com/ai/b:1"}]},
        "watch": {
            "ranked": False,
            "command": ["watch"],
            "image": "registry.example.com/ai/c:1",
            "pod_overrides": {
                "metadata": {"annotations": {"image": "registry.example.com/ai/x:1"}},
                "spec": {
                    "containers": {"side": {"image": "registry.example.com/ai/d:1",
                            "env": [{"name": "image", "value": "registry.example.com/ai/x:1"}]}},
                    "volumes": [{"name": "weights", "image": {"reference": "registry.example.com/ai/e:1"}}],
                },
            },
        },
    },
    "prepare": [
        {"name": "code", "image": "registry.example.com/ai/f:1",
            "git": {"repository": "https://git.example.com/ai/code.git", "commit": "0" * 40, "path": "/code"}},
        {"name": "data", "image": "registry.example.com/ai/g:1", "command": ["rsync"]},
    ],
}  # fmt: skip


def rendered(registries: dict[str, str], **parts: Any) -> RenderedJob:
    limits = {"host_network": True, "volume_types": ["image", "configMap", "emptyDir"], **parts.pop("limits", {})}
    return render_job(experiment(**{**EVERYWHERE, **parts}), environment(registries=registries, limits=limits))


def images(value: Any) -> set[str]:
    """Every image of an object, and every text that looks like one."""
    if isinstance(value, dict | list):
        return {found for item in (value.values() if isinstance(value, dict) else value) for found in images(item)}
    return {value} if isinstance(value, str) and "/ai/" in value and "https" not in value else set()


def test_every_image_of_an_experiment_is_mapped_and_nothing_else() -> None:
    made = rendered({"registry.example.com": MIRROR})
    assert made.problems == ()
    expected = {f"{MIRROR}/ai/{letter}:1" for letter in "abcdefg"} | {"registry.example.com/ai/x:1"}
    assert images(job(made.plan)) == expected
    assert made.plan.images == {
        f"registry.example.com/ai/{letter}:1": f"{MIRROR}/ai/{letter}:1" for letter in "abcdefg"
    }
    assert made.experiment.image == "registry.example.com/ai/a:1"


@pytest.mark.parametrize("backend", BACKENDS)
def test_on_every_backend(backend: str) -> None:
    made = render_job(experiment(backend=backend), environment(registries={"registry.example.com": MIRROR}))
    bodies = [manifest.body for manifest in made.manifests if not manifest.is_record]
    assert images(bodies) == {f"{MIRROR}/ai/pytorch-training:2.8"}


def test_limits_judge_the_name_that_the_nodes_pull() -> None:
    limits = {"registries": [MIRROR]}
    assert rendered({"registry.example.com": MIRROR}, limits=limits).problems == ()
    refused = rendered({}, limits=limits).problems
    assert {problem.code for problem in refused} == {"TF-IMG-1"}
    back = rendered({"registry.example.com": MIRROR}, limits={"registries": ["registry.example.com"]}).problems
    assert {(problem.path, problem.value) for problem in back} >= {("image", f"{MIRROR}/ai/a:1")}


def inputs_and_record(registries: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any], str]:
    made, where = experiment(), environment(registries=registries)
    plan = render_job(made, where).plan
    record = job_record(made, where, plan)
    assert record is not None
    assert record.experiment["image"] == JOB["image"]
    return job_inputs(made, where, plan).job["environment"], record.environment, plan.revision


def test_only_the_mapping_that_reaches_an_image_is_an_input() -> None:
    used = {"registry.example.com": MIRROR}
    plain, mapped = inputs_and_record({}), inputs_and_record({**used, "docker.io": f"{MIRROR}/hub"})
    assert "registries" not in plain[0]
    assert (mapped[0]["registries"], mapped[1]["registries"]) == (used, used)
    assert plain[2] != mapped[2]
    assert inputs_and_record({"docker.io": MIRROR})[2] == plain[2]
