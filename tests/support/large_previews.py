"""Previews that grow in different ways, far beyond what an engine makes: for the test that a review takes no more than its share of work.

By hand, from the clone: `python -m tests.support.large_previews WAY SIZE [digest] | trainform review --preview-json - --no-cluster`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from tests.support import previews
from tests.support.previews import CLAIM, CONFIG_MAP, SECRET, TRAINING_JOB, VOLCANO_JOB, secret, state, step_event, urn

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


def _replaced_job(number: int) -> Data:
    name = f"bert-{number:05}"
    sides = _job_object(name, "1f3a9c", "2.8"), _job_object(name, "7d6c3b", "2.9")
    return _object(VOLCANO_JOB, f"{name}-job", *sides, operation="replace", keys=["metadata.name"], detail={})


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


def _volumes(change: Callable[[int], Data | None]) -> Callable[[int], list[Data]]:
    """A job whose volumes all change. change: a volume afterwards; None: it is gone."""

    def events(size: int) -> list[Data]:
        def volume(number: int) -> Data:
            return {"size": f"{number + 2}Gi", "class": "fast", "mount": f"/mnt/data-{number}"}

        before = _named("data-", size, volume)
        after = {
            name: {**value, **changed}
            for number, (name, value) in enumerate(before.items())
            if (changed := change(number)) is not None
        }
        claims = [
            _object(
                CLAIM,
                f"bert-{name}",
                _claim_body(number),
                _claim_body(number + 1) if name in after else None,
                TRAINING_JOB,
                parent=urn(TRAINING_JOB, "bert"),
                detail={"spec.resources.requests.storage": "update"},
            )
            for number, name in enumerate(before)
        ]
        return [*_recorded_job("bert", {"storage": before}, {"storage": after}), *claims]

    return events


def _variables(size: int) -> list[Data]:
    before, after = _named("NCCL_", size, str), _named("NCCL_", size, lambda number: str(number + 1))
    return _recorded_job("bert", {"env": before}, {"env": after})


def _objects_of_a_job(size: int) -> list[Data]:
    """Other ones than before, as where their names have a revision."""
    parent = {"parent": urn(TRAINING_JOB, "bert")}
    sides = [("1f3a9c", {"data": {"a": "1"}}, None), ("7d6c3b", None, {"data": {"a": "1"}})]
    return [
        *_recorded_job("bert", {}, {}),
        *(
            _object(CONFIG_MAP, f"bert-{number:05}-{revision}", old, new, TRAINING_JOB, **parent)
            for revision, old, new in sides
            for number in range(size)
        ),
    ]


def _fields(size: int) -> list[Data]:
    return [_config_map(_named("key-", size, str), _named("key-", size, lambda number: str(number + 1)))]


def _told(text: Callable[[int], str]) -> Callable[[int], list[Data]]:
    """A text in a field, in a message and in a name."""

    def events(size: int) -> list[Data]:
        made = text(size)
        return [
            _config_map({"a": "1"}, {"a": made, "b": f"first\n{made}"}),
            previews.diagnostic("warning", made),
            previews.diagnostic("error", f"first\n{made}", urn(CONFIG_MAP, made[:10_000])),
        ]

    return events


def _known(own: Callable[[int], str], other: Callable[[int], str]) -> Callable[[int], list[Data]]:
    """A secret, and another text that is like it."""

    def events(size: int) -> list[Data]:
        held = _object(SECRET, "bert-login", None, {"stringData": {"a": own(size)}})
        return [held, _config_map({"a": "1"}, {"a": other(size)})]

    return events


def _unseen_secrets(size: int) -> list[Data]:
    """Secrets that the engine does not tell, and of each that it changes."""
    held = {"stringData": _named("key-", size, lambda number: secret())}
    detail = {f"stringData.{name}": "update" for name in held["stringData"]}
    return [_object(SECRET, "bert-login", held, held, detail=detail)]


def _items(item: Callable[[int], Any]) -> Callable[[int], list[Data]]:
    def events(size: int) -> list[Data]:
        body = {"spec": {"items": [item(number) for number in range(size)]}}
        return [_object("kubernetes:example.com/v1:List", "bert-list", body, body)]

    return events


def _named_and_not(number: int) -> Data:
    marked = secret(f"winter-otter-{number}")
    return {"name": f"a{number}", "value": marked} if number % 2 else {f"key-{number}": marked}


def _queues(parent: Callable[[int], str]) -> Callable[[int], list[Data]]:
    """Queues with a job in each."""

    def events(size: int) -> list[Data]:
        found = []
        for number in range(size):
            spec = {"parent": parent(number), "guarantee": {"resource": {"cpu": "1"}}, "capability": {"cpu": "64"}}
            queue = {"spec": {"weight": 1, **spec}}
            type_ = "kubernetes:scheduling.volcano.sh/v1beta1:Queue"
            found.append(_object(type_, f"queue-{number:05}", None, queue))
            job = _job_object(f"bert-{number:05}", "1f3a9c", "2.8")
            job["spec"]["queue"] = f"queue-{number:05}"
            found.append(_object(VOLCANO_JOB, f"bert-{number:05}-job", None, job))
        return found

    return events


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
    "job objects": lambda size: [_replaced_job(number) for number in range(size)],
    "jobs": _jobs,
    "claims": _claims,
    "volumes that grow": _volumes(lambda number: {"size": f"{number + 3}Gi"}),
    "volumes that go": _volumes(lambda number: None),
    "variables": _variables,
    "objects of a job": _objects_of_a_job,
    "fields": _fields,
    "text": _told(lambda size: "x" * size),
    "lines": _told(lambda size: "a: b\n" * (size // 5)),
    "addresses": _told(lambda size: "://a:" * (size // 5)),
    "logins": _told(lambda size: " ".join(f"https://a{number}:b{number}@c" for number in range(size // 20))),
    "pairs": _told(lambda size: "a=" * (size // 2)),
    "quotes": _told(lambda size: "token: '" * (size // 8)),
    "settings": _told(lambda size: "[a]\n" + "token=$A\n" * (size // 9)),
    "words of commands": _told(lambda size: "mysql -p " * (size // 9)),
    "letters outside of ASCII": _told(lambda size: "é token= " * (size // 9)),
    "secrets": lambda size: [
        _object(SECRET, f"login-{number:05}", None, {"stringData": {"a": f"otter-of-the-north-{number}"}})
        for number in range(size)
    ],
    "lines of a secret": _known(
        lambda size: "\n".join(f"otter-of-the-north-{number}" for number in range(size // 24)), lambda size: "x" * size
    ),
    "a secret that repeats itself": _known(lambda size: "otter" * (size // 5), lambda size: "otter" * (size // 5 - 1)),
    "unseen secrets": _unseen_secrets,
    "secret items": _items(_named_and_not),
    "queues": _queues(lambda number: "root"),
    "queues in a line": _queues(lambda number: f"queue-{number - 1:05}" if number else "root"),
}  # fmt: skip
"""The steps of each way. size: resources, entries, or characters of a text."""


def large_preview(way: str, size: int, form: str = "stream") -> str:
    """The text of the preview."""
    return (previews.digest if form == "digest" else previews.stream)(*WAYS[way](size))


if __name__ == "__main__":
    sys.stdout.write(large_preview(sys.argv[1], int(sys.argv[2]), *sys.argv[3:4]))
