"""Objects that trainform did not make, judged by the rules of the environment."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.resources.policy_pack.judging import COMPONENT, ELSEWHERE, GOOD, KINDS, REGISTRY, TODAY, found, raw_objects
from tests.support.samples import environment
from trainform.resources.policy_pack.judgement import Resource, Verdict, cluster_verdict, environment_verdict, verdict
from trainform.resources.policy_pack.properties import UNKNOWN, plain
from trainform.rules.limits.table import RULES

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "spec"]), inner, max_size=2),
    max_leaves=6,
)
OURS = {"app.kubernetes.io/managed-by": "trainform"}


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_is_found_in_every_kind(kind: str) -> None:
    found_in = found("TF-IMG-1", raw_objects(ELSEWHERE)[kind])
    assert len(found_in.messages) == 1
    assert "TF-IMG-1" in found_in.messages[0]
    assert ELSEWHERE not in found_in.messages[0]  # a value of another program may be a secret
    assert found("TF-IMG-1", raw_objects(GOOD)[kind]) == Verdict()


@pytest.mark.parametrize("kind", KINDS)
def test_an_unknown_value_waits_for_the_update(kind: str) -> None:
    found_in = found("TF-IMG-1", raw_objects(UNKNOWN)[kind])
    assert found_in.messages == ()
    assert [place.rpartition(".")[2] for place in found_in.not_known] == ["image"]
    assert found("TF-POD-1", raw_objects(UNKNOWN)[kind]) == Verdict(), "the rule does not read it"


def test_what_is_known_is_judged_next_to_an_unknown_value() -> None:
    body = raw_objects(ELSEWHERE)["batch.volcano.sh/Job"]
    body["spec"]["queue"] = UNKNOWN
    closed = environment(limits={"registries": ["registry.example.com"], "queues": ["default"]})
    assert len(found("TF-IMG-1", body, closed).messages) == 1
    assert found("TF-QUE-1", body, closed) == Verdict(not_known=("spec.queue",))
    body["spec"]["tasks"][0]["template"]["spec"]["tolerations"] = UNKNOWN
    where = environment(tolerations=[{"key": "a", "operator": "Exists"}])
    assert found("TF-PLC-4", body, where).messages == ()


def test_other_kinds_are_not_judged() -> None:
    pod = {"containers": [{"name": "main", "image": ELSEWHERE, "securityContext": {"privileged": True}}]}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": pod}}}
    assert [found(rule.code, body) for rule in RULES] == [Verdict()] * len(RULES)


def test_the_scheduler_and_the_queue_of_a_raw_job() -> None:
    body = raw_objects(GOOD)["batch.volcano.sh/Job"]
    body["spec"]["schedulerName"] = "volcano"
    closed = environment(limits={"queues": ["default"]})
    assert found("TF-PLC-2", body, closed) == Verdict()
    body["spec"] |= {"schedulerName": "default-scheduler", "queue": "night"}
    assert len(found("TF-PLC-2", body, closed).messages) == 1
    [message] = found("TF-QUE-1", body, closed).messages
    assert message.startswith("spec.queue: Jobs wait in queues that experiments may name. ")
    job = Resource("train", body)
    rule = next(rule for rule in RULES if rule.code == "TF-QUE-1")
    assert verdict(rule, job, environment(limits={"queues": ["default"]}), TODAY, frozenset(["night"])) == Verdict()


def test_the_volumes_of_a_volcano_job_are_volumes_of_its_pods() -> None:
    body = raw_objects(GOOD)["batch.volcano.sh/Job"]
    body["spec"]["volumes"] = [{"mountPath": "/runs", "volumeClaimName": "runs"}]
    assert found("TF-POD-2", body) == Verdict()
    assert len(found("TF-POD-2", body, environment(limits={"volume_types": ["emptyDir"]})).messages) == 1


def test_what_a_runtime_may_have_is_not_missing() -> None:
    required = environment(limits={"severity": {"TF-RES-5": "error"}, "queues": ["night"]}, admission="volcano")
    for kind in ("TrainJob", "TrainingRuntime"):
        body = raw_objects(GOOD)[f"trainer.kubeflow.org/{kind}"]
        assert found("TF-QUE-1", body, required) == Verdict()
        assert (found("TF-RES-5", body, required) == Verdict()) is (kind == "TrainJob")


def test_the_environment_of_an_object() -> None:
    def told(metadata: dict[str, Any], parent: str = "") -> tuple[str, ...]:
        body = raw_objects(GOOD)["jobset.x-k8s.io/JobSet"] | {"metadata": metadata}
        return environment_verdict(Resource("train", body, parent), REGISTRY).messages

    assert told({"namespace": "ai-namespace"}) == told({"namespace": UNKNOWN}) == told({}) == ()
    assert "the namespace other" in told({"namespace": "other"})[0]
    labels = OURS | {"trainform.dev/environment": "prod"}
    assert "for the environment prod" in told({"labels": labels}, COMPONENT.format("x"))[0]
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "other"}}
    assert environment_verdict(Resource("x", other), REGISTRY) == Verdict(), "it has no pods"


def test_the_cluster_of_a_provider() -> None:
    where = environment(cluster={"context": "dev-cluster"})
    for settings in ({}, {"context": "dev-cluster"}, {"context": UNKNOWN}, {"namespace": "ai-namespace"}):
        assert cluster_verdict(settings, where) == Verdict()
    assert "the provider has the context prod" in cluster_verdict({"context": "prod"}, where).messages[0]
    assert "the provider has the namespace other" in cluster_verdict({"namespace": "other"}, where).messages[0]


@given(ANY, st.sampled_from(KINDS), st.data())
def test_odd_objects_are_judged_or_refused(value: Any, kind: str, data: st.DataObject) -> None:
    body: Any = copy.deepcopy(raw_objects(GOOD)[kind])
    holder = body
    while isinstance(holder, dict | list) and holder:
        key = data.draw(st.sampled_from(range(len(holder)) if isinstance(holder, list) else sorted(holder)))
        if data.draw(st.booleans()) or not isinstance(holder[key], dict | list):
            holder[key] = value
            break
        holder = holder[key]
    rule = data.draw(st.sampled_from(RULES))
    verdict(rule, Resource("train", plain(body)), REGISTRY, TODAY)
