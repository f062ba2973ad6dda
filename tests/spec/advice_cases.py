"""Wrong files whose fixes are tried: those of `bad`, and further ones."""

from __future__ import annotations

import dataclasses
import datetime
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from tests.conftest import ROOT
from tests.support.advice import IMAGE
from tests.support.samples import JOB
from tests.support.wrong_patches import WRONG

BAD = ROOT / "tests" / "spec" / "bad"
LAB = ROOT / "tests" / "environments" / "lab.yaml"


@dataclasses.dataclass(frozen=True)
class Case:
    """An experiment and its environment, as data."""

    experiment: dict[str, Any]
    environment: dict[str, Any]


def _data(path: Path) -> Any:
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, KeyError):  # what is wrong is the text itself
        return None


def _of_file(path: Path) -> Case:
    own = path.with_suffix(".environment.yaml")
    return Case(_data(path), _data(own if own.is_file() else LAB))


# What is wrong in these is how the text is written, which no data have.
ABOUT_TEXT = {
    "alias-bomb",
    "alias-of-itself",
    "characters-that-cannot-be-seen",
    "deep-nesting",
    "duplicate-key",
    "words-that-yaml-reads-otherwise",
}


def _files() -> dict[str, Callable[[], Case]]:
    paths = [path for path in sorted(BAD.glob("*.yaml")) if not path.name.endswith(".environment.yaml")]
    return {
        path.stem: functools.partial(_of_file, path)
        for path in paths
        if path.stem not in ABOUT_TEXT and isinstance(_data(path), dict)
    }


GIT = {
    "repository": "https://git.example.com/ai/code.git",
    "commit": "4f5c2e9b8d1a7c3e6f0b2d4a8c1e5f7b9d3a6c0e",
    "path": "/code",
}
TENSORFLOW = {"tensorflow": {"command": ["python", "train.py"]}}
SCRIPT = {"script": "/app/train.py"}
WAIVER = {
    "rule": "TF-POD-1",
    "finding": "0123456789abcdef",
    "reason": "it is read only",
    "owner": "ada",
    "until": datetime.date(2026, 12, 1),
}
PER_REPLICA: dict[str, Any] = {"host": True, "ports": "per-replica"}
HOST = {"limits": {"host_network": True}}


def _known_hosts(line: str) -> dict[str, Any]:
    return {"prepare": [{"name": "code", "git": {**GIT, "known_hosts": [line]}}]}


def _worker(**fields: Any) -> dict[str, Any]:
    return {"roles": {"worker": {"replicas": 2, **fields}}}


# Parts of an experiment, and of its environment, by what is wrong in them.
PARTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "key-of-a-host-cut-off": (_known_hosts("git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3d"), {}),
    "key-of-a-host-of-another-type": (_known_hosts("git.example.com ssh-none AAAAC3NzaC1lZDI1NTE5AAAAIJ3d"), {}),
    "key-of-a-host-of-another-marker": (_known_hosts("@mine git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3d"), {}),
    "key-without-a-host": (_known_hosts("--host ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ3d"), {}),
    "no-line-of-known-hosts": (_known_hosts("git.example.com"), {}),
    "two-lines-of-known-hosts": (_known_hosts("git.example.com ssh-ed25519 AAAA\ngit.example.com ssh-rsa AAAA"), {}),
    "private-key-for-a-host": (_known_hosts("-----BEGIN OPENSSH PRIVATE KEY-----"), {}),
    "ssh-beside-a-runtime": ({"ssh": {}, "runtime": {"name": "torch"}, "backend": "trainer"}, {}),
    "list-for-a-text": ({"image": ["a"]}, {}),
    "infinite-number-in-a-patch": (_worker(pod_overrides={"spec": {"x": float("inf")}}), {}),
    "empty-program": ({"launcher": {"command": [""]}}, {}),
    "line-as-a-program": ({"launcher": {"command": ["python train.py"]}}, {}),
    "line-for-a-shell": ({"launcher": {"command": "python train.py && sync"}}, {}),
    "number-of-restarts": ({"restart": 3}, {}),
    "nothing-for-an-image": ({"image": None}, {}),
    "blank-image": ({"image": " "}, {}),
    "nothing-for-a-script": ({"launcher": {"torchrun": {"script": None}}}, {}),
    "nothing-for-a-variable": ({"env": {"EMPTY": None}}, {}),
    "long-image": ({"image": f"registry.example.com/ai/{'a' * 260}"}, {}),
    "long-image-by-a-mirror": ({"image": f"registry.example.com/ai/{'a' * 250}"}, {"registries": {"registry.example.com/ai": "mirror.example.com/ai/hub/of/all"}, "limits": {}}),
    "tier-twice": ({"network": {"topology": {"highest_tier": 1, "highest_tier_name": "rack"}}}, {}),
    "too-fine": (_worker(cpu="0.0001"), {}),
    "too-large": (_worker(memory="9Ei"), {}),
    "too-long": ({"network": {"wait": "90000d"}}, {}),
    "unit-missing": (_worker(memory=64), {}),
    "unit-missing-of-another-resource": (_worker(resources={"ephemeral-storage": 100}), {}),
    "field-of-no-variable": ({"env": {"A": {"field": "metadata.labels"}}}, {}),
    "two-sources-of-a-variable": ({"env": {"A": {"field": "metadata.name", "secret": {"name": "a", "key": "b"}}}}, {}),
    "waiver-without-a-word": ({"waivers": [{"rule": "TF-POD-1", "finding": "0123456789abcdef", "reason": " ", "owner": "ada", "until": datetime.date(2026, 12, 1)}]}, {}),
    "action-without-a-field": ({"policies": [{"event": "PodFailed", "action": "RestartPartition"}]}, {}),
    "number-in-other-words": (_worker(replicas="1e1"), {}),
    "words-of-other-tools": ({**_worker(gpus=8, requests={"cpu": 4}, limits={"cpu": 4}, volumes=[], nodes=2, nproc_per_node=8), "host_network": True, "replicas": 2}, {}),
    "fields-of-pods": ({**_worker(affinity={}, livenessProbe={}), "terminationGracePeriodSeconds": 60}, {}),
    "field-at-another-place": ({**_worker(queue="night"), "script": "/app/train.py"}, {}),
    "host-path": ({"storage": {"data": {"host_path": "/data", "mount": "/data", "claim": "data"}}}, {}),
    "no-service-account-at-all": ({}, {"limits": {"service_accounts": []}}),
    "prices-in-two-currencies": ({}, {"limits": {"max_cost_per_hour": {"amount": 5.0, "currency": "USD"}}, "accelerators": {"a800": {"resource": "baidu.com/a800_80g_cgpu", "per_node": 8, "nodes": 2, "price_per_hour": {"amount": 2.0, "currency": "EUR", "as_of": datetime.date(2026, 1, 1)}}}}),
    "range-of-one-port": ({}, {"ports": 20000}),
    "day-that-does-not-exist": ({}, {"accelerators": {"a800": {"resource": "baidu.com/a800_80g_cgpu", "per_node": 8, "nodes": 2, "price_per_hour": {"amount": "2", "currency": "EUR", "as_of": "2026-02-30"}}}}),
    "number-of-a-port": ({"network": {"ports": 20000}}, {}),
    "part-of-a-world": ({"launcher": {"torchrun": SCRIPT}, **_worker(min_available=1)}, {}),
    "part-of-a-world-over-mpi": ({"launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}}, "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 4, "min_available": 2}}}, {}),
    "gang-of-no-pod": ({"roles": {"worker": {"replicas": 2, "min_available": 0}}}, {}),
    "long-name-of-a-claim": ({"name": "a" * 30, "storage": {"b" * 40: {"size": "1Gi", "mount": "/mnt"}}}, {}),
    "nothing-that-trains": ({"launcher": TENSORFLOW, "roles": {"ps": {"replicas": 1}}}, {}),
    "two-roles-of-a-type": ({"launcher": {"tensorflow": {"command": ["python"], "task_types": {"other": "worker"}}}, "roles": {"worker": {"replicas": 1}, "other": {"replicas": 1}}}, {}),
    "launcher-in-the-middle": ({"launcher": {"deepspeed": {**SCRIPT, "role": "master"}}, "roles": {"worker": {"replicas": 2}, "master": {"replicas": 1}}}, {}),
    "launcher-of-other-operators": ({"launcher": {"mpi": {"command": ["python"]}}, "roles": {"worker": {"replicas": 2}, "launcher": {"ranked": False, "command": ["sleep", "9"]}}}, {}),
    "command-of-the-launcher": ({"launcher": {"mpi": {"command": ["python"], "role": "launcher"}}, "roles": {"worker": {"replicas": 2}, "launcher": {"ranked": False, "command": ["sleep", "9"]}}}, {}),
    "restart-beside-policies": ({"restart": "all-when-evicted", "policies": [{"event": "*", "action": "AbortJob"}]}, {}),
    "long-annotations": ({"annotations": {"example.com/all": "a" * 260_000}}, {}),
    "port-of-two-things": ({"ssh": {"port": 29500}, "launcher": {"deepspeed": SCRIPT}, "roles": {"worker": {"replicas": 1}}}, {}),
    "ports-of-two-replicas": ({"network": {**PER_REPLICA, "port": 25000}, "ssh": {"port": 25002}, "launcher": TENSORFLOW, "roles": {"ps": {"replicas": 2}, "worker": {"replicas": 3}}}, HOST),
    "too-few-ports": ({"network": PER_REPLICA, "launcher": TENSORFLOW, "roles": {"ps": {"replicas": 2}, "worker": {"replicas": 3}}}, {**HOST, "ports": "20000-20003"}),
    "too-few-ports-for-all": ({"network": {"host": True}, "launcher": {"mpi": {"command": ["python"]}}, "roles": {"master": {"replicas": 1}, "worker": {"replicas": 2}}}, {**HOST, "ports": "20000-20000"}),
    "port-of-a-service": ({"network": {"host": True, "addresses": "service"}, "ssh": {"port": 2222}, "launcher": TENSORFLOW, "roles": {"ps": {"replicas": 2}, "worker": {"replicas": 3}}}, HOST),
    "launcher-with-services": ({"network": {"host": True, "addresses": "service"}, "launcher": {"deepspeed": SCRIPT}, "roles": {"master": {"replicas": 1}, "worker": {"replicas": 2}}}, HOST),
    "queues-beside-kueue": ({"queue": "night"}, {"admission": "kueue"}),
    "container-by-its-name-in-the-cluster": ({**_worker(pod_overrides={"spec": {"containers": {"pytorch": {"tty": True}}}}), "backend": "kubeflow"}, {}),
    "service-of-another-type": ({"manifest_overrides": {"service": {"spec": {"type": "NodePort"}}}}, {}),
    "fields-of-pods-at-another-place": (_worker(pod_overrides={"terminationGracePeriodSeconds": 60, "spec": {"stdin": True, "containers": {"main": {"hostname": "a"}}}}), {}),
    "template-in-a-patch": (_worker(pod_overrides={"template": {"spec": {"priority": 3}}}), {}),
    "spec-of-a-role": (_worker(spec={"terminationGracePeriodSeconds": 60}), {}),
    "template-of-a-role": (_worker(template={"spec": {"terminationGracePeriodSeconds": 60}}), {}),
    "order-of-roles": (_worker(dependsOn=["master"]), {}),
    "queue-that-deserves-too-much": ({"queue": {"weight": 1, "capability": {"a800": 24}}, "manifest_overrides": {"queue": {"spec": {"deserved": {"cpu": 48}}}}}, {}),
    "patch-of-no-object": (_worker() | {"manifest_overrides": {"spec": {"ttlSecondsAfterFinished": 60}}}, {}),
    "patch-of-an-object-by-its-kind": (_worker() | {"manifest_overrides": {"Job": {"spec": {"ttlSecondsAfterFinished": 60}}}}, {}),
    "tasks-in-a-list": (_worker() | {"manifest_overrides": {"job": {"spec": {"tasks": [{"name": "worker", "maxRetry": 5}]}}}}, {}),
    "volumes-in-a-list": (_worker(shared_memory="1Gi", pod_overrides={"spec": {"volumes": [{"name": "mine", "emptyDir": {}}]}}), {}),
    "task-that-is-not-there": (_worker() | {"manifest_overrides": {"job": {"spec": {"tasks": {"wroker": {"maxRetry": 5}}}}}}, {}),
    "replica-type-in-lower-case": (_worker() | {"backend": "kubeflow", "manifest_overrides": {"job": {"spec": {"pytorchReplicaSpecs": {"worker": {"restartPolicy": "Never"}}}}}}, {}),
    "replicated-job-that-is-not-there": (_worker() | {"backend": "jobset", "manifest_overrides": {"job": {"spec": {"replicatedJobs": {"wroker": {"dependsOn": []}}}}}}, {}),
    "task-of-another-name": (_worker() | {"manifest_overrides": {"job": {"spec": {"tasks": {"x": {"maxRetry": 5}}}}}}, {}),
    "field-of-the-spec-above-it": (_worker() | {"manifest_overrides": {"job": {"tasks": {"worker": {"maxRetry": 5}}}}}, {}),
    "init-container-of-one-pod": (_worker(init=[{"name": "data", "command": ["fetch"], "on": "first-pod"}]), {}),
    "quantity-with-a-space": (_worker(cpu="500 m"), {}),
    "main-container-in-a-list": (_worker(pod_overrides={"spec": {"containers": [{"name": "main", "stdin": True}]}}), {}),
    "node-by-its-name": (_worker(pod_overrides={"spec": {"nodeName": "node-1"}}), {}),
    "another-scheduler": (_worker(pod_overrides={"spec": {"schedulerName": "mine"}}), {}),
    "every-taint": ({"tolerations": [{"operator": "Exists"}]}, {}),
    "taint-that-is-not-allowed": ({"tolerations": [{"key": "spot", "operator": "Exists"}]}, {"limits": {"tolerations": []}}),
    "runtime-class": (_worker(pod_overrides={"spec": {"runtimeClassName": "gvisor"}}), {}),
    "priority-that-is-not-allowed": ({"priority_class": "urgent"}, {"limits": {"priority_classes": ["usual"]}}),
    "devices-by-a-claim": (_worker(pod_overrides={"spec": {"resourceClaims": [{"name": "a", "resourceClaimName": "b"}]}}), {}),
    "devices-that-no-kind-offers": (_worker(resources={"example.com/fpga": 1}), {}),
    "another-request-than-limit": (_worker(accelerators={"a800": 8}, pod_overrides={"spec": {"containers": {"main": {"resources": {"requests": {"baidu.com/a800_80g_cgpu": 4}}}}}}), {}),
    "runs-for-ever": ({}, {"limits": {"max_run_time": "24h"}}),
    "much-shared-memory": ({**_worker(accelerators={"a800": 8}), "shared_memory": "700Gi"}, {"limits": {"shared_memory_share": 0.5}}),
    "waiver-of-nothing": ({"waivers": [{**WAIVER, "until": datetime.date(2199, 1, 1)}]}, {}),
    "waiver-that-is-not-allowed": ({"waivers": [WAIVER], **_worker(pod_overrides={"spec": {"hostPID": True}})}, {}),
    "secret-in-a-patch": ({"ssh": {}, "manifest_overrides": {"ssh": {"stringData": {"a": "b"}}}}, {}),
    "key-of-trainform": ({"manifest_overrides": {"job": {"metadata": {"labels": {"trainform.dev/mine": "a"}}}}}, {}),
    "record-in-a-patch": ({"manifest_overrides": {"record": {"data": {"a": "b"}}}}, {}),
    "first-role-of-several-replicas": ({"backend": "kubedl", **_worker()}, {}),
    "topology-without-volcano": ({"backend": "jobset", "network": {"topology": {"highest_tier": 1}}, "queue": "night"}, {"admission": "kueue", "queues": {}}),
    "uneven-accelerators": ({"backend": "kubeflow", "launcher": {"mpi": {"command": ["python"]}}, "roles": {"master": {"replicas": 1}, "worker": {"replicas": 2, "accelerators": {"a800": 8}}}}, {}),
    "extra-role-on-kubeflow": ({"backend": "kubeflow", "roles": {"worker": {"replicas": 2}, "watch": {"ranked": False, "command": ["watch"]}}}, {}),
    "container-in-a-list": ({"backend": "kubeflow", **_worker(pod_overrides={"spec": {"containers": [{"name": "mine", "image": IMAGE}]}})}, {}),
    "wrong-type-in-a-patch": (_worker(pod_overrides={"spec": {"hostNetwork": "yes"}}), {}),
}  # fmt: skip


def _of_parts(parts: dict[str, Any], environment: dict[str, Any]) -> Case:
    return Case({**JOB, "image": IMAGE, **parts}, {**_data(LAB), **environment})


CASES: dict[str, Callable[[], Case]] = {
    **_files(),
    **{name: functools.partial(_of_parts, *parts) for name, parts in PARTS.items()},
    **{
        f"patch-{number}-{place}": functools.partial(
            _of_parts,
            {**_worker(pod_overrides={"spec": spec}), "storage": {"data": {"claim": "datasets", "mount": "/data"}}},
            {},
        )
        for number, (spec, place, _) in enumerate(WRONG)
    },
}
