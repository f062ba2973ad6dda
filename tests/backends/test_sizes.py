"""Objects that no API server takes: size_problems by `check` with their size, and with what makes them so large."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment, job, plan
from trainform.defaults import LARGEST_OBJECT
from trainform.errors import Problem
from trainform.objects import job_manifests

CLUSTER = environment(ports="1-65535", limits={"host_network": True})


def size_problems(**parts: Any) -> list[Problem]:
    return [problem for problem in job_problems(experiment(**parts), CLUSTER) if "etcd stores" in problem.reason]


def test_a_job_that_is_too_large(backend: str) -> None:
    roles = {"master": {}, "worker": {"replicas": 2}}
    large = {f"PART_{number}": "x" * 100_000 for number in range(6)}
    (problem,) = size_problems(backend=backend, env=large, roles=roles)
    assert (problem.path, problem.value) == ("env", None)
    objects = job_manifests(plan(cluster=CLUSTER, backend=backend, roles=roles))
    largest = max(objects, key=lambda manifest: len(json.dumps(manifest.body.get("spec", ""))))
    assert problem.reason.startswith(f"the object {largest.key} has 12")
    assert "most of them variables, of which every container has all" in problem.reason
    assert problem.reason.endswith(f", and etcd stores at most {LARGEST_OBJECT} beside what servers add")
    assert problem.fix == "put large values into a ConfigMap, or into a file of the image or of a volume"
    assert size_problems(backend=backend, env={"PART": "x" * 100_000}, roles=roles) == []


def test_the_size_is_that_of_its_json_in_bytes() -> None:
    """The largest that is taken, and one byte more; a letter outside of ASCII has two."""
    roles = {"worker": {"replicas": 2}}
    made = job(plan(cluster=CLUSTER, roles=roles, env={"PART": "ä"}))
    room = LARGEST_OBJECT - len(json.dumps(made, separators=(",", ":"), ensure_ascii=False).encode())
    fits = "ä" + "ä" * (room // 2) + "x" * (room % 2)
    assert size_problems(roles=roles, env={"PART": fits}) == []
    (problem,) = size_problems(roles=roles, env={"PART": fits + "x"})
    assert f"the object job has {LARGEST_OBJECT + 1} bytes" in problem.reason


def test_replicas_with_ports_of_their_own() -> None:
    """Each has a pod template of its own in the job."""
    network = {"host": True, "ports": "per-replica"}
    assert size_problems(network=network, roles={"worker": {"replicas": 400}}) == []
    (problem,) = size_problems(network=network, roles={"worker": {"replicas": 1024}})
    assert problem.fix.startswith("use `ports: shared`, or fewer replicas")


def test_lists_of_hosts() -> None:
    parts: dict[str, Any] = {"launcher": {"deepspeed": {"script": "/code/train.py"}}}
    assert size_problems(**parts, roles={"worker": {"replicas": 1}, "helper": {"replicas": 10_000}}) == []
    (problem,) = size_problems(**parts, roles={"worker": {"replicas": 1}, "helper": {"replicas": 50_000}})
    assert problem.reason.startswith("the object launch-script has ")
    assert "since it lists the hosts of all replicas" in problem.reason
    assert (problem.path, problem.fix) == ("roles", "use fewer replicas, or a launcher that needs no list: torchrun")


@pytest.mark.parametrize(
    ("parts", "path", "words"),
    [
        (
            {"roles": {"worker": {"env": {f"PART_{number}": "x" * 1_000 for number in range(1_100)}}}},
            "roles.worker.env",
            "variables, of which every container has all",
        ),
        (
            {"roles": {f"role-{number}": {"replicas": 1} for number in range(60)}, "env": {"PART": "x" * 20_000}},
            "env",
            "variables, of which every container has all in each of 60 pod templates",
        ),
        (
            {
                "roles": {
                    "worker": {
                        "init": [{"name": f"step-{number}", "command": ["x" * 1_000]} for number in range(1_000)]
                    }
                }
            },
            "roles.worker.init",
            "the words of commands",
        ),
        ({"launcher": {"command": ["python", *["x" * 1_000] * 1_100]}}, "launcher", "the words of commands"),
        ({"labels": {f"label-{number}": "x" * 60 for number in range(16_000)}}, "labels", "labels"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_takes_the_space_is_named(parts: dict[str, Any], path: str, words: str) -> None:
    (problem,) = size_problems(**parts)
    assert problem.path == path
    assert f" bytes, most of them {words}, and etcd" in problem.reason


def test_a_patch_that_makes_an_object_too_large() -> None:
    (problem,) = size_problems(manifest_overrides={"launch-script": {"data": {"part": "x" * LARGEST_OBJECT}}})
    assert problem.path == "manifest_overrides.launch-script"


def test_an_object_that_would_fill_the_memory_is_not_serialized() -> None:
    """Every init container mounts every checkout: with 3,000 of them the job has ten million mounts."""
    git = {"repository": "https://git.example.com/code.git", "commit": "a" * 40}
    steps = [{"name": f"step-{number}", "git": {**git, "path": f"/code/{number}"}} for number in range(3_000)]
    (problem,) = size_problems(prepare=steps)
    assert f"more than {4 * LARGEST_OBJECT} bytes" in problem.reason
