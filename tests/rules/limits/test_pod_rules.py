"""Images of pods, and pods beyond the Pod Security Standards; no merge patch gets around a rule."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from tests.rules.limits.cases import by_job, by_role, found, limited, pod, raw
from tests.support.samples import fitting, reasons
from trainform.backends.backend import BACKENDS
from trainform.rules.limits.pod_rules import KEYS, NARROWING, NO_DEVICES, NO_REFERENCE, OTHERS
from trainform.spec.names import qualified

REGISTRIES = ["registry.example.com/ai", "localhost:5000"]


@pytest.mark.parametrize(
    ("reference", "allowed"),
    [
        ("registry.example.com/ai/pytorch-training:2.8", True),
        ("registry.example.com/ai/deep/er@sha256:" + "0" * 64, True),
        ("localhost:5000/pytorch", True),
        ("registry.example.com/other/pytorch", False),
        ("registry.example.com/ai-evil/pytorch", False),
        ("registry.example.com.evil.org/ai/pytorch", False),
        ("evil.org/registry.example.com/ai/pytorch", False),
        ("python:3.12", False),
        ("localhost/pytorch", False),
    ],
)
def test_registries(reference: str, allowed: bool) -> None:
    cluster = limited(registries=REGISTRIES)
    assert (reasons(cluster, image=reference) == {}) is allowed
    assert reasons(limited(), image=reference) == {}
    right = {"image": "localhost:5000/pytorch"}
    assert (reasons(cluster, **right, roles={"worker": {"image": reference}}) == {}) is allowed
    init = [{"name": "fetch", "image": reference, "command": ["fetch"]}]
    found = reasons(cluster, **right, roles={"worker": {"init": init}})
    assert found.keys() == (set() if allowed else {"roles.worker.init[0].image"})
    patch = {"worker": {"pod_overrides": {"spec": {"containers": {"main": {"image": reference}}}}}}
    found = reasons(cluster, **right, roles=patch)
    assert found.keys() == (set() if allowed else {"roles.worker.pod_overrides.spec.containers.main.image"})


@pytest.mark.parametrize("reference", ["change-me", "a.b/c/change-me:1", "localhost:5000/change-me@sha256:" + "0" * 64])
def test_the_placeholder_in_a_patch(reference: str) -> None:
    """As in the fields of the experiment, which the models refuse; also where the environment limits nothing."""
    patch = {"worker": {"pod_overrides": {"spec": {"containers": {"main": {"image": reference}}}}}}
    found = reasons(limited(), image="a.b/c:1", roles=patch)
    place = "roles.worker.pod_overrides.spec"
    assert found == {f"{place}.containers.main.image": "the image is the placeholder that `trainform new` writes"}
    init = {"worker": {"pod_overrides": {"spec": {"initContainers": [{"name": "data", "image": reference}]}}}}
    assert reasons(limited(), image="a.b/c:1", roles=init).keys() == {f"{place}.initContainers.data.image"}
    tasks = {"worker": {"template": {"spec": {"containers": {"main": {"image": reference}}}}}}
    found = reasons(limited(), image="a.b/c:1", manifest_overrides={"job": {"spec": {"tasks": tasks}}})
    assert set(found.values()) == {"the image is the placeholder that `trainform new` writes"}
    other = {"worker": {"pod_overrides": {"spec": {"containers": {"main": {"image": "change-me/app:1"}}}}}}
    assert reasons(limited(), image="a.b/c:1", roles=other) == {}


def test_an_image_is_reported_at_the_step_that_sets_it() -> None:
    """Steps of `prepare` and a role's own init containers stand in one list of the pod."""
    steps = [{"name": "code", "image": "localhost:5000/git", "command": ["true"], "roles": ["chief"]}]
    steps += [{"name": "warm-up", "image": "python:3.12", "command": ["true"]}]
    init = [{"name": "data", "image": "localhost:5000/data", "command": ["true"]}]
    init += [{"name": "fetch", "image": "busybox:1.37", "command": ["true"]}]
    roles = {"chief": {"replicas": 1}, "worker": {"replicas": 1, "init": init}}
    found = reasons(limited(registries=REGISTRIES), image="localhost:5000/pytorch", prepare=steps, roles=roles)
    assert found.keys() == {"prepare[1].image", "roles.worker.init[1].image"}


def test_each_wrong_image_is_reported_once() -> None:
    roles = {name: {"replicas": 1} for name in ("master", "worker", "chief")}
    assert reasons(limited(registries=REGISTRIES), image="python:3.12", roles=roles).keys() == {"image"}


@pytest.mark.parametrize(
    ("reference", "full"),
    [
        ("ai/pytorch:2", "docker.io/ai/pytorch:2"),
        ("localhost/x", "localhost/x"),
        ("a:5000/x", "a:5000/x"),
        ("python:3.12", "docker.io/library/python:3.12"),
        ("docker.io/python:3.12", "docker.io/library/python:3.12"),
        ("docker.io/ai/pytorch", "docker.io/ai/pytorch"),
    ],
)
def test_qualified(reference: str, full: str) -> None:
    assert qualified(reference) == full


def test_digests() -> None:
    cluster = limited(severity={"TF-IMG-2": "error"})
    assert reasons(cluster) == {"image": "the image is not pinned by digest, which the environment requires"}
    assert reasons(cluster, image="python@sha256:" + "0" * 64) == {}


def test_runtime_classes() -> None:
    patch = {"spec": {"runtimeClassName": "kata"}}
    told = "the environment dev does not allow this runtime class (allowed: {})"
    for judge in (by_role, by_job):
        assert set(judge("TF-POD-4", limited(), patch).values()) == {told.format("none")}
        assert set(judge("TF-POD-4", limited(runtime_classes=["nvidia"]), patch).values()) == {told.format("nvidia")}
        assert judge("TF-POD-4", limited(runtime_classes=["kata"]), patch) == {}
    assert raw("TF-POD-4", limited(), {}, pod({"runtimeClassName": "kata"})).keys() == {"spec.runtimeClassName"}
    assert raw("TF-POD-4", limited(), {}, pod({"runtimeClassName": ""})) == {}
    assert found("TF-POD-4", limited()) == {}


HEX = "0123456789abcdef" * 4
LIMITED = limited(registries=["registry.example.com"])


@pytest.mark.parametrize(
    "reference",
    [
        "python",
        "pytorch/pytorch:2.8.0-cuda12.9-cudnn9-runtime",
        "registry.example.com:5000/ai/app:1",
        "localhost:5000/app:1",
        "a--b/c__d/e.f:1",
        f"registry.example.com/app:2.8@sha256:{HEX}",
        "registry.example.com/app:V1_2.3-4",
        "app:" + "a" * 128,
        "registry.example.com/" + "a" * 255,
    ],
)
def test_what_a_container_runtime_takes(reference: str) -> None:
    found = raw("TF-IMG-1", LIMITED, {}, pod({"containers": [{"name": "main", "image": reference}]}))
    assert NO_REFERENCE[0] not in found.values()


@pytest.mark.parametrize(
    "reference",
    [
        "",
        "registry.example.com/../x",
        "registry.example.com//x",
        "registry.example.com/X",
        "registry.example.com/x:1:2",
        "registry.example.com:x/y",
        "registry.example.com/x@sha256:short",
        "https://registry.example.com/x",
        "user:word@registry.example.com/x",
        "registry.example.com/x\n",
        "$(IMAGE)",
        "registry..example.com/x",
        "app:" + "a" * 129,
        "registry.example.com/%2e%2e/x",
        "registry.example.com\\x",
        "reg\u0456stry.example.com/x",
    ],
)
def test_what_a_container_runtime_refuses(reference: str) -> None:
    found = raw("TF-IMG-1", LIMITED, {}, pod({"containers": [{"name": "main", "image": reference}]}))
    assert found == {"spec.containers.main.image": NO_REFERENCE[0]}


def test_a_way_out_of_a_registry_is_refused() -> None:
    patch = {"spec": {"containers": {"log": {"image": "registry.example.com/ai/../../x"}}}}
    limits = limited(registries=["registry.example.com/ai"])
    for judge in (by_role, by_job):
        assert NO_REFERENCE[0] in judge("TF-IMG-1", limits, patch).values()


def test_a_digest_is_a_whole_one() -> None:
    def told(image: str) -> bool:
        return bool(raw("TF-IMG-2", limited(), {}, pod({"containers": [{"name": "main", "image": image}]})))

    assert not told(f"registry.example.com/x@sha256:{HEX}")
    assert told("registry.example.com/x@sha256:short")
    assert told(f"registry.example.com/x@sha256:{HEX}/y")


TRAIN = limited(service_accounts=["train"])
REFUSED = "the environment dev does not allow this service account (allowed: default, train)"


def test_service_accounts_by_field() -> None:
    assert found("TF-ACC-1", TRAIN) == found("TF-ACC-1", limited()) == {}, "pods that name none"
    assert found("TF-ACC-1", limited(), service_account="default") == {}
    assert found("TF-ACC-1", TRAIN, service_account="train") == {}
    assert found("TF-ACC-1", TRAIN, service_account="admin") == {"service_account": REFUSED}
    assert found("TF-ACC-1", limited(), service_account="train").keys() == {"service_account"}


def test_service_accounts_in_patches() -> None:
    for judge, rest in ((by_role, {}), (by_job, {"service_account": "train"})):
        assert set(judge("TF-ACC-1", TRAIN, {"spec": {"serviceAccountName": "admin"}}, **rest).values()) == {REFUSED}
        assert judge("TF-ACC-1", TRAIN, {"spec": {"serviceAccountName": "train"}}, **rest) == {}


def test_the_deprecated_field() -> None:
    assert raw("TF-ACC-1", TRAIN, {}, pod({"serviceAccount": "admin"})) == {"spec.serviceAccount": REFUSED}
    assert raw("TF-ACC-1", TRAIN, {}, pod({"serviceAccount": "train"})) == {}
    both = {"serviceAccountName": "train", "serviceAccount": "admin"}
    assert raw("TF-ACC-1", TRAIN, {}, pod(both)) == {}, "the new field counts"
    assert raw("TF-ACC-1", TRAIN, {}, pod({"serviceAccountName": ""})) == {}


def test_the_account_that_the_operator_makes_for_a_launcher_passes() -> None:
    mpi: dict[str, Any] = {
        "backend": "kubeflow",
        "launcher": {"mpi": {"command": ["python", "train.py"], "role": "launcher"}},
        "roles": {"launcher": {"replicas": 1, "ranked": False}, "worker": {"replicas": 2}},
    }
    assert found("TF-ACC-1", limited(), **mpi) == {}


TOLD = "the variable gives the container accelerators of the node that it does not ask for, and that no limit counts"
ALL = "NVIDIA_VISIBLE_DEVICES"


def setting(value: Any, name: str = ALL, kind: str = "containers") -> dict[str, Any]:
    """A merge patch of pods with one more container."""
    container = {"name": "aside", "image": "python", "env": [{"name": name, "value": value}]}
    return {"spec": {kind: {"aside": container} if kind == "containers" else [container]}}


@pytest.mark.parametrize(
    "name",
    ["NVIDIA_VISIBLE_DEVICES", "AMD_VISIBLE_DEVICES", *OTHERS, "ENFLAME_VISIBLE_DEVICES", "ASCEND_RT2_VISIBLE_DEVICES"],
)
@pytest.mark.parametrize("kind", ["containers", "initContainers"])
def test_variables_in_patches(name: str, kind: str) -> None:
    for judge in (by_role, by_job):
        for value in ("all", "0,1", "GPU-8c5f"):
            assert set(judge("TF-RES-7", limited(), setting(value, name, kind)).values()) == {TOLD}
        for value in NO_DEVICES:
            assert judge("TF-RES-7", limited(), setting(value, name, kind)) == {}
    assert by_role("TF-RES-7", limited(), setting("all", "NVIDIA_DRIVER_CAPABILITIES")) == {}


@pytest.mark.parametrize("name", NARROWING)
def test_a_variable_that_only_narrows_is_allowed(name: str) -> None:
    for judge in (by_role, by_job):
        assert judge("TF-RES-7", limited(), setting("0,1", name)) == {}


@pytest.mark.parametrize("backend", BACKENDS)
def test_variables_by_fields(backend: str) -> None:
    roles = fitting(backend, {"master": {"replicas": 1}, "worker": {"replicas": 2}})
    parts = {"backend": backend, "roles": roles}
    assert found("TF-RES-7", limited(), env={ALL: "all"}, **parts) == {f"env.{ALL}": TOLD}
    of_role = {**roles, "worker": {"replicas": 2, "env": {ALL: "all"}}}
    assert found("TF-RES-7", limited(), backend=backend, roles=of_role) == {f"roles.worker.env.{ALL}": TOLD}
    for value in NO_DEVICES:
        assert found("TF-RES-7", limited(), env={ALL: value}, **parts) == {}


def test_variables_of_steps_are_refused_at_the_step() -> None:
    step = {"name": "fetch", "command": ["fetch"], "env": {ALL: "all"}}
    alone: dict[str, Any] = {
        "master": {"replicas": 1},
        "worker": {"replicas": 2, "init": [{**step, "name": "own", "env": {ALL: "0"}}]},
    }
    assert found("TF-RES-7", limited(), prepare=[step], roles=alone) == {
        f"prepare[0].env.{ALL}": TOLD,
        f"roles.worker.init[0].env.{ALL}": TOLD,
    }
    all_roles = found("TF-RES-7", limited(), prepare=[step], env={ALL: "none"}, roles={"worker": {"replicas": 2}})
    assert all_roles == {f"prepare[0].env.{ALL}": TOLD}


def test_a_value_from_elsewhere_may_be_any() -> None:
    source = {"config_map": {"name": "devices", "key": "all"}}
    assert found("TF-RES-7", limited(), env={ALL: source}) == {f"env.{ALL}": TOLD}
    assert raw("TF-RES-7", limited(), {}, pod({"containers": [{"env": [{"name": ALL, "valueFrom": {}}]}]})) != {}
    assert raw("TF-RES-7", limited(), {}, pod({"containers": [{"env": [{"name": ALL}]}]})) == {}
    assert raw("TF-RES-7", limited(), {}, pod({"containers": [{"env": [{"name": ALL, "value": 0}]}]})) != {}


def test_where_containers_may_be_privileged_they_have_all_devices_anyway() -> None:
    assert found("TF-RES-7", limited(pod_security="privileged"), env={ALL: "all"}) == {}


@pytest.mark.parametrize(
    ("value", "refused"),
    [
        (base64.b64encode(b"all").decode(), True),
        (base64.b64encode(b"0,1").decode(), True),
        ("all", True),
        (base64.b64encode(b"\xff").decode(), True),
        *((base64.b64encode(harmless.encode()).decode(), False) for harmless in NO_DEVICES),
    ],
)
def test_what_a_secret_holds_in_base64_is_judged(value: str, refused: bool) -> None:
    body = {"apiVersion": "v1", "kind": "Secret", "data": {ALL: value}}
    assert (raw("TF-RES-7", limited(), body) != {}) is refused


def test_a_patch_of_a_config_map_is_judged() -> None:
    patch = {"launch-script": {"data": {ALL: "all"}}}
    place = f"manifest_overrides.launch-script.data.{ALL}"
    assert found("TF-RES-7", limited(), manifest_overrides=patch).keys() == {place}


TOPOLOGY = "alpha.jobset.sigs.k8s.io/exclusive-topology"


@pytest.mark.parametrize("beginning", KEYS)
def test_every_key_wherever_it_stands(beginning: str) -> None:
    name = f"{beginning}more" if beginning.endswith(("/", ".")) else beginning
    name = f"sigs.example.com{name}" if name.startswith("/") else name
    for field in ("labels", "annotations"):
        metadata = {field: {name: "x"}}
        (reason,) = by_role("TF-POD-6", limited(), {"metadata": metadata}).values()
        assert reason.startswith("the key has an effect that no limit of the environment counts: ")
        assert by_role("TF-POD-6", limited(metadata_keys=[name]), {"metadata": metadata}) == {}
        found_in = raw("TF-POD-6", limited(), {"kind": "JobSet", "metadata": metadata})
        assert found_in.keys() == {f"metadata.{field}.{name}"}
    assert by_role("TF-POD-6", limited(), {"metadata": {"labels": {name: "false"}}}) == {}


def test_keys_by_fields() -> None:
    topology = {TOPOLOGY: "rack"}
    parts: dict[str, Any] = {"backend": "jobset"}
    assert found("TF-POD-6", limited(), annotations=topology, **parts).keys() == {f"annotations.{TOPOLOGY}"}
    assert found("TF-POD-6", limited(), labels={"sidecar.istio.io/inject": "true"}).keys() == {
        "labels.sidecar.istio.io/inject"
    }
    roles = {"worker": {"labels": {"sidecar.istio.io/inject": "true"}}}
    assert found("TF-POD-6", limited(), roles=roles).keys() == {"roles.worker.labels.sidecar.istio.io/inject"}
    assert found("TF-POD-6", limited(), annotations={"example.com/team": "vision"}) == {}


def test_metadata_between_an_object_and_its_pods() -> None:
    """JobSet reads the annotation of a replicated job too."""
    job = {"name": "worker", "template": {"metadata": {"annotations": {TOPOLOGY: "rack"}}}}
    body = {"kind": "JobSet", "metadata": {}, "spec": {"replicatedJobs": [job]}}
    where = f"spec.replicatedJobs.worker.template.metadata.annotations.{TOPOLOGY}"
    assert raw("TF-POD-6", limited(), body).keys() == {where}


HOST_NETWORK = "the job uses the host network, which the environment dev forbids"


def test_host_network_by_field() -> None:
    assert found("TF-NET-1", limited(), network={"host": True}) == {"network.host": HOST_NETWORK}
    assert found("TF-NET-1", limited(host_network=True), network={"host": True}) == {}


def test_host_network_in_patches() -> None:
    spec: dict[str, Any] = {"hostNetwork": True}
    for judge in (by_role, by_job):
        assert set(judge("TF-NET-1", limited(), {"spec": spec}).values()) == {HOST_NETWORK}
        assert judge("TF-NET-1", limited(host_network=True), {"spec": spec}) == {}
    ports = {"containers": [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    assert set(raw("TF-NET-1", limited(), {}, pod(ports)).values()) == {HOST_NETWORK}


def test_ports_of_containers_alone_are_not_of_the_node() -> None:
    ports = [{"containerPort": 80}, {"containerPort": 81, "hostPort": 0}, "text", None]
    assert raw("TF-NET-1", limited(), {}, pod({"containers": [{"ports": ports}, None, "text"]})) == {}
