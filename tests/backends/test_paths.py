"""Where a path leads to."""

from __future__ import annotations

import pytest

from trainform.backends.paths import items, places, reached, written

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
    ("path", "place", "found"),
    [
        ("tasks.*.template.image", ("tasks", "worker", "template", "image"), [("tasks", "worker")]),
        (
            "roles.*.tasks.*.image",
            ("roles", "a", "tasks", "b", "image"),
            [("roles", "a"), ("roles", "a", "tasks", "b")],
        ),
        ("spec.queue", ("spec", "queue"), []),
    ],
)
def test_items(path: str, place: tuple[str, ...], found: list[tuple[str, ...]]) -> None:
    assert [*items(path, place)] == found


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("tasks.*.replicas", {("tasks", "worker"), ("tasks", "1"), ("tasks", "2")}),
        ("roles.*.replicas", {("roles", "Worker"), ("roles", "Master")}),
        ("roles.*.*.image", {("roles", "Worker"), ("roles", "Master"), ("roles", "Worker", "replicas")}),
        ("volumes.*.image", set()),
        ("spec.*.image", set()),
        ("roles.Worker", set()),
    ],
)
def test_reached(path: str, found: set[tuple[str, ...]]) -> None:
    assert reached(BODY, path) == found
