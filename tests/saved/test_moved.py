"""The differences between the facts of a review and those of now."""

from __future__ import annotations

import copy
from typing import Any, get_args

import pytest

from tests.saved.samples import ENVIRONMENT, EXPERIMENT, JOB_URN, KEY, SOURCE, UID, exported, facts
from trainform.saved.facts import Facts, state_of
from trainform.saved.file import keyed
from trainform.saved.model import Moved, What
from trainform.saved.moved import SENTENCES, moved, moved_backend

OTHER = "0b8e7a52-7a1f-4f6f-8e39-0d0f6a4b8d11"
TOKEN = "hf_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7"


def changed(document: dict[str, Any], edit: Any) -> dict[str, Any]:
    data = copy.deepcopy(document)
    edit(data)
    return data


def differing(found: list[Moved]) -> list[tuple[str, str, object, object]]:
    return [(each.what, each.path, each.was, each.now) for each in found]


def test_nothing_has_moved() -> None:
    assert moved(facts(), facts()) == []
    assert moved_backend(facts(), "s3://states") == []


def test_another_backend_has_no_state_to_compare() -> None:
    assert differing(moved_backend(facts(), "s3://others")) == [("backend", "backend", "s3://states", "s3://others")]
    assert len(moved_backend({}, "s3://others")) == 1


def test_every_fact_has_a_sentence() -> None:
    assert {*SENTENCES} == {*get_args(What)} == {*facts()}


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ({"backend": "s3://others"}, ("backend", "backend", "s3://states", "s3://others")),
        ({"cluster": OTHER}, ("cluster", "cluster.uid", UID, OTHER)),
        ({"policy": {}}, ("policy", "policy/__main__.py", None, None)),
        ({"variable": {}}, ("variable", "PULUMI_K8S_AWAIT_ALL", None, None)),
        ({"engine": "v3.260.0"}, ("engine", "engine", "v3.259.0", "v3.260.0")),
        ({"packs": {"trainform": "0.0.2"}}, ("packs", "trainform", "0.0.1", "0.0.2")),
        (
            {"experiment": changed(EXPERIMENT, lambda data: data["roles"]["node"].update(replicas=16))},
            ("experiment", "roles.node.replicas", 4, 16),
        ),
        ({"experiment": None}, ("experiment", "experiment", "present", None)),
        (
            {"environment": changed(ENVIRONMENT, lambda data: data["limits"].update(max_accelerators=32))},
            ("environment", "environment.limits.max_accelerators", 64, 32),
        ),
        (
            {"program": {"Pulumi.yaml": keyed(KEY, "1"), "stacks/__main__.py": keyed(KEY, "3")}},
            ("program", "stacks/__main__.py", None, None),
        ),
        (
            {"config": {"trainform:experiment": "bert", "trainform:environment": "prod"}},
            ("config", "trainform:experiment", "resnet", "bert"),
        ),
        ({"object": {"Job/resnet-1f3a9c": None}}, ("object", "Job/resnet-1f3a9c", "present", None)),
        (
            {"object": {"Job/resnet-1f3a9c": {"uid": "7d6c", "spec.minAvailable": 2}}},
            ("object", "Job/resnet-1f3a9c: spec.minAvailable", None, 2),
        ),
        (
            {"step": {"Job resnet-job": {"(operation)": "update", "spec": {"replicas": 5}}}},
            ("step", "Job resnet-job: spec.replicas", 4, 5),
        ),
        ({"step": {}}, ("step", "Job resnet-job", "present", None)),
    ],
)
def test_each_fact(now: dict[str, Any], expected: tuple[object, ...]) -> None:
    (found,) = moved(facts(), facts(**now))
    assert differing([found]) == [expected]
    assert found.sentence == SENTENCES[found.what]


def test_a_secret_of_the_config_is_hidden() -> None:
    config = {"trainform:sshSecret": keyed(KEY, {"secure": "v1:abc"})}
    (found,) = moved(facts(config=config), facts(config={"trainform:sshSecret": keyed(KEY, "other")}))
    assert found.path == "trainform:sshSecret"
    assert keyed(KEY, "other") not in found.model_dump_json()


def test_a_program_whose_cluster_no_environment_names_is_not_compared() -> None:
    assert moved(facts(cluster=None), facts()) == []


def test_an_object_that_is_read_only_once_is_not_compared() -> None:
    assert moved(facts(), facts(object={})) == moved(facts(object={}), facts()) == []


def test_a_secret_of_the_experiment_is_named_and_never_shown() -> None:
    before, after = (
        changed(EXPERIMENT, lambda data, token=token: data["roles"]["node"]["env"].update(HF_TOKEN=token))
        for token in (TOKEN, TOKEN[::-1])
    )
    saved = facts(experiment=before)
    assert TOKEN not in saved["experiment"].model_dump_json()
    (found,) = moved(saved, facts(experiment=after))
    assert (found.what, found.path, found.now) == ("experiment", "(a secret)", "[secret, changed]")


def state(data: dict[str, Any]) -> Facts:
    return {**facts(), "state": state_of(data, SOURCE)}


def test_an_up_in_between() -> None:
    found = moved(facts(), state(exported(16, "2026-11-23T10:00:00Z")))
    assert differing(found) == [
        ("state", "written", "2026-11-23T09:14:00Z", "2026-11-23T10:00:00Z"),
        ("state", "resources", None, None),
    ]


def test_an_up_that_was_interrupted() -> None:
    pending = exported()
    pending["deployment"]["pending_operations"] = [{"resource": {"urn": JOB_URN}, "type": "creating"}]
    assert [each.path for each in moved(facts(), state(pending))] == ["pending"]
