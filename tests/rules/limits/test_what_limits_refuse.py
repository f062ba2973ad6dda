"""What the limits refuse without a cluster: by fields of an experiment, where there is one, and by merge patches of
pods and objects.

A patch may also change what the plan owns. Then the patch itself is refused, and the limits do not judge it. Each row
is refused either way.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.rules.limits.cases import limited
from tests.support.rendering import job_problems
from tests.support.samples import experiment

STRICT = limited(registries=["registry.example.com"], queues=["night"])
IMAGE = "registry.example.com/ai/train:1.0"
TOKEN = "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH"
GIT = '{"source": "https://git.example.com/a", "image": "docker.io/evil/git-sync:1"}'
KUBEDL = {"backend": "kubedl", "roles": {"master": {"replicas": 1}, "worker": {"replicas": 2}}}
JOB = "manifest_overrides.job"
WORKER = "roles.worker.pod_overrides"


class Refused(NamedTuple):
    """A part of an experiment, the code of the rule (empty where the plan owns the place), and the path of the
    problem."""

    parts: dict[str, Any]
    code: str
    path: str


def by_role(spec: dict[str, Any], code: str, path: str, metadata: dict[str, Any] | None = None) -> Refused:
    """A merge patch of the pods of a role."""
    patch = {"spec": spec} | ({} if metadata is None else {"metadata": metadata})
    return Refused({"roles": {"worker": {"replicas": 2, "pod_overrides": patch}}}, code, f"{WORKER}.{path}")


def by_job(patch: dict[str, Any], code: str, path: str, **parts: Any) -> Refused:
    """A merge patch of the job object."""
    return Refused({"manifest_overrides": {"job": patch}, **parts}, code, f"{JOB}.{path}")


def main(**container: Any) -> dict[str, Any]:
    return {"containers": {"main": container}}


def task(spec: dict[str, Any]) -> dict[str, Any]:
    """A merge patch of a Volcano Job that changes the pods of the role."""
    return {"spec": {"tasks": {"worker": {"template": {"spec": spec}}}}}


HOST_PATH = {"volumes": [{"name": "node", "hostPath": {"path": "/"}}]}
INIT = {"initContainers": [{"name": "data", "image": "docker.io/library/python:3.12"}]}
SYS_ADMIN = {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}
TASK = "spec.tasks.worker.template.spec"
NETWORKS = {"k8s.v1.cni.cncf.io/networks": "storage"}
CASES = {
    "privileged, pods": by_role(
        main(securityContext={"privileged": True}), "TF-POD-1", "spec.containers.main.securityContext.privileged"
    ),
    "privileged, job": by_job(
        task({"containers": [{"name": "main", "image": IMAGE, "securityContext": {"privileged": True}}]}),
        "TF-POD-1",
        f"{TASK}.containers.main.securityContext.privileged",
    ),
    "hostPath, pods": by_role(HOST_PATH, "TF-POD-1", "spec.volumes.node.hostPath.path"),
    "hostPath, job": by_job(task(HOST_PATH), "TF-POD-1", f"{TASK}.volumes.node.hostPath"),
    "SYS_ADMIN, pods": by_role(main(**SYS_ADMIN), "TF-POD-1", "spec.containers.main.securityContext.capabilities.add"),
    "image of an init container": Refused(
        {"roles": {"worker": {"replicas": 2, "init": [{**INIT["initContainers"][0], "command": ["true"]}]}}},
        "TF-IMG-1",
        "roles.worker.init[0].image",
    ),
    "image of an init container, pods": by_role(INIT, "TF-IMG-1", "spec.initContainers.data.image"),
    "image of git-sync": Refused(
        {"annotations": {"kubedl.io/git-sync-config": GIT}, **KUBEDL},
        "TF-IMG-1",
        "annotations.kubedl.io/git-sync-config",
    ),
    "image of git-sync, job": by_job(
        {"metadata": {"annotations": {"kubedl.io/git-sync-config": GIT}}},
        "TF-IMG-1",
        "metadata.annotations.kubedl.io/git-sync-config",
        **KUBEDL,
    ),
    "another manager": by_job(
        {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}}, "TF-JOB-1", "spec.managedBy", backend="jobset"
    ),
    "nodeName, pods": by_role({"nodeName": "node-1"}, "TF-PLC-1", "spec.nodeName"),
    "nodeName, job": by_job(task({"nodeName": "node-1"}), "TF-PLC-1", f"{TASK}.nodeName"),
    "scheduler, pods": by_role({"schedulerName": "default-scheduler"}, "TF-PLC-2", "spec.schedulerName"),
    "scheduler, job": by_job({"spec": {"schedulerName": "default-scheduler"}}, "TF-PLC-2", "spec.schedulerName"),
    "queue": Refused({"queue": "default"}, "TF-QUE-1", "queue"),
    "queue, pods": by_role(
        {},
        "TF-QUE-1",
        "metadata.annotations.scheduling.volcano.sh/queue-name",
        metadata={"annotations": {"scheduling.volcano.sh/queue-name": "default"}},
    ),
    "queue, job": by_job({"spec": {"queue": "default"}}, "TF-QUE-1", "spec.queue"),
    "queue of Volcano's by default, job": by_job({"spec": {"queue": None}}, "TF-QUE-1", "spec.queue"),
    "LoadBalancer": Refused(
        {"manifest_overrides": {"service": {"spec": {"type": "LoadBalancer"}}}},
        "TF-NET-2",
        "manifest_overrides.service.spec.type",
    ),
    "namespace": by_job({"metadata": {"namespace": "other"}}, "", "metadata.namespace"),
    "volumeName": Refused(
        {
            "storage": {"runs": {"size": "1Ti", "mount": "/runs"}},
            "manifest_overrides": {"claim-runs": {"spec": {"volumeName": "pv-1"}}},
        },
        "TF-DATA-2",
        "manifest_overrides.claim-runs.spec.volumeName",
    ),
    "devices": Refused({"env": {"NVIDIA_VISIBLE_DEVICES": "all"}}, "TF-RES-7", "env.NVIDIA_VISIBLE_DEVICES"),
    "devices, pods": by_role(
        main(env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]),
        "TF-RES-7",
        "spec.containers.main.env.NVIDIA_VISIBLE_DEVICES",
    ),
    "networks": Refused({"annotations": NETWORKS}, "TF-POD-6", "annotations.k8s.v1.cni.cncf.io/networks"),
    "networks, pods": by_role(
        {}, "TF-POD-6", "metadata.annotations.k8s.v1.cni.cncf.io/networks", metadata={"annotations": NETWORKS}
    ),
    "secret": Refused({"env": {"HF_TOKEN": TOKEN}}, "TF-SEC-1", "env.HF_TOKEN"),
    "secret, pods": by_role(main(env=[{"name": "HF_TOKEN", "value": TOKEN}]), "TF-SEC-1", ""),
    "secret, job": by_job({"metadata": {"annotations": {"example.com/token": TOKEN}}}, "TF-SEC-1", ""),
    "account": Refused({"service_account": "admin"}, "TF-ACC-1", "service_account"),
    "account, pods": by_role({"serviceAccountName": "admin"}, "TF-ACC-1", "spec.serviceAccountName"),
    "account, job": by_job(task({"serviceAccountName": "admin"}), "TF-ACC-1", f"{TASK}.serviceAccountName"),
    "claim of devices": by_role(
        {"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "gpus"}]}, "TF-RES-3", "spec.resourceClaims.a"
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_refused(name: str) -> None:
    case = CASES[name]
    found = job_problems(experiment(image=IMAGE, **({"queue": "night"} | case.parts)), STRICT)
    paths = [problem.path for problem in found if problem.code in ("", case.code)]
    matching = [path for path in paths if path.startswith(case.path) or case.path.startswith(path)]
    assert matching, [(each.path, each.code, each.reason) for each in found]
    assert TOKEN not in str(found)


def test_the_sample_itself_passes() -> None:
    assert job_problems(experiment(image=IMAGE, queue="night"), STRICT) == []
    assert job_problems(experiment(image=IMAGE, queue="night", **KUBEDL), STRICT) == []
