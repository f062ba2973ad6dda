"""The differences between the facts of a review and those of now."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from tests.stacks.saved.samples import JOB_URN, KEY, SOURCE, UID, exported, facts, steps
from trainform.stacks.saved.changed_facts import SENTENCES, changed_facts
from trainform.stacks.saved.file import keyed
from trainform.stacks.saved.gather import state_of
from trainform.stacks.saved.saved_review import Change, FactKind

OTHER = "0b8e7a52-7a1f-4f6f-8e39-0d0f6a4b8d11"


def differing(found: list[Change]) -> list[tuple[str, str, object, object]]:
    return [(each.what, each.path, each.was, each.now) for each in found]


def test_nothing_has_moved() -> None:
    assert changed_facts(facts(), facts()) == []


def test_every_fact_has_a_sentence() -> None:
    assert {*SENTENCES} == {*get_args(FactKind)} == {*facts()}


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ({"backend": "s3://others"}, ("backend", "backend", "s3://states", "s3://others")),
        ({"cluster": OTHER}, ("cluster", "cluster", UID, OTHER)),
        ({"variable": {}}, ("variable", "PULUMI_K8S_AWAIT_ALL", None, None)),
        (
            {"versions": {"pulumi": "v3.260.0", "trainform": "0.1.0"}},
            ("versions", "pulumi", "v3.259.0", "v3.260.0"),
        ),
        (
            {"config": {**facts()["config"], "trainform:experiment": "bert"}},
            ("config", "trainform:experiment", "resnet", "bert"),
        ),
        (
            {"config": {**facts()["config"], "trainform:sshSecret": keyed(KEY, "2")}},
            ("config", "trainform:sshSecret", None, None),
        ),
        ({"object": {"Job/resnet-1f3a9c": None}}, ("object", "Job/resnet-1f3a9c", "present", None)),
        (
            {"object": {"Job/resnet-1f3a9c": {"uid": "7d6c", "phase": "pending", "spec.minAvailable": 2}}},
            ("object", "Job/resnet-1f3a9c: spec.minAvailable", None, 2),
        ),
        (
            {"object": {"Job/resnet-1f3a9c": {"uid": "7d6c", "phase": "running"}}},
            ("object", "Job/resnet-1f3a9c: phase", "pending", "running"),
        ),
        ({"step": steps({}, {"spec": {"replicas": 5}})}, ("step", "Job resnet-job: spec.replicas", 4, 5)),
        (
            {"step": {key: each for key, each in facts()["step"].items() if key != "Job resnet-job"}},
            ("step", "Job resnet-job", "present", None),
        ),
        (
            {"step": steps({"env": {"LETTER": "WARN"}}, {"spec": {"replicas": 5}})},
            ("step", "TrainingJob resnet: env", None, "present"),
        ),
    ],
)
def test_each_fact(now: dict[str, Any], expected: tuple[object, ...]) -> None:
    (found,) = changed_facts(facts(), facts(**now))
    assert differing([found]) == [expected]
    assert found.sentence == SENTENCES[found.what]


def test_a_program_whose_cluster_no_environment_names_is_not_compared() -> None:
    saved = facts()
    del saved["cluster"]
    assert changed_facts(saved, facts()) == []


def test_an_object_that_is_read_only_once_is_not_compared() -> None:
    assert changed_facts(facts(), facts(object={})) == changed_facts(facts(object={}), facts()) == []


def test_an_up_in_between() -> None:
    now = state_of(exported(16, "2026-11-23T10:00:00Z"), SOURCE)
    assert differing(changed_facts(facts(), facts(state=now))) == [
        ("state", "written", "2026-11-23T09:14:00Z", "2026-11-23T10:00:00Z"),
        ("state", "resources", None, None),
    ]


def test_an_up_that_was_interrupted() -> None:
    pending = exported()
    pending["deployment"]["pending_operations"] = [{"resource": {"urn": JOB_URN}, "type": "creating"}]
    found = changed_facts(facts(), facts(state=state_of(pending, SOURCE)))
    assert [each.path for each in found] == ["pending"]
