"""The settings that an environment's own stack records, before and after."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tests.review.jobs import context, locate, step, urn
from tests.support.samples import CLUSTER, environment
from trainform.plan.inputs import environment_inputs, recorded_environment
from trainform.review.context import Context
from trainform.review.effects import effects
from trainform.review.model import Change, Place
from trainform.review.preview import State, Step
from trainform.review.settings import (
    PLATFORM,
    Setting,
    all_settings,
    namespace_before,
    not_compared,
)
from trainform.spec.environment import Environment
from trainform.spec.layers import merge_patch

DAY = datetime.date(2026, 1, 1)
URN = urn(PLATFORM, "dev")


def platform(before: dict[str, Any] | None, after: dict[str, Any] | None = None) -> Step:
    """The component of the environment; both are merge patches on `CLUSTER`."""
    states = [
        None if patch is None else State(environment_inputs(environment(**merge_patch(CLUSTER, patch))))
        for patch in (before, after)
    ]
    return step("update", PLATFORM, "dev", *states)


def reviewed(before: dict[str, Any], after: dict[str, Any], **more: Any) -> Context:
    return context(others=[platform(before, after)], locate=locate, **more)


def changed(before: Environment, after: Environment) -> tuple[Setting, ...]:
    """The settings that differ in what is recorded."""
    states = [State(environment_inputs(each)) for each in (before, after)]
    [found] = all_settings(context(others=[step("update", PLATFORM, "dev", *states)]))
    return found.changed


def test_what_is_recorded_can_be_read_back_and_has_no_cluster_and_no_secret() -> None:
    secret = "ghp_" + "0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R"
    made = environment(
        cluster={"context": "jane@laptop"},
        limits={"max_run_time": "72h", "metadata_keys": ["example.com/a"], "tolerations": []},
        promotion={"from": ["dev"], "soak": "24h"},
        priority_classes={"urgent": {"value": 9, "description": secret}},
        accelerators={
            "a800": {
                "resource": "nvidia.com/gpu",
                "cpu": 64,
                "price_per_hour": {"amount": 2.1, "currency": "USD", "as_of": DAY},
            }
        },
    )
    inputs = environment_inputs(made)
    assert "cluster" not in inputs
    assert secret not in str(inputs)
    read = recorded_environment(inputs)
    assert (read.limits, read.promotion, read.accelerators) == (made.limits, made.promotion, made.accelerators)


@pytest.mark.parametrize(
    ("field", "tight", "loose"),
    [
        ("limits.host_network", False, True),
        ("limits.own_queues", False, True),
        ("limits.max_accelerators", 8, 16),
        ("limits.max_accelerators", 8, None),
        ("limits.shared_memory_share", 0.25, 0.5),
        ("limits.max_run_time", "90m", "2h"),
        ("limits.longest_waiver", "7d", "30d"),
        ("limits.pod_security", "restricted", "privileged"),
        ("limits.registries", ["a.example.com"], ["a.example.com", "b.example.com"]),
        ("limits.registries", ["a.example.com"], []),
        ("limits.host_paths", [], ["/data"]),
        ("limits.queues", ["night"], None),
        ("limits.queues", [], ["night"]),
        ("limits.severity.TF-RES-1", "error", "warning"),
        ("limits.severity.TF-RES-1", None, "off"),
        ("limits.severity.TF-IMG-2", "error", None),
        ("limits.waivable.TF-RES-2", None, ["lead"]),
        ("limits.max_cost_per_hour", {"amount": 100, "currency": "USD"}, None),
        ("limits.max_cost_per_hour.amount", 100, 200),
        ("promotion.succeeded", True, False),
        ("promotion.soak", "24h", "1h"),
        ("promotion.soak", "1h", None),
        ("promotion.from", ["staging"], []),
        ("promotion.waivable.soak", None, ["lead"]),
    ],
)
def test_which_value_allows_more(field: str, tight: Any, loose: Any) -> None:
    section, name, *key = field.split(".")
    sides = []
    for value in (tight, loose):
        inner: Any = value
        for part in reversed(key):
            inner = {} if inner is None else {part: inner}
        if name == "max_cost_per_hour" and key:
            inner["currency"] = "USD"
        sides.append(environment(**{section: {} if inner is None else {name: inner}}))
    [found] = changed(*sides)
    assert (found.path, found.looser, found.tighter) == (field, True, False)
    [back] = changed(*reversed(sides))
    assert (back.looser, back.tighter) == (False, True)


def test_another_list_allows_and_forbids_and_other_settings_do_neither() -> None:
    lists = [environment(limits={"registries": [name]}) for name in ("a.example.com", "b.example.com")]
    [found] = changed(*lists)
    assert (found.looser, found.tighter) == (True, True)
    [found] = changed(environment(ports="20000-20100"), environment(ports="20000-30000"))
    assert (found.path, found.looser, found.tighter) == ("ports", False, False)


def test_a_section_that_is_added_is_judged_by_its_fields() -> None:
    rdma = {"resource": "rdma/hca", "capabilities": ["IPC_LOCK"]}
    found = {setting.path: setting.looser for setting in changed(environment(rdma=None), environment(rdma=rdma))}
    assert found["rdma.capabilities"] is True


def test_what_has_objects_of_its_own_shows_there() -> None:
    queues = {**CLUSTER["queues"], "shared": {"create": False, "capability": {"a800": 8}}}
    other = {**queues, "night": {"weight": 9}, "shared": {"create": False, "capability": {"a800": 16}}}
    before = environment(queues=queues, claims={"data": {"size": "1Ti"}})
    after = environment(queues=other, priority_classes={"urgent": {"value": 9}})
    assert [found.path for found in changed(before, after)] == ["queues.shared.capability.a800"]


def test_the_effect_names_the_fields_with_their_lines() -> None:
    found = reviewed({"limits": {"max_accelerators": 8}}, {"limits": {"max_accelerators": 16}, "ports": "1-9"})
    [effect] = effects(found)
    assert (effect.kind, effect.thing, effect.object) == ("update", "environment", "dev")
    assert effect.sentence == "Changes settings of the environment dev: `ports`, `limits.max_accelerators`."
    path = "environment.limits.max_accelerators"
    place = Place(path=path, file="stacks/experiments/sdxl-lora.yaml", line=len(path))
    assert Change(place=place, before=8, after=16) in effect.causes
    assert [*not_compared(found)] == []


def test_settings_that_are_not_recorded_yet_or_cannot_be_read() -> None:
    recorded = State(environment_inputs(environment()))
    for old, new, said in (
        (State({}), recorded, "The settings of the environment dev are not compared"),
        (State({"name": "dev", "limits": {"unheard_of": 1}}), recorded, "The settings of the environment dev"),
        (State({}), State({}), ""),
        (None, recorded, ""),
    ):
        found = context(others=[step("update", PLATFORM, "dev", old, new)])
        assert [text for text in not_compared(found) if said not in text] == []
        assert bool([*not_compared(found)]) == bool(said)
        assert all_settings(found) == ()


def test_the_namespace_before() -> None:
    assert namespace_before(reviewed({"namespace": {"name": "old"}}, {}).preview) == "old"
    assert namespace_before(context(others=[platform(None, {})]).preview) == ""


@pytest.mark.parametrize(
    ("before", "after", "looser", "tighter"),
    [
        ({}, {"required": True}, False, True),
        ({"required": True}, {}, True, False),
        ({}, {"required": False}, False, False),
        ({"soak": "1h"}, {"soak": "1h", "required": False}, True, False),
    ],
)
def test_whether_stacks_must_follow_releases(before: Any, after: Any, looser: bool, tighter: bool) -> None:
    [setting] = changed(environment(promotion=before), environment(promotion=after))
    assert (setting.path, setting.looser, setting.tighter) == ("promotion.required", looser, tighter)
