"""Previews that grow in different ways, for the test that a review takes no more than its share of work."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tests.support import previews
from tests.support.previews import CLAIM, CONFIG_MAP, SECRET, TRAINING_JOB, VOLCANO_JOB, state, step_event, urn

Data = dict[str, Any]
PROVIDER = f"{urn('pulumi:providers:kubernetes', 'bert-cluster')}::7d6c3b1e-0000-4000-8000-000000000000"
IMAGE = "registry.example.com/ai/pytorch-training"


def _object(type_: str, name: str, old: Data | None, new: Data | None, *above: str, **more: Any) -> Data:
    """The event of an object; each side that is there gets the name, unless it has one."""
    parent = {"parent": more.pop("parent")} if "parent" in more else {}
    keep = more.pop("keep", False)
    states = [
        None
        if body is None
        else state(
            {**_naming(type_), "metadata": {"name": name}, **body}, provider=PROVIDER, retainOnDelete=keep, **parent
        )
        for body in (old, new)
    ]
    operation = more.pop("operation", "create" if old is None else "delete" if new is None else "update")
    return step_event(operation, urn(type_, name, *above), *states, **more)


def _naming(type_: str) -> Data:
    version, _, kind = type_.removeprefix("kubernetes:").rpartition(":")
    return {"apiVersion": version.removeprefix("core/"), "kind": kind}


def _config_map(old: Data, new: Data, name: str = "settings", **more: Any) -> Data:
    return _object(CONFIG_MAP, name, {"data": old}, {"data": new}, **more)


def _named(stem: str, size: int, value: Callable[[int], Any]) -> Data:
    return {f"{stem}{number:05}": value(number) for number in range(size)}


def _job_object(name: str, revision: str, tag: str) -> Data:
    container = {"name": "worker", "image": f"{IMAGE}:{tag}", "command": ["python", "/app/train.py"]}
    task = {"name": "worker", "replicas": 2, "template": {"spec": {"containers": [container]}}}
    return {"metadata": {"name": f"{name}-{revision}"}, "spec": {"queue": "default", "tasks": [task]}}


def _recorded_job(name: str, before: Data, after: Data) -> list[Data]:
    """The component of a job with its object and its record, which differ as the experiments do."""
    component = urn(TRAINING_JOB, name)
    inputs = {"image": f"{IMAGE}:2.9", "roles": ["worker"]}
    experiment = {
        "name": name,
        "image": f"{IMAGE}:2.8",
        "launcher": {"command": ["python", "/app/train.py"]},
        "roles": {"worker": {"replicas": 2}},
    }
    records = [
        {
            "revision": revision,
            "job": f"{name}-{revision}",
            "run": "1",
            "experiment": json.dumps({**experiment, **given}),
            "environment": json.dumps({"backend": "volcano"}),
        }
        for revision, given in (("1f3a9c", before), ("7d6c3b", after))
    ]
    below: Data = {"parent": component}
    return [
        step_event("update", component, state(inputs), state(inputs)),
        _config_map(records[0], records[1], f"{name}-deployed", **below),
        _object(
            VOLCANO_JOB,
            f"{name}-job",
            _job_object(name, "1f3a9c", "2.8"),
            _job_object(name, "7d6c3b", "2.9"),
            TRAINING_JOB,
            operation="replace",
            keys=["metadata.name"],
            detail={},
            **below,
        ),
    ]


def _jobs(size: int) -> list[Data]:
    image = {"image": f"{IMAGE}:2.9"}
    return [event for number in range(size) for event in _recorded_job(f"bert-{number:05}", {}, image)]


def _claim_body(number: int) -> Data:
    size = {"resources": {"requests": {"storage": f"{number + 1}Gi"}}}
    return {"spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "cephfs-ssd", **size}}


def _claims(size: int) -> list[Data]:
    return [_object(CLAIM, f"bert-data-{number:05}", _claim_body(number), None) for number in range(size)]


def _volumes_that_go(size: int) -> list[Data]:
    """A job that loses its volumes."""
    before = _named(
        "data-", size, lambda number: {"size": f"{number + 2}Gi", "class": "fast", "mount": f"/mnt/{number}"}
    )
    parent = urn(TRAINING_JOB, "bert")
    claims = [
        _object(CLAIM, f"bert-{name}", _claim_body(number), None, TRAINING_JOB, parent=parent)
        for number, name in enumerate(before)
    ]
    return [*_recorded_job("bert", {"storage": before}, {}), *claims]


def _variables(size: int) -> list[Data]:
    before, after = _named("NCCL_", size, str), _named("NCCL_", size, lambda number: str(number + 1))
    return _recorded_job("bert", {"env": before}, {"env": after})


def _fields(size: int) -> list[Data]:
    return [_config_map(_named("key-", size, str), _named("key-", size, lambda number: str(number + 1)))]


def _secrets(size: int) -> list[Data]:
    texts = _named("login-", size, lambda number: {"stringData": {"a": f"otter-of-the-north-{number}"}})
    return [_object(SECRET, name, None, body) for name, body in texts.items()]


def _queues(size: int) -> list[Data]:
    """Queues in a line, with a job in each."""
    found = []
    for number in range(size):
        parent = f"queue-{number - 1:05}" if number else "root"
        queue = {"spec": {"weight": 1, "parent": parent, "capability": {"cpu": "64"}}}
        found.append(_object("kubernetes:scheduling.volcano.sh/v1beta1:Queue", f"queue-{number:05}", None, queue))
        job = _job_object(f"bert-{number:05}", "1f3a9c", "2.8")
        job["spec"]["queue"] = f"queue-{number:05}"
        found.append(_object(VOLCANO_JOB, f"bert-{number:05}-job", None, job))
    return found


def _resources(size: int) -> list[Data]:
    """A stack as an engine may make it: jobs with claims and settings."""
    found = []
    for number in range(size // 5):
        name = f"bert-{number:05}"
        found += _recorded_job(name, {}, {"image": f"{IMAGE}:2.9"})
        found.append(_object(CLAIM, f"{name}-checkpoints", _claim_body(1), _claim_body(2), detail={}))
        found.append(_config_map({"NCCL_DEBUG": "INFO"}, {"NCCL_DEBUG": "WARN"}, f"{name}-settings", detail={}))
    return found


WAYS: Mapping[str, Callable[[int], list[Data]]] = {
    "resources": _resources,
    "jobs": _jobs,
    "claims": _claims,
    "volumes that go": _volumes_that_go,
    "variables": _variables,
    "fields": _fields,
    "secrets": _secrets,
    "queues": _queues,
}
"""The steps of each way, by the number of resources or entries."""


def large_preview(way: str, size: int) -> str:
    """The text of the preview."""
    return previews.stream(*WAYS[way](size))
