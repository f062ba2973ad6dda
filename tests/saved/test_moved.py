"""What has moved since a review, each kind of it in the words of the files."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.saved.samples import (
    ENVIRONMENT,
    EXPERIMENT,
    JOB_URN,
    KEY,
    SOURCE,
    UID,
    exported,
    facts,
    live,
    planned,
)
from trainform.saved.facts import state_of
from trainform.saved.model import Cluster, Document, Facts, Moved, Planned, Setting, Touched
from trainform.saved.moved import moved_facts, moved_objects, moved_packs, moved_place, moved_steps
from trainform.saved.seal import keyed

PART = "urn:pulumi:resnet.prod::trainform::trainform:index:TrainingJob$trainform:index:RoleGroup::resnet-node"
OTHER = "0b8e7a52-7a1f-4f6f-8e39-0d0f6a4b8d11"


def changed(document: dict[str, Any], edit: Any) -> Document:
    data = copy.deepcopy(document)
    edit(data)
    return SOURCE.document(data)


def told(found: list[Moved]) -> list[tuple[str, str, object, object]]:
    return [(each.what, each.path, each.was, each.now) for each in found]


def test_nothing_has_moved() -> None:
    assert moved_facts(facts(), facts()) == []
    assert moved_place(facts(), "s3://states") == []
    assert moved_steps([planned()], [planned()]) == []
    assert moved_objects([live()], [live()]) == []


def cluster(uid: str) -> Cluster:
    return Cluster(context="other-name", server="https://10.0.0.2:6443", uid=uid)


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ({"backend": "s3://others"}, ("backend", "backend", "s3://states", "s3://others")),
        ({"project": "vision"}, ("backend", "name", "trainform", "vision")),
        ({"cluster": cluster(OTHER)}, ("cluster", "cluster.uid", UID, OTHER)),
        ({"cluster": None}, ("cluster", "cluster.uid", UID, None)),
        ({"policy": {}}, ("policy", "PULUMI_OPTION_POLICY_PACK", None, None)),
        ({"policy": {"policy/__main__.py": "4"}}, ("policy", "policy/__main__.py", None, None)),
        ({"variables": {}}, ("variable", "PULUMI_K8S_AWAIT_ALL", None, None)),
        ({"engine": "v3.260.0"}, ("engine", "pulumi", "v3.259.0", "v3.260.0")),
        ({"trainform": "0.2.0"}, ("trainform", "trainform", "0.1.0", "0.2.0")),
        (
            {"experiment": changed(EXPERIMENT, lambda data: data["roles"]["node"].update(replicas=16))},
            ("experiment", "roles.node.replicas", 4, 16),
        ),
        (
            {"experiment": changed(EXPERIMENT, lambda data: data["roles"]["node"]["env"].update(NCCL_DEBUG="INFO"))},
            ("experiment", "roles.node.env.NCCL_DEBUG", "WARN", "INFO"),
        ),
        (
            {"environment": changed(ENVIRONMENT, lambda data: data["limits"].update(max_accelerators=32))},
            ("environment", "environment.limits.max_accelerators", 64, 32),
        ),
        (
            {"program": {"Pulumi.yaml": keyed(KEY, "1"), "stacks/__main__.py": keyed(KEY, "3")}},
            ("program", "stacks/__main__.py", None, None),
        ),
        ({"program": {"Pulumi.yaml": keyed(KEY, "1")}}, ("program", "stacks/__main__.py", None, None)),
        (
            {"state": state_of(exported(time="2026-11-23T10:00:00Z"), SOURCE)},
            ("state", "written", "2026-11-23T09:14:00Z", "2026-11-23T10:00:00Z"),
        ),
    ],
)
def test_each_fact(now: dict[str, Any], expected: tuple[object, ...]) -> None:
    assert told(moved_facts(facts(), facts(**now))) == [expected]


def test_the_packs_that_have_judged_the_preview() -> None:
    assert moved_packs({"trainform": "0.0.1"}, {"trainform": "0.0.1"}) == []
    found = moved_packs({"trainform": "0.0.1", "calendar": "2"}, {"trainform": "0.0.2", "costs": "1"})
    assert told(found) == [
        ("policy", "trainform", "0.0.1", "0.0.2"),
        ("policy", "calendar", "2", None),
        ("policy", "costs", None, "1"),
    ]


def test_the_same_cluster_by_another_context_and_address_has_not_moved() -> None:
    assert moved_facts(facts(), facts(cluster=cluster(UID))) == []


def test_a_program_whose_cluster_no_environment_names_is_not_compared() -> None:
    assert moved_facts(facts(cluster=None), facts()) == []


@pytest.mark.parametrize(
    ("was", "now", "sentence"),
    [
        (SOURCE.document(EXPERIMENT), None, "The experiment says something else: it is not there, or cannot be read."),
        (
            None,
            SOURCE.document(EXPERIMENT),
            "The experiment says something else: it was not there, or could not be read.",
        ),
    ],
)
def test_an_experiment_that_cannot_be_read(was: Document | None, now: Document | None, sentence: str) -> None:
    (found,) = moved_facts(facts(experiment=was), facts(experiment=now))
    assert (found.path, found.was, found.now, found.sentence) == ("experiment", None, None, sentence)


def test_a_secret_of_the_experiment_is_named_and_never_told() -> None:
    token = "hf_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7"
    before = changed(EXPERIMENT, lambda data: data["roles"]["node"]["env"].update(HF_TOKEN=token))
    after = changed(EXPERIMENT, lambda data: data["roles"]["node"]["env"].update(HF_TOKEN=token[::-1]))
    assert token not in before.model_dump_json()
    (found,) = moved_facts(facts(experiment=before), facts(experiment=after))
    assert (found.what, found.now) == ("experiment", "[secret, changed]")
    assert found.sentence == "The experiment says something else where it holds a secret."


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        ({"trainform:experiment": ("bert", "bert")}, ("trainform:experiment", "resnet", "bert")),
        (
            {"trainform:release": ("0123456789abcdef0123", "0123456789abcdef0123")},
            ("trainform:release", None, "0123456789abcdef0123"),
        ),
        ({"trainform:sshSecret": ({"secure": "v1:abc"}, None)}, ("trainform:sshSecret", None, None)),
    ],
)
def test_the_config_by_its_keys(edit: dict[str, tuple[Any, str | None]], expected: tuple[object, ...]) -> None:
    config = {key: Setting(hash=keyed(KEY, value), shown=shown) for key, (value, shown) in edit.items()}
    (found,) = moved_facts(facts(), facts(config={**facts().config, **config}))
    assert (found.path, found.was, found.now) == expected


def test_an_up_in_between_is_told_in_the_words_of_the_experiment() -> None:
    now = facts(state=state_of(exported(16, "2026-11-23T10:00:00Z"), SOURCE))
    found = moved_facts(facts(), now)
    assert told(found)[:-1] == [("deployed", "roles.node.replicas", 4, 16)]
    assert [each.sentence for each in found] == [
        "Something else is deployed of resnet.",
        "The state was written since the review: by an `up`, a `refresh`, an `import` or a `destroy`.",
    ]


def test_a_resource_without_a_record_moves_the_state() -> None:
    now = exported()
    now["deployment"]["resources"].append({"urn": PART, "type": PART.split("::")[2]})
    (found,) = moved_facts(facts(), facts(state=state_of(now, SOURCE)))
    assert (found.what, found.path) == ("state", "written")


def test_a_component_is_told_where_none_of_its_objects_is_another() -> None:
    part, other = planned(PART, fields={"replicas": 4}), planned(PART, fields={"replicas": 5})
    assert {each.path for each in moved_steps([part], [other])} == {"resnet-node: fields.replicas"}
    found = moved_steps([part, planned()], [other, planned(spec={"replicas": 5})])
    assert {each.path for each in found} == {"resnet-job: spec.replicas"}


def test_an_up_that_was_interrupted() -> None:
    pending = exported()
    pending["deployment"]["pending_operations"] = [{"resource": {"urn": JOB_URN}, "type": "creating"}]
    found = moved_facts(facts(), facts(state=state_of(pending, SOURCE)))
    assert "A `pulumi up` was interrupted." in [each.sentence for each in found]


# --- objects


@pytest.mark.parametrize(
    ("was", "now", "sentence"),
    [
        (live(), live(uid="8e7d"), "Job resnet-1f3a9c was deleted and made anew in the cluster."),
        (live(), live(uid=""), "Job resnet-1f3a9c is gone in the cluster."),
        (live(uid=""), live(), "Job resnet-1f3a9c was made in the cluster."),
        (
            live(),
            live(fields={"spec.minAvailable": 2}),
            "Job resnet-1f3a9c was changed in the cluster by somebody else.",
        ),
        (
            live(fields={"spec.minAvailable": None}),
            live(),
            "Job resnet-1f3a9c was changed in the cluster by somebody else.",
        ),
    ],
)
def test_each_change_of_an_object(was: Touched, now: Touched, sentence: str) -> None:
    (found,) = moved_objects([was], [now])
    assert (found.what, found.sentence) == ("object", sentence)


def test_what_moves_by_itself_in_an_object_has_not_moved() -> None:
    """A controller writes the object too, and what differed when it was reviewed was reviewed."""
    assert moved_objects([live(fields={"spec.x": 1})], [live(fields={"spec.x": 1})]) == []


# --- steps


def test_a_value_of_a_step() -> None:
    (found,) = moved_steps([planned()], [planned(spec={"replicas": 5})])
    assert (found.what, found.path, found.was, found.now) == ("step", "resnet-job: spec.replicas", 4, 5)


@pytest.mark.parametrize(
    ("was", "now", "operations"),
    [
        ([planned()], [planned(operation="replace")], ("update", "replace")),
        ([planned()], [], ("update", None)),
        ([], [planned(operation="create")], (None, "create")),
    ],
)
def test_another_operation(was: list[Planned], now: list[Planned], operations: tuple[str | None, str | None]) -> None:
    (found,) = moved_steps(was, now)
    assert (found.path, found.was, found.now) == ("resnet-job", *operations)
    assert found.sentence == "The engine would do something else to Job resnet-job."


def test_a_newer_provider() -> None:
    urn = "urn:pulumi:resnet.prod::trainform::trainform:index:TrainingJob$pulumi:providers:kubernetes::resnet-cluster"
    for operation in ("create", "update"):
        now = planned(urn, operation, version="4.32.0")
        found = moved_steps([planned(urn, "create", version="4.25.0")], [now])
        assert told(found)[0] == ("provider", "resnet-cluster: version", "4.25.0", "4.32.0")


def test_a_record_is_told_by_what_it_holds() -> None:
    """The steps of the components have the same in the words of the files."""

    def record(text: str, name: str) -> Planned:
        data = {"revision": "1", "job": "j", "experiment": text, "environment": "{}"}
        return planned(JOB_URN.replace("resnet-job", "resnet-deployed"), data=data, metadata={"name": name})

    (found,) = moved_steps([record("{}", "a")], [record('{"name": "x"}', "b")])
    assert found.path == "resnet-deployed: metadata.name"
    (alone,) = moved_steps([record("{}", "a")], [record('{"name": "x"}', "a")])
    assert alone.path == "resnet-deployed: data.experiment"


def test_every_fact_is_compared() -> None:
    """A new fact must be compared too. The stack is the one that the file names."""
    others: dict[str, Any] = {
        "backend": "",
        "project": "",
        "engine": "",
        "trainform": "",
        "cluster": None,
        "config": {},
        "program": {},
        "policy": {},
        "variables": {},
    }
    others |= {"experiment": None, "environment": None, "state": state_of({}, SOURCE)}
    assert {*others, "stack"} == {*Facts.model_fields}
    for field, value in others.items():
        assert moved_facts(facts(), facts(**{field: value})), field
