"""Objects that etcd does not store: `check` reports them with their size."""

from __future__ import annotations

import json
from typing import Any

from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment, fitting, job, plan
from trainform.defaults import LARGEST_OBJECT
from trainform.errors import Problem
from trainform.job.render import job_manifests

CLUSTER = environment(ports="1-65535", limits={"host_network": True})


def size_problems(**parts: Any) -> list[Problem]:
    return [problem for problem in job_problems(experiment(**parts), CLUSTER) if "etcd stores" in problem.reason]


def test_a_job_that_is_too_large(backend: str) -> None:
    roles = fitting(backend, {"master": {}, "worker": {"replicas": 2}})
    large = {f"PART_{number}": "x" * 100_000 for number in range(12)}
    (problem,) = size_problems(backend=backend, env=large, roles=roles)
    objects = job_manifests(plan(cluster=CLUSTER, backend=backend, roles=roles))
    largest = max(objects, key=lambda manifest: len(json.dumps(manifest.body.get("spec", ""))))
    assert problem.reason.startswith(f"the object {largest.key} has ")
    assert problem.reason.endswith(f", and etcd stores at most {LARGEST_OBJECT} besides what servers add")
    assert problem.fix.startswith("put large values into a ConfigMap")
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


def test_a_patch_that_makes_an_object_too_large() -> None:
    (problem,) = size_problems(manifest_overrides={"launch-script": {"data": {"part": "x" * LARGEST_OBJECT}}})
    assert problem.path == "manifest_overrides.launch-script"
