"""Objects that trainform did not make, judged by the rules of the environment."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.policy_pack.judging import COMPONENT, ELSEWHERE, GOOD, KINDS, REGISTRY, TODAY, found, pod
from tests.policy_pack.raw import raw_objects
from tests.support.samples import environment
from trainform.backends.pods import pods_of
from trainform.check_files import check_environment
from trainform.check_platform import check_platform
from trainform.manifests.manifest import resource_name
from trainform.policy_pack.judgement import (
    Brought,
    Resource,
    Verdict,
    cluster_verdict,
    environment_verdict,
    unseen,
    verdict,
)
from trainform.policy_pack.properties import plain
from trainform.policy_pack.unknown import UNKNOWN, PartlyKnown
from trainform.rules.limits.table import BY_CODE, RULES

ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(
        ["spec", "metadata", "template", "containers", "initContainers", "name", "image", "labels", "tasks", "resources",
         "limits", "securityContext", "volumes", "replicas", "ports", "hostPort"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(spec=ANY, kind=st.sampled_from(KINDS))
def test_no_shape_ends_in_a_traceback(spec: Any, kind: str) -> None:
    group, _, name = kind.rpartition("/")
    body = plain({"apiVersion": f"{group}/v1".lstrip("/"), "kind": name, "metadata": {"name": "x"}, "spec": spec})
    for rule in RULES:
        verdict(rule, Resource("train", body), REGISTRY, TODAY, Brought())
    environment_verdict(Resource("train", body), REGISTRY)


@pytest.mark.parametrize("kind", ["batch.volcano.sh/Job", "batch.volcano.sh/CronJob", "flow.volcano.sh/JobTemplate"])
def test_every_kind_with_a_job_of_volcano_counts_its_pods_and_names_its_queue(kind: str) -> None:
    body = raw_objects(GOOD)[kind]
    [pods] = pods_of(body)
    assert (pods.template.replicas, pods.template.min_available) == (2, 2)
    spec = body["spec"].get("jobTemplate", body)["spec"] if "jobTemplate" in body["spec"] else body["spec"]
    closed = environment(limits={"queues": ["default"], "priority_classes": ["low"]})
    assert found("TF-QUE-1", body, closed) == Verdict()
    spec |= {"queue": "night", "priorityClassName": "high", "schedulerName": "volcano"}
    assert len(found("TF-QUE-1", body, closed).found) == 1
    assert len(found("TF-PRI-1", body, closed).found) == 1
    assert found("TF-PLC-2", body, closed) == Verdict()


def test_a_daemon_set_has_a_pod_on_every_node() -> None:
    asking = {"limits": {"baidu.com/a800_80g_cgpu": 8}}
    body = raw_objects(GOOD)["apps/DaemonSet"]
    body["spec"]["template"]["spec"]["containers"][0]["resources"] = asking
    assert found("TF-RES-2", body, environment(limits={"max_accelerators": 64})) == Verdict()
    [message] = found("TF-RES-2", body, environment(limits={"max_accelerators": 63})).found
    assert "64 accelerators" in message


def test_a_parent_opens_no_queue() -> None:
    closed = environment(limits={"queues": ["default"]})
    body = raw_objects(GOOD)["batch.volcano.sh/Job"]
    for queue in ("night", "of-another-experiment"):
        body["spec"]["queue"] = queue
        assert len(found("TF-QUE-1", body, closed, parent=COMPONENT.format("train")).found) == 1


@pytest.mark.parametrize(("own", "patch", "opened"), [(True, False, True), (True, True, False), (False, False, False)])
def test_a_queue_that_the_stack_brings_is_open_to_its_jobs(own: bool, patch: bool, opened: bool) -> None:
    """Where the environment lets stacks bring queues, and the stack makes it: a patch changes one of somebody else."""
    cluster = environment(limits={"queues": ["default"], "own_queues": own})
    brought, body = Brought(), raw_objects(GOOD)["batch.volcano.sh/Job"]
    body["spec"]["queue"] = "sdxl"
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": {"name": "sdxl"}}
    brought.add(Resource("queue", queue, is_patch=patch))
    said = verdict(BY_CODE["TF-QUE-1"], Resource("train", body), cluster, TODAY, brought)
    assert (said == Verdict()) is opened


def test_a_queue_whose_name_is_not_known_yet_is_none() -> None:
    brought = Brought()
    metadata = PartlyKnown({"name": UNKNOWN}, ("metadata",))
    body = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "metadata": metadata}
    brought.add(Resource("queue", body))
    assert brought.queues == set()


def test_an_object_below_a_component_shows_no_value_unless_the_component_made_it() -> None:
    """A program may put its own objects below a component, and give them secrets."""
    [message] = found("TF-IMG-1", pod(image=ELSEWHERE), parent=COMPONENT.format("train")).found
    assert ELSEWHERE not in message
    body = pod(image=ELSEWHERE)
    body["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "trainform"}
    [message] = found("TF-IMG-1", body, parent=COMPONENT.format("train")).found
    assert ELSEWHERE in message


@pytest.mark.parametrize(("field", "own"), [("context", "dev-cluster"), ("namespace", "ai-namespace")])
def test_a_provider_of_another_cluster_or_namespace_does_not_pass(field: str, own: str) -> None:
    cluster = environment(cluster={"context": "dev-cluster"})
    given = {"context": "dev-cluster"}
    assert cluster_verdict(given | {field: own}, cluster) == Verdict()
    [message] = cluster_verdict(given | {field: "prod"}, cluster).found
    assert f"the {field} prod" in message
    assert own in message
    unknown = PartlyKnown(given | {field: UNKNOWN}, ())
    assert cluster_verdict(unknown, cluster).not_known == (f"{field} is known only at `pulumi up`",)


def test_a_provider_without_a_context_is_told() -> None:
    [told] = cluster_verdict({}, environment(cluster={"context": "dev-cluster"})).elsewhere
    assert "dev-cluster" in told
    assert cluster_verdict({}, environment()) == Verdict()
    assert cluster_verdict({"context": "any"}, environment()) == Verdict()


@pytest.mark.parametrize("kind", ["hostPath", "local"])
def test_a_persistent_volume_is_no_way_to_a_path_of_the_node(kind: str) -> None:
    body = {"apiVersion": "v1", "kind": "PersistentVolume", "spec": {kind: {"path": "/etc"}}}
    assert len(found("TF-POD-2", body).found) == 1
    assert found("TF-POD-2", body, environment(limits={"host_paths": ["/etc"]})) == Verdict()


REPLICA_SPECS = [
    ("kubeflow.org/v1", "JAXJob", "jaxReplicaSpecs"), ("kubeflow.org/v1", "XGBoostJob", "xgbReplicaSpecs"),
    ("training.kubedl.io/v1alpha1", "XDLJob", "xdlReplicaSpecs"), ("training.kubedl.io/v1alpha1", "MPIJob", "mpiReplicaSpecs"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "kind", "field"), REPLICA_SPECS)
def test_jobs_of_kinds_that_trainform_does_not_render_name_queues_too(version: str, kind: str, field: str) -> None:
    policy = {"queue": "night", "priorityClass": "high", "priorityClassName": "high"}
    pods = {"Worker": {"replicas": 1, "template": {"spec": {"containers": [{"name": "a", "image": GOOD}]}}}}
    spec = {field: pods, "schedulingPolicy": policy, "runPolicy": {"schedulingPolicy": policy}}
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec}
    closed = environment(limits={"queues": ["default"], "priority_classes": ["low"]})
    assert len(found("TF-QUE-1", body, closed).found) == 1
    assert len(found("TF-PRI-1", body, closed).found) == 1


@pytest.mark.parametrize(("metrics", "broken"), [([{"type": "Resource"}], True), (None, False)])
def test_workers_that_the_operator_may_add_count(metrics: Any, broken: bool) -> None:
    body = raw_objects(GOOD)["kubeflow.org/PyTorchJob"]
    worker = body["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    worker["resources"] = {"limits": {"baidu.com/a800_80g_cgpu": 8}}
    body["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 5, "metrics": metrics}
    assert bool(found("TF-RES-2", body, environment(limits={"max_accelerators": 32})).found) is broken


def test_the_annotation_of_kubedl_is_the_host_network() -> None:
    body = raw_objects(GOOD)["training.kubedl.io/PyTorchJob"]
    closed = environment(limits={})
    assert found("TF-NET-1", body, closed) == Verdict()
    body["metadata"]["annotations"] = {"kubedl.io/network-mode": "host"}
    assert len(found("TF-NET-1", body, closed).found) == 1


def test_what_another_object_has_of_the_pods_is_told() -> None:
    body = raw_objects(GOOD)["trainer.kubeflow.org/TrainJob"]
    body["spec"]["trainer"] = {"numNodes": 100}
    [told] = unseen(Resource("train", body))
    assert told == "the pods are held to no rule as far as another object has them"
    body["spec"]["trainer"] = {"image": GOOD}
    [told] = unseen(Resource("train", body))
    assert told == "the pods are held to no rule as far as the runtime torch has them"
    body["metadata"]["labels"] = {"app.kubernetes.io/managed-by": "trainform"}
    assert not [*unseen(Resource("train", body, COMPONENT.format("train")))]
    scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 100}}
    assert [*unseen(Resource("train", scaled, is_patch=True))]
    assert not [*unseen(Resource("train", raw_objects(GOOD)["apps/Deployment"]))]


def test_what_is_nested_too_deep_is_a_finding() -> None:
    deep: Any = "end"
    for _ in range(3000):
        deep = {"a": deep}
    body = {"apiVersion": "example.com/v1", "kind": "Runner", "metadata": {"name": "train"}, "spec": deep}
    assert all(verdict(rule, Resource("train", body), REGISTRY, TODAY, Brought()).found for rule in RULES)
    assert environment_verdict(Resource("train", body), REGISTRY).found


def test_a_patch_with_a_toleration_of_every_taint_is_a_finding() -> None:
    """The place of an item in a list is a place that is there."""
    body = raw_objects(GOOD)["apps/Deployment"]
    body["spec"]["template"]["spec"]["tolerations"] = [{"operator": "Exists"}]
    assert len(found("TF-PLC-5", body, is_patch=True).found) == 1


def test_a_kind_called_secret_of_another_group_is_no_secret_of_kubernetes() -> None:
    data = {"metadata": {"name": "train"}, "data": {"password": "hunter2-of-mine"}}
    assert found("TF-SEC-1", {"apiVersion": "example.com/v1", "kind": "Secret", **data}).found
    assert not found("TF-SEC-1", {"apiVersion": "v1", "kind": "Secret", **data}).found


def test_a_negative_number_of_pods_takes_nothing_from_the_sum() -> None:
    def spec(replicas: int) -> dict[str, Any]:
        asked = {"limits": {"baidu.com/a800_80g_cgpu": 8}}
        return {
            "replicas": replicas,
            "template": {"spec": {"containers": [{"name": "main", "image": GOOD, "resources": asked}]}},
        }

    specs = {"Worker": spec(100), "Master": spec(-99)}
    body = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "train"},
        "spec": {"pytorchReplicaSpecs": specs},
    }
    assert found("TF-RES-2", body, environment(limits={"max_accelerators": 16})).found


def test_an_object_in_another_namespace_does_not_pass() -> None:
    """Whoever chose an environment with wide limits could apply them to the namespaces of all others."""
    body = {**raw_objects(GOOD)["batch/Job"], "metadata": {"name": "train", "namespace": "kube-system"}}
    [message] = environment_verdict(Resource("train", body), REGISTRY).found
    assert "kube-system" in message
    body["metadata"] = {"name": "train", "namespace": REGISTRY.namespace.name}
    assert environment_verdict(Resource("train", body), REGISTRY) == Verdict()
    body["metadata"] = PartlyKnown({"name": "train", "namespace": UNKNOWN}, ("metadata",))
    assert environment_verdict(Resource("train", body), REGISTRY).not_known


def test_an_object_of_a_list_in_another_namespace_does_not_pass() -> None:
    item = {"metadata": {"name": "train", "namespace": "kube-system"}}
    body = {"apiVersion": "v1", "kind": "ConfigMapList", "items": [item]}
    [message] = environment_verdict(Resource("all", body), REGISTRY).found
    assert "kube-system" in message
    item["metadata"]["namespace"] = REGISTRY.namespace.name
    assert environment_verdict(Resource("all", body), REGISTRY) == Verdict()


def test_the_namespace_that_the_provider_writes_into_objects_of_the_cluster_is_none() -> None:
    """The environment's own stack changes a queue that is there, and the provider gives the patch its default namespace."""
    for manifest in check_platform("dev").checked().manifests:
        body = copy.deepcopy(manifest.body)
        if manifest.key == "queue-default":
            assert manifest.patch
            body["metadata"]["namespace"] = "default"
        resource = Resource(resource_name("dev", manifest), body, COMPONENT.format("dev"), manifest.patch)
        assert environment_verdict(resource, check_environment("dev").checked()) == Verdict()
