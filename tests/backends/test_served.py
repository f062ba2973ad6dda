"""Patches that the API server or the operator would refuse, or drop: told at their place, with the fix."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.generators import experiments
from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment, plan, reasons
from tests.support.wrong_patches import WRONG, in_main
from trainform.backends import served as of_backends
from trainform.backends.served import object_types, object_values
from trainform.backends.table import BACKENDS
from trainform.defaults import ROLE_LABEL
from trainform.errors import Problem
from trainform.manifests.served.validation import EVERYTHING, kubernetes, read
from trainform.objects import job_manifests
from trainform.render import render_job

STORAGE = {"data": {"claim": "datasets", "mount": "/data"}}
OPEN = environment(limits={"host_network": True, "pod_security": "privileged"})


def of_pods(spec: Any, backend: str = "volcano", **parts: Any) -> list[Problem]:
    roles = {"master": {}, "worker": {"replicas": 2, "pod_overrides": {"spec": spec}}}
    return job_problems(experiment(roles=roles, backend=backend, storage=STORAGE, **parts), OPEN)


@pytest.mark.parametrize(("spec", "path", "fix"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_patches_of_pods(spec: dict[str, Any], path: str, fix: str) -> None:
    problems = [problem for problem in of_pods(spec) if not problem.code]
    assert [problem.path for problem in problems] == [f"roles.worker.pod_overrides.spec.{path}"]
    assert problems[0].fix.startswith(fix)


@pytest.mark.parametrize(
    "spec",
    [
        {"terminationGracePeriodSeconds": 600, "nodeSelector": {"example.com/pool": "a"}},
        in_main(resources={"requests": {"cpu": "500m"}, "limits": {"cpu": 1}}, workingDir="/app"),
        {"tolerations": [{"key": "pool", "operator": "Exists"}], "dnsConfig": {"nameservers": ["10.0.0.10"]}},
        {"volumes": {"scratch": {"emptyDir": {"sizeLimit": "1e3"}}}} | in_main(volumeMounts={"scratch": {"mountPath": "/scratch"}}),
        {"containers": {"log": {"image": "registry.example.com/ai/log:1", "ports": [{"containerPort": 80}]}}},
        in_main(lifecycle={"preStop": {"exec": {"command": ["sync"]}}}, livenessProbe={"tcpSocket": {"port": 8080}}),
        in_main(ports=[{"name": "http", "containerPort": 8080}], livenessProbe={"tcpSocket": {"port": "http"}}),
    ],
    ids=str,
)  # fmt: skip
def test_patches_that_the_server_takes(backend: str, spec: dict[str, Any]) -> None:
    assert of_pods(spec, backend) == []


@pytest.mark.parametrize(
    ("backend", "role", "container", "accepted"),
    [
        ("kubeflow", "Worker", "pytorch", True),
        ("kubeflow", "Worker", "side", False),
        ("kubedl", "Master", "pytorch", True),
        ("kubedl", "Worker", "pytorch", False),
    ],
)
def test_a_port_is_added_to_the_main_container_of_some_roles(
    backend: str, role: str, container: str, accepted: bool
) -> None:
    probe = {"livenessProbe": {"tcpSocket": {"port": "pytorchjob-port"}}}
    side = {} if container == "pytorch" else {"image": "registry.example.com/ai/log:1"}
    pods = {"template": {"spec": {"containers": {container: side | probe}}}}
    overrides = {"job": {"spec": {"pytorchReplicaSpecs": {role: pods}}}}
    roles = {"master": {}, "worker": {"replicas": 2}}
    found = job_problems(experiment(backend=backend, roles=roles, manifest_overrides=overrides), OPEN)
    assert [problem.reason.partition(",")[0] for problem in found] == (
        [] if accepted else ["the container has no port of this name"]
    )


def test_a_sidecar_has_no_port_that_the_operator_adds_to_main() -> None:
    side = {"image": "registry.example.com/ai/log:1", "livenessProbe": {"httpGet": {"port": "pytorchjob-port"}}}
    (problem,) = of_pods({"containers": {"side": side}}, "kubeflow")
    assert problem.path == "roles.worker.pod_overrides.spec.containers.side.livenessProbe.httpGet.port"


@pytest.mark.parametrize("backend", ["volcano", "jobset", "trainer"])
@pytest.mark.parametrize(
    ("main", "refused"),
    [
        ({"ports": {"metrics": {"containerPort": 9100}}}, ""),
        ({"ports": {"rendezvous": {"protocol": "TCP"}}}, "ports.rendezvous.containerPort"),
        ({"livenessProbe": {"tcpSocket": {"port": "rendezvous"}}}, "livenessProbe.tcpSocket.port"),
    ],
    ids=str,
)
def test_a_patch_is_right_for_each_replica_with_ports_of_its_own(
    backend: str, main: dict[str, Any], refused: str
) -> None:
    """The replica of rank 0 alone has the port `rendezvous`."""
    worker = {"replicas": 2, "pod_overrides": {"spec": in_main(**main)}}
    network = {"host": True, "ports": "per-replica"}
    found = job_problems(experiment(backend=backend, network=network, roles={"worker": worker}), OPEN)
    where = f"roles.worker.pod_overrides.spec.containers.main.{refused}"
    assert [problem.path for problem in found] == ([where] if refused else [])


@pytest.mark.parametrize(
    ("role", "path"),
    [
        ({"annotations": {"kubernetes.io/config.mirror": "x"}}, "roles.worker.annotations.kubernetes.io/config.mirror"),
        ({}, "storage.data.mount"),
    ],
    ids=["annotation", "mount"],
)
@pytest.mark.parametrize("patched", ["pod_overrides", "manifest_overrides"])
def test_what_a_field_says_is_not_told_at_a_patch(role: dict[str, Any], path: str, patched: str) -> None:
    storage = {"data": {"claim": "datasets", "mount": "/data" if role else "/" + "a" * 256}}
    pods = {"spec": in_main(workingDir="/app") | {"enableServiceLinks": False}}
    roles: dict[str, Any] = {"worker": {"replicas": 2, **role}}
    overrides = {"job": {"spec": {"tasks": {"worker": {"template": pods}}}}}
    if patched == "pod_overrides":
        roles["worker"]["pod_overrides"], overrides = pods, {}
    found = job_problems(experiment(roles=roles, manifest_overrides=overrides, storage=storage), OPEN)
    assert [problem.path for problem in found] == [path]


def probed(port: str) -> dict[str, Any]:
    """A patch of pods by which their kubelet asks at a port of this name."""
    hook = {"postStart": {"httpGet": {"port": port}}}
    return in_main(livenessProbe={"tcpSocket": {"port": port}}, lifecycle=hook)


@pytest.mark.parametrize(
    ("backend", "role", "host", "port", "in_pods"),
    [
        ("kubeflow", "master", False, "rendezvous", "pytorchjob-port"),
        ("kubeflow", "master", False, "pytorchjob-port", "pytorchjob-port"),
        ("kubeflow", "worker", False, "pytorchjob-port", "pytorchjob-port"),
        ("kubedl", "master", False, "rendezvous", "pytorchjob-port"),
        ("kubedl", "worker", True, "pytorchjob-port", "pytorchjob-port"),
        ("kubedl", "worker", False, "pytorchjob-port", None),
        ("volcano", "master", False, "rendezvous", "rendezvous"),
        ("volcano", "worker", False, "rendezvous", None),
    ],
)
def test_a_probe_asks_at_a_port_that_the_pods_have(
    backend: str, role: str, host: bool, port: str, in_pods: str | None
) -> None:
    """in_pods: the name of the port in the pods that the operator makes; None: they have no such port."""
    roles: dict[str, Any] = {"master": {}, "worker": {"replicas": 2}}
    roles[role]["pod_overrides"] = {"spec": probed(port)}
    given: dict[str, Any] = {"roles": roles, "backend": backend, "network": {"host": host}}
    problems = job_problems(experiment(**given), OPEN)
    main = f"roles.{role}.pod_overrides.spec.containers.main"
    refused = [f"{main}.livenessProbe.tcpSocket.port", f"{main}.lifecycle.postStart.httpGet.port"]
    assert [problem.path for problem in problems] == ([] if in_pods is not None else refused)
    if in_pods is None:
        return
    planned = plan(cluster=OPEN, **given)
    pods, _ = BACKENDS[backend].pods(planned, job_manifests(planned))
    (container, *_), *_ = [pod["spec"]["containers"] for pod in pods if pod["metadata"]["labels"][ROLE_LABEL] == role]
    assert container["livenessProbe"]["tcpSocket"]["port"] == in_pods
    assert container["lifecycle"]["postStart"]["httpGet"]["port"] == in_pods
    assert in_pods in [declared["name"] for declared in container["ports"]]


@pytest.mark.parametrize(
    ("patch", "path", "fix"),
    [
        ({"spec": {"maxRetyr": 5}}, "spec.maxRetyr", "write maxRetry, or remove it"),
        ({"spec": {"maxRetry": "often"}}, "spec.maxRetry", "write a whole number"),
        ({"spec": {"maxRetry": 2**31}}, "spec.maxRetry", "write 2147483647 or less"),
        ({"spec": {"tasks": {"worker": {"topologyPolicy": "besteffort"}}}}, "spec.tasks.worker.topologyPolicy", "write best-effort"),
        ({"spec": {"tasks": {"worker": {"template": {"spec": {"nodeSelecter": {}}}}}}}, "spec.tasks.worker.template.spec.nodeSelecter", "write nodeSelector"),
        ({"spec": {"tasks": {"worker": {"template": {"spec": {"dnsPolicy": "None"}}}}}}, "spec.tasks.worker.template.spec.dnsPolicy", "add `dnsConfig"),
        ({"status": {"state": {"phase": "Completed"}}}, "status", "remove it"),
        ({"metadata": {"annotations": {"example.com/notes": "x" * 300_000}}}, "metadata.annotations", "put large values into a ConfigMap"),
        ({"metadata": {"labels": {"example.com/team": "a b"}}}, "metadata.labels.example.com/team", "use at most 63"),
        ({"metadata": {"managedFields": []}}, "metadata.managedFields", "remove it"),
    ],
    ids=str,
)  # fmt: skip
def test_patches_of_the_job(patch: dict[str, Any], path: str, fix: str) -> None:
    (problem,) = job_problems(experiment(manifest_overrides={"job": patch}), environment())
    assert problem.path == f"manifest_overrides.job.{path}"
    assert problem.fix.startswith(fix)


@pytest.mark.parametrize(
    ("key", "patch", "path"),
    [
        ("service", {"spec": {"type": "Nodeport"}}, "spec.type"),
        ("service", {"spec": {"sessionAffinityTimeout": 5}}, "spec.sessionAffinityTimeout"),
        ("claim-checkpoints", {"spec": {"accessModes": ["ReadWriteAll"]}}, "spec.accessModes[0]"),
        ("launch-script", {"immutable": "yes"}, "immutable"),
        ("launch-script", {"data": {"example.com/mine": "text"}}, "data.example.com/mine"),
        ("queue", {"spec": {"weigth": 3}}, "spec.weigth"),
        ("queue", {"spec": {"dequeueStrategy": "lifo"}}, "spec.dequeueStrategy"),
    ],
)
def test_patches_of_other_objects(key: str, patch: dict[str, Any], path: str) -> None:
    storage = {"checkpoints": {"size": "2Ti", "mount": "/mnt/output"}}
    found = reasons(storage=storage, queue={"weight": 2}, manifest_overrides={key: patch})
    assert found.keys() == {f"manifest_overrides.{key}.{path}"}


GPU = "baidu.com/a800_80g_cgpu"


@pytest.mark.parametrize(
    ("queue", "spec", "path"),
    [
        ({"capability": {"a800": 24}}, {"deserved": {GPU: 48}}, f"deserved.{GPU}"),
        ({"capability": {"a800": 24}}, {"deserved": {"cpu": 8}}, "deserved.cpu"),
        ({"deserved": {"a800": 24}, "capability": {"a800": 24}}, {"capability": {GPU: 8}}, f"capability.{GPU}"),
        ({"deserved": {"a800": 24}}, {"guarantee": {"resource": {GPU: "25"}}}, f"guarantee.resource.{GPU}"),
        ({}, {"guarantee": {"resource": {"memory": "1Gi"}}}, "guarantee.resource.memory"),
        ({"deserved": {"a800": 24}, "guarantee": {"a800": 24}}, {"deserved": {GPU: None}}, f"deserved.{GPU}"),
    ],
)
def test_amounts_that_a_queue_does_not_take(queue: dict[str, Any], spec: dict[str, Any], path: str) -> None:
    found = reasons(queue={"weight": 1, **queue}, manifest_overrides={"queue": {"spec": spec}})
    assert found.keys() == {f"manifest_overrides.queue.spec.{path}"}


@pytest.mark.parametrize(
    ("queue", "spec"),
    [
        ({"capability": {"a800": 24}}, {"deserved": {GPU: 24}, "guarantee": {"resource": {GPU: 8}}}),
        ({}, {"deserved": {GPU: 48, "memory": "1Ti"}, "guarantee": {"resource": {"memory": "1024Gi"}}}),
        ({"deserved": {"a800": 24}, "capability": {"a800": 24}}, {"capability": {GPU: 48}}),
    ],
)
def test_amounts_that_a_queue_takes(queue: dict[str, Any], spec: dict[str, Any]) -> None:
    assert reasons(queue={"weight": 1, **queue}, manifest_overrides={"queue": {"spec": spec}}) == {}


def of_object(key: str, patch: dict[str, Any]) -> set[str]:
    storage = {"checkpoints": {"size": "2Ti", "mount": "/mnt/output"}}
    return {*reasons(storage=storage, manifest_overrides={key: patch})}


@pytest.mark.parametrize("key", ["example.com/mine", "two words", "..", "..mine", "x" * 254, "é"])
def test_keys_that_a_config_map_does_not_take(key: str) -> None:
    assert of_object("launch-script", {"data": {key: "1"}}) == {f"manifest_overrides.launch-script.data.{key}"}


def test_keys_that_a_config_map_takes() -> None:
    assert of_object("launch-script", {"data": {"my.json": "{}", "x" * 253: "", ".hidden": ""}}) == set()


PORT = {"port": 80}


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"ports": [{**PORT, "nodePort": 30_080}]}, "ports[0].nodePort"),
        ({"ports": [{**PORT, "name": "a"}, {"port": 81}]}, "ports[1]"),
        ({"ports": [{**PORT, "name": "a"}, {"port": 81, "name": "a"}]}, "ports.a"),
        ({"ports": [{**PORT, "name": "a"}, {**PORT, "name": "b", "protocol": "TCP"}]}, "ports.b"),
        ({"ports": [{"port": 0}]}, "ports[0].port"),
        ({"ports": [{**PORT, "name": "UPPER_case"}]}, "ports.UPPER_case.name"),
        ({"ports": [{**PORT, "targetPort": "8080"}]}, "ports[0].targetPort"),
        ({"ports": [{**PORT, "appProtocol": "a b"}]}, "ports[0].appProtocol"),
        ({"sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}}}, "sessionAffinityConfig"),
        ({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}}}, "sessionAffinityConfig.clientIP.timeoutSeconds"),
        ({"ipFamilies": ["IPv4", "IPv4"]}, "ipFamilies"),
        ({"ipFamilies": [""]}, "ipFamilies[0]"),
        ({"trafficDistribution": "PreferFar"}, "trafficDistribution"),
        # what the plan decides
        ({"healthCheckNodePort": 2}, "healthCheckNodePort"),
        ({"externalTrafficPolicy": "Local"}, "externalTrafficPolicy"),
    ],
    ids=str,
)  # fmt: skip
def test_what_a_service_of_ours_does_not_take(spec: dict[str, Any], path: str) -> None:
    assert of_object("service", {"spec": spec}) == {f"manifest_overrides.service.spec.{path}"}


@pytest.mark.parametrize(
    "spec",
    [
        {"ports": [{"port": 80, "name": "http", "targetPort": "http"}, {"port": 80, "name": "dns", "protocol": "UDP"}]},
        {"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 60}}},
        {"ipFamilies": ["IPv6", "IPv4"], "ipFamilyPolicy": "PreferDualStack", "trafficDistribution": "PreferClose"},
    ],
    ids=str,
)
def test_what_a_service_of_ours_takes(spec: dict[str, Any]) -> None:
    assert of_object("service", {"spec": spec}) == set()


def test_on_the_host_network_a_pod_has_no_hostname_of_its_own() -> None:
    found = of_pods({"hostnameOverride": "mine"}, network={"host": True})
    assert [problem.path for problem in found] == ["roles.worker.pod_overrides.spec.hostnameOverride"]


def test_items_without_a_form_are_looked_at_whatever_they_are_called() -> None:
    (problem,) = of_pods({"imagePullSecrets": {"spec": "1Gi"}})
    assert problem.path.startswith("roles.worker.pod_overrides.spec.imagePullSecrets")


@pytest.mark.parametrize(
    "field", ["finalizers", "ownerReferences", "managedFields", "name", "namespace", "generateName"]
)
def test_of_the_metadata_of_pods_labels_and_annotations_alone(backend: str, field: str) -> None:
    found = reasons(backend=backend, roles={"worker": {"pod_overrides": {"metadata": {field: ["example.com/keep"]}}}})
    assert found.keys() == {f"roles.worker.pod_overrides.metadata.{field}"}


def test_what_an_operator_does_not_know_of_pods() -> None:
    """The definitions of training-operator 1.9.3 have the pods of an older Kubernetes: the server would drop the rest without a word."""
    spec = {"os": {"name": "linux"}, **in_main(lifecycle={"stopSignal": "SIGUSR1"})}
    (problem,) = of_pods(spec, "kubeflow")
    assert problem.path == "roles.worker.pod_overrides.spec.containers.main.lifecycle.stopSignal"
    assert "would drop it" in problem.reason
    assert of_pods(spec) == []


@pytest.mark.parametrize("name", ["kubeflow", "kubedl"])
def test_a_word_of_the_operator(name: str) -> None:
    assert of_pods({"restartPolicy": "ExitCode"}, name) == []
    assert [problem.path for problem in of_pods({"restartPolicy": "Exit"}, name)] == [
        "roles.worker.pod_overrides.spec.restartPolicy"
    ]


def test_every_kind_that_can_be_patched_has_a_schema() -> None:
    for name, backend in BACKENDS.items():
        if not read(of_backends.folder_of(backend)):
            continue  # one that a test adds
        storage = {"checkpoints": {"size": "2Ti", "mount": "/mnt/output"}}
        roles = {"master": {}, "worker": {"replicas": 2}}
        job = render_job(experiment(backend=name, roles=roles, storage=storage, queue={"weight": 2}), environment())
        assert job.problems == ()
        for manifest in job.manifests:
            assert of_backends._schema_of(manifest.body, backend), manifest.key


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=experiments(), name=st.sampled_from([*BACKENDS]))
def test_what_is_rendered_satisfies_its_schema(data: dict[str, Any], name: str) -> None:
    """Else a patch of one field would be blamed for what it did not do."""
    job = render_job(experiment(**{**data, "backend": name}), environment(queues={"default": {}, "night": {}}))
    if not job.problems:
        for manifest in job.manifests:
            assert [*object_types(BACKENDS[name], manifest.body, EVERYTHING)] == [], manifest.key
            assert [*object_values(BACKENDS[name], job.plan, manifest.key, manifest.body, EVERYTHING)] == [], (
                manifest.key
            )


def test_the_types_to_which_a_schema_refers() -> None:
    def references(schema: Any) -> set[str]:
        if isinstance(schema, list):
            return set().union(*map(references, schema))
        if not isinstance(schema, dict):
            return set()
        own = {schema["$ref"]} if isinstance(schema.get("$ref"), str) else set()
        return own.union(*map(references, schema.values()))

    files = [kubernetes(), read(of_backends.QUEUES)]
    files += [read(of_backends.folder_of(backend)) for backend in BACKENDS.values()]
    assert set().union(*map(references, files)) <= kubernetes().keys()
