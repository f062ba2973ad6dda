"""Objects that no API server takes: told by `check` with their size, and with what makes them so large."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.samples import environment, experiment, job, plan
from trainform.backends.job import BACKENDS, job_problems
from trainform.catalog.defaults import LARGEST_OBJECT
from trainform.errors import Problem

CLUSTER = environment(ports="1-65535", limits={"host_network": True})


def told(**parts: Any) -> list[Problem]:
    return [problem for problem in job_problems(experiment(**parts), CLUSTER) if "etcd keeps" in problem.reason]


@pytest.mark.parametrize("backend", list(BACKENDS))
def test_a_job_that_is_too_large(backend: str) -> None:
    roles = {"master": {}, "worker": {"replicas": 2}}
    large = {f"PART_{number}": "x" * 100_000 for number in range(6)}
    (problem,) = told(backend=backend, env=large, roles=roles)
    assert (problem.path, problem.value) == ("", None)
    assert problem.reason.startswith(f"makes the object {'runtime' if backend == 'trainer' else 'job'} 12")
    assert problem.reason.endswith(f" bytes long; etcd keeps at most {LARGEST_OBJECT}")
    assert problem.fix == "put large values into a ConfigMap or the image, or use fewer roles"
    assert told(backend=backend, env={"PART": "x" * 100_000}, roles=roles) == []


def test_the_size_is_that_of_its_json_in_bytes() -> None:
    """The largest that is taken, and one byte more; a letter outside of ASCII has two."""
    roles = {"worker": {"replicas": 2}}
    made = job(plan(cluster=CLUSTER, roles=roles, env={"PART": "ä"}))
    room = LARGEST_OBJECT - len(json.dumps(made, separators=(",", ":"), ensure_ascii=False).encode())
    fits = "ä" + "ä" * (room // 2) + "x" * (room % 2)
    assert told(roles=roles, env={"PART": fits}) == []
    (problem,) = told(roles=roles, env={"PART": fits + "x"})
    assert f"the object job {LARGEST_OBJECT + 1} bytes" in problem.reason


def test_replicas_with_ports_of_their_own() -> None:
    """Each has a pod template of its own in the job."""
    network = {"host": True, "ports": "per-replica"}
    assert told(network=network, roles={"worker": {"replicas": 400}}) == []
    (problem,) = told(network=network, roles={"worker": {"replicas": 1024}})
    assert problem.fix.startswith("use `ports: shared`, or fewer replicas")


def test_lists_of_hosts() -> None:
    parts: dict[str, Any] = {"launcher": {"deepspeed": {"script": "/code/train.py"}}}
    assert told(**parts, roles={"worker": {"replicas": 1}, "helper": {"replicas": 10_000}}) == []
    (problem,) = told(**parts, roles={"worker": {"replicas": 1}, "helper": {"replicas": 50_000}})
    assert problem.reason.startswith("makes the object launch-script ")
    assert problem.fix == "use fewer replicas: it lists the hosts of all"


def test_a_patch_that_makes_an_object_too_large() -> None:
    large = {"metadata": {"annotations": {"example.com/part": "x" * LARGEST_OBJECT}}}
    (problem,) = told(manifest_overrides={"service": large})
    assert problem.path == "manifest_overrides.service"


def test_what_would_fill_the_memory_is_not_written_out() -> None:
    """Every init container mounts every checkout: with 3,000 of them the job has ten million mounts."""
    git = {"repository": "https://git.example.com/code.git", "commit": "a" * 40}
    steps = [{"name": f"step-{number}", "git": {**git, "path": f"/code/{number}"}} for number in range(3_000)]
    (problem,) = told(prepare=steps)
    assert f"more than {4 * LARGEST_OBJECT} bytes" in problem.reason
