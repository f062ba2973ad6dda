"""What a cluster says as an environment: objects of its API to a file that passes `check`, whatever they hold."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.local.scaffold.surveys import environment, named, node, queue, read, survey, uncommented
from tests.support.rendering import job_problems
from trainform import defaults
from trainform.local.scaffold.new_environment import environment_text, skeleton
from trainform.local.scaffold.new_experiment import LauncherName, NewExperiment
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment


@pytest.mark.parametrize("name", ["prod", "50", "no"])
def test_the_skeleton(name: str) -> None:
    assert read(skeleton(name)) == Environment.model_validate(
        {"name": name, "namespace": {"name": name, "create": True}}
    )


@pytest.mark.parametrize("text", [skeleton("prod"), environment_text("prod", survey(operators=()))])
def test_the_examples_of_the_skeleton_are_valid(text: str) -> None:
    full = read(uncommented(text))
    assert full.accelerators.keys() == {"a100"}
    assert full.storage_classes == {"fast": "cephfs-ssd"}
    assert full.rdma is not None
    assert full.limits.severity == {"TF-IMG-2": "error"}
    assert full.registries == {"registry.example.com": "mirror.example.com"}
    assert (full.promotion.sources, full.promotion.digest) == (["dev"], True)
    price = re.search(r"price_per_hour: \{.*\}", text)
    assert price is not None
    priced = uncommented(text).replace("memory: 1000Gi}", f"memory: 1000Gi, {price[0]}}}")
    assert read(priced).accelerators["a100"].price_per_hour is not None


@pytest.mark.parametrize(
    ("operators", "backend", "admission"),
    [
        (("volcano", "jobset", "kueue", "kubeflow"), "volcano", "volcano"),
        (("kueue", "trainer", "kubeflow"), "trainer", "kueue"),
        (("jobset", "kueue"), "jobset", "kueue"),
        # Kueue admits no jobs of KubeDL
        (("kubedl", "kubernetes", "kueue"), "kubernetes", "kueue"),
        # without what would hold the pods of a job together
        (("kubeflow", "kubernetes"), "kubeflow", "none"),
        (("kubernetes",), "kubernetes", "none"),
        (("kueue",), defaults.BACKEND, "volcano"),
        (None, defaults.BACKEND, "volcano"),
    ],
)
def test_the_first_operator_with_its_queue_system_is_chosen(
    operators: tuple[str, ...] | None, backend: str, admission: str
) -> None:
    text = environment_text("prod", survey(operators=operators))
    found = read(text)
    assert (found.backend, found.admission) == (backend, admission)
    assert ("No operator was found" in text) == (operators in (None, ("kueue",)))
    assert ("Nothing holds a job back" in text) == (admission == "none")


def test_the_served_version_of_mpi_jobs_is_chosen() -> None:
    for others, version in (((), "v1"), (("mpi-operator",), "v2beta1")):
        text = environment_text("prod", survey(operators=("kubeflow", *others)))
        assert read(text).mpi_job == version


def test_volcanos_queues_can_be_named() -> None:
    queues = [*map(queue, ("default", "root", "night")), queue("above", "root"), queue("below", "above")]
    found = environment(queues=queues, nodes=[node({"nvidia.com/gpu": "8"})])
    assert list(found.queues) == ["below", "night"], "only a leaf accepts jobs"
    text = NewExperiment("bert", "prod", LauncherName.TORCHRUN, 1, ("gpu", 8), "below").text("a/b:c")
    assert job_problems(Experiment.model_validate(yaml.safe_load(text)), found) == []


def test_queues_that_are_not_open_are_left_out() -> None:
    """And those above them that would look as if they took jobs."""
    queues = [
        queue("a-day", state="Closed"),
        queue("team", "root"),
        queue("team-night", "team", "Closing"),
        queue("fresh", state=None),
        queue("zoo"),
        queue("zoo-bird", "zoo"),
        queue("zoo-cat", "zoo", "Closed"),
        queue("default", state="Closed"),
    ]
    text = environment_text("prod", survey(queues=queues))
    assert list(read(text).queues) == ["zoo-bird"]
    assert "# Not open, and left out: a-day, default, fresh, team-night, zoo-cat\n" in text


def test_local_queues_are_listed_in_a_comment() -> None:
    found = survey(operators=("jobset", "kueue"), local_queues=named("team-b", "team-a"), queues=named("night"))
    text = environment_text("prod", found)
    assert "# LocalQueues of the namespace, for `queue` of experiments: team-a, team-b\n" in text
    assert read(text).queues == {}


def test_storage_classes() -> None:
    found = environment(storage_classes=named("cephfs-ssd", "fast.example.com", "fast-example-com", "1e3"))
    assert found.storage_classes == {
        "1e3": "1e3", "cephfs-ssd": "cephfs-ssd", "fast-example-com": "fast-example-com",
        "fast-example-com-2": "fast.example.com",
    }  # fmt: skip
