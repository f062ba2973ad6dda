"""What of a live object counts as a difference, and who wrote it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.leaks import PASSWORD, leaks
from trainform.cluster.live_drift import drift_from, drift_of, fields_of_others, last_write

BODY: dict[str, Any] = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "metadata": {"name": "mnist-0a1b2c"}}


def differing(applied: dict[str, Any], live: dict[str, Any]) -> dict[str, tuple[object, object]]:
    found = drift_of({**BODY, "spec": applied}, {**BODY, "spec": live})
    return {drift.path: (drift.applied, drift.live) for drift in found}


@pytest.mark.parametrize(
    ("applied", "live"),
    [
        ({"limits": {"memory": "1Gi", "cpu": "1"}}, {"limits": {"memory": "1024Mi", "cpu": 1}}),
        ({"limits": {"cpu": "1000m"}}, {"limits": {"cpu": "1"}}),
        ({"minAvailable": "2"}, {"minAvailable": 2}),
        # defaults, and what controllers and webhooks add
        ({"queue": "default"}, {"queue": "default", "maxRetry": 3}),
        ({"labels": {"a": "1"}}, {"labels": {"a": "1", "b": "2"}}),
        ({"containers": [{"name": "main"}]}, {"containers": [{"name": "proxy"}, {"name": "main", "tty": False}]}),
        # the API server leaves out what is empty
        ({"plugins": {}, "env": [], "host": False, "text": "", "nothing": None, "deep": {"er": {}}}, {}),
        ({"suspend": True}, {"suspend": False}),  # Kueue lets a job go
        ({"__inputs": 1}, {}),
        ({"args": ["a", "b"]}, {"args": ["a", "b"]}),
        ({"ports": [{"containerPort": 22}]}, {"ports": [{"containerPort": 22, "protocol": "TCP"}]}),
        ({"volumes": [{"a": 1}]}, {"volumes": [{"a": 1, "b": 2}]}),
    ],
)
def test_what_is_no_drift(applied: dict[str, Any], live: dict[str, Any]) -> None:
    assert differing(applied, live) == {}


@pytest.mark.parametrize(
    ("applied", "live", "found"),
    [
        ({"minAvailable": 2}, {"minAvailable": 3}, {"spec.minAvailable": (2, 3)}),
        ({"limits": {"memory": "1Gi"}}, {"limits": {"memory": "1G"}}, {"spec.limits.memory": ("1Gi", "1G")}),
        ({"queue": "night"}, {}, {"spec.queue": ("night", None)}),
        ({"host": False}, {"host": True}, {"spec.host": (False, True)}),
        ({"count": 1}, {"count": True}, {"spec.count": (1, True)}),
        # a text that is no quantity of a resource is one only in this spelling
        (
            {"env": [{"name": "SIZE", "value": "1Gi"}]},
            {"env": [{"name": "SIZE", "value": "1024Mi"}]},
            {"spec.env.SIZE.value": ("1Gi", "1024Mi")},
        ),
        (
            {"env": [{"name": "SIZE", "value": "1"}]},
            {"env": [{"name": "OTHER", "value": "1"}]},
            {"spec.env.SIZE": ({"name": "SIZE", "value": "1"}, None)},
        ),
        ({"args": ["a", "b"]}, {"args": ["a", "c"]}, {"spec.args": (["a", "b"], ["a", "c"])}),
        ({"args": ["a"]}, {"args": ["a", "b"]}, {"spec.args": (["a"], ["a", "b"])}),
        ({"args": ["a"]}, {}, {"spec.args": (["a"], None)}),
        ({"deep": {"er": 1}}, {"deep": "text"}, {"spec.deep": ({"er": 1}, "text")}),
    ],
)
def test_what_is_drift(applied: dict[str, Any], live: dict[str, Any], found: dict[str, Any]) -> None:
    assert differing(applied, live) == found


@pytest.mark.parametrize(
    "words",
    [
        ["python", "train.py", "--password", PASSWORD],
        ["curl", f"https://user:{PASSWORD}@example.com"],
        ["sh", "-c", f"PGPASSWORD={PASSWORD} psql"],
    ],
)
def test_a_secret_in_a_command_is_not_shown(words: list[str]) -> None:
    """Also not to whoever reads a saved review, which holds the live fields that differ."""
    containers = [{"name": "main", "command": ["python"]}], [{"name": "main", "command": words}]
    old, live = ({**BODY, "spec": {"containers": each}} for each in containers)
    noted: dict[str, Any] = {"f:spec": {"f:containers": {'k:{"name":"main"}': {"f:command": {}}}}}
    edited = {**live, "metadata": {**live["metadata"], "managedFields": [entry("kubectl-edit", "1", noted)]}}
    others = [drift for _, drift in fields_of_others(edited, lambda manager: False)]
    for found in ([*drift_of(old, live)], [drift for _, drift in drift_from(old, live)], others):
        assert [drift.path for drift in found] == ["spec.containers.main.command"]
        assert leaks({"drift": str(found)}, [PASSWORD]) == []


def test_a_secret_of_a_variable_that_is_there_twice_is_not_shown() -> None:
    """Then nothing tells the items apart, and they are compared by their places."""
    letters = [{"name": "LETTER", "value": "a"}, {"name": "LETTER", "value": "b"}]
    secrets = [{"name": "DB_PASSWORD", "value": PASSWORD}] * 2
    assert (
        differing({"env": letters}, {"env": secrets})["spec.env"][1]
        == [{"name": "DB_PASSWORD", "value": "[secret]"}] * 2
    )
    assert differing({"env": letters}, {"env": [{**each, "more": 1} for each in letters]}) == {}


def test_annotations_of_tools_are_left_out() -> None:
    applied = {**BODY, "metadata": {"name": "a", "annotations": {"pulumi.com/waitFor": "x", "owner": "vision"}}}
    live = {**BODY, "metadata": {"name": "a", "annotations": {"owner": "vision", "kubectl.kubernetes.io/x": "y"}}}
    assert list(drift_of(applied, live)) == []
    live["metadata"]["annotations"]["owner"] = "speech"
    assert [drift.path for drift in drift_of(applied, live)] == ["metadata.annotations.owner"]


def test_a_secret_is_neither_compared_nor_shown() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "ssh", "labels": {"a": "1"}}}
    found = list(
        drift_of(
            {**secret, "type": "Opaque", "data": {"key": "b25l"}, "stringData": {"x": "y"}},
            {**secret, "data": {"key": "dHdv"}},
        )
    )
    assert found == []
    applied = {"env": [{"name": "HF_TOKEN", "value": "$(TOKEN)"}]}
    live = {"env": [{"name": "HF_TOKEN", "value": "hunter2-of-the-team"}]}
    assert differing(applied, live) == {"spec.env.HF_TOKEN.value": ("$(TOKEN)", "[secret]")}
    whole = differing({"env": [{"name": "HF_TOKEN", "value": "hunter2-of-the-team"}]}, {"env": []})
    assert "hunter2" not in str(whole)
    args = differing({"args": ["train.py"]}, {"args": ["train.py", "--password=hunter2-of-the-team"]})
    assert "hunter2" not in str(args)


def entry(manager: str, time: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"manager": manager, "time": time, "fieldsV1": fields}


ENTRIES = [
    entry("pulumi-kubernetes", "2026-11-22T09:00:00Z", {"f:spec": {"f:tasks": {}, "f:queue": {}}}),
    entry("kubectl-edit", "2026-11-22T14:02:00Z",
        {"f:spec": {"f:env": {'k:{"name":"A"}': {".": {}, "f:value": {}}}, "f:queue": {}}}),
    entry("vc-controller-manager", "2026-11-22T15:00:00Z", {"f:status": {"f:state": {}}}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("path", "written"),
    [
        (("spec", "tasks", "worker", "replicas"), ("pulumi-kubernetes", "2026-11-22T09:00:00Z")),  # written as a whole
        (("spec", "env", "A", "value"), ("kubectl-edit", "2026-11-22T14:02:00Z")),
        (("spec", "queue"), ("kubectl-edit", "2026-11-22T14:02:00Z")),  # the last of two
        (("spec", "env", "B", "value"), ("", "")),
        (("spec", "gone"), ("", "")),
    ],
)
def test_who_wrote_a_field_last(path: tuple[str, ...], written: tuple[str, str]) -> None:
    assert last_write(ENTRIES, path) == written


def test_a_port_is_noted_by_its_number_and_told_by_its_name() -> None:
    live = {"spec": {"ports": [{"name": "rendezvous", "port": 9999, "protocol": "TCP"}]}}
    noted: dict[str, Any] = {
        'k:{"port":9999,"protocol":"TCP"}': {".": {}, "f:port": {}},
        'k:{"port":22,"protocol":"TCP"}': {".": {}},
    }
    entries = [entry("kubectl-edit", "2026-11-22T14:02:00Z", {"f:spec": {"f:ports": noted}})]
    path = ("spec", "ports", "rendezvous", "port")
    assert last_write(entries, path, live) == ("kubectl-edit", "2026-11-22T14:02:00Z")
    assert last_write(entries, ("spec", "ports", "ssh", "port"), live) == ("", "")


def test_the_order_of_variables_is_theirs() -> None:
    one, other = {"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}
    more = {"name": "PROXY", "value": "of a webhook"}
    assert differing({"env": [one, other]}, {"env": [one, more, other]}) == {}
    assert differing({"env": [one, other]}, {"env": [other, one]}) == {"spec.env": (["A", "B"], ["B", "A"])}
