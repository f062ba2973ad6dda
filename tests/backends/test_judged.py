"""Where a path leads to."""

from __future__ import annotations

from typing import Any

import pytest

from trainform.backends.backend import named_items, places, written

BODY = {
    "tasks": [{"name": "worker", "replicas": 7}, {"replicas": 1}, "none"],
    "roles": {"Worker": {"replicas": 7}, "Master": {}},
    "volumes": None,
    "metadata": {"labels": {"example.com/team.name": "vision"}, "annotations": None},
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("tasks.*.replicas", ["tasks.worker.replicas", "tasks.1.replicas"]),
        ("roles.*.replicas", ["roles.Worker.replicas"]),
        ("roles.Worker", ["roles.Worker"]),
        ("volumes", ["volumes"]),
        ("volumes.*.image", []),
        ("tasks.worker", []),
        ("suspend", []),
        ("metadata.labels.example.com/team.name", ["metadata.labels.example.com/team.name"]),
        ("metadata.labels.team", []),
        ("metadata.annotations.example.com/team", []),
        ("metadata.labels", ["metadata.labels"]),
    ],
)
def test_places(path: str, found: list[str]) -> None:
    assert [written(where) for _, _, where in places(BODY, path)] == found


def test_nothing_is_found_in_a_value_that_is_no_mapping() -> None:
    assert [*places(None, "spec.replicas")] == []


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ({"a": 1}, {"a": 1}),
        ([{"name": "a"}, {"name": "b", "x": 1}], {"a": {"name": "a"}, "b": {"name": "b", "x": 1}}),
        ([], {}),
        ([{"name": "a"}, {"name": "a"}], None),
        ([{"name": 5}], None),
        ([{"name": "a"}, "b"], None),
        ("a", None),
        (None, None),
    ],
)
def test_named_items(value: Any, found: dict[str, Any] | None) -> None:
    assert named_items(value) == found
