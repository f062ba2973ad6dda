"""Queues: the names in them, and the tree that they form."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import environment, reasons
from trainform.rules.references import environment_problems
from trainform.spec import Environment

VISION: dict[str, Any] = {"capability": {"a800": 16, "cpu": 64}, "deserved": {"a800": 8}}


def told(**queues: Any) -> dict[str, str]:
    return {problem.path: problem.reason for problem in environment_problems(environment(queues=queues))}


@pytest.mark.parametrize(
    ("request_", "paths"),
    [
        ({}, []),
        ({"capability": {"a800": 0}}, []),
        (VISION, []),
        ({**VISION, "guarantee": {"a800": 8}}, []),
        ({"deserved": {"a800": 8, "memory": "1Ti"}}, []),
        ({"capability": {"cpu": 0.5}}, []),
        ({"capability": {"a800": 0.5}}, ["capability.a800"]),
        ({"capability": {"memory": "100m"}}, ["capability.memory"]),
        ({"capability": {"h100": 8}}, ["capability.h100"]),
    ],
)
def test_amounts(request_: dict[str, Any], paths: list[str]) -> None:
    assert list(told(night=request_)) == [f"queues.night.{path}" for path in paths]
    assert list(reasons(queue=request_)) == [f"queue.{path}" for path in paths]


def test_trees() -> None:
    below = {"parent": "vision", "capability": {"a800": 16}, "deserved": {"a800": 4}}
    assert told(vision=VISION, day=below, night=below) == {}
    assert told(vision={}, day={"parent": "vision"}) == {}
    circle = {"day": {"parent": "night"}, "night": {"parent": "day"}}
    assert told(dawn={"parent": "day"}, **circle, noon={}).keys() == {"queues.day.parent", "queues.night.parent"}


def cluster() -> Environment:
    return environment(queues={"vision": VISION, "day": {"parent": "vision", "deserved": {"a800": 4}}})


def test_jobs_go_into_leaves() -> None:
    assert reasons(cluster(), queue="day") == {}
    assert reasons(cluster()) == {}, "the queue default is always there"


def test_own_queues() -> None:
    assert reasons(cluster(), queue={"parent": "vision", "deserved": {"a800": 4}}) == {}
    assert reasons(cluster(), queue={"parent": "visoin"}).keys() == {"queue.parent"}
    assert reasons(cluster(), queue={"parent": "sdxl-lora"}).keys() == {"queue.parent"}
    for taken in ("vision", "default", "root"):
        assert reasons(cluster(), queue={"name": taken}).keys() == {"queue.name"}
