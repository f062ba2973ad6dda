"""Merge patches of roles that would make other pods than the planned ones are refused, each at its place."""

from __future__ import annotations

from typing import Any

import pytest
from lightkube.models import core_v1

from tests.support.planned_jobs import CLUSTER, POOL
from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment, fitting
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.backends.owned import CONTAINER_DEFAULTS, POD_FIELDS

ROLE = "roles.worker.pod_overrides"
GPU = "baidu.com/a800_80g_cgpu"


def of_role(spec: dict[str, Any], backend: str = defaults.BACKEND) -> dict[str, Any]:
    role = {"replicas": 2, "accelerators": {"a800": 2}, "cpu": 4}
    roles = fitting(backend, {**POOL, "worker": {**role, "pod_overrides": {"spec": spec}}})
    return {"backend": backend, "roles": roles}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"schedulerName": "default-scheduler"}, "spec.schedulerName"),
        ({"nodeName": "node-1"}, "spec.nodeName"),
        ({"restartPolicy": "Always"}, "spec.restartPolicy"),
        ({"hostNetwork": True}, "spec.hostNetwork"),
        ({"dnsPolicy": "Default"}, "spec.dnsPolicy"),
        ({"volumes": []}, "spec.volumes"),
        ({"volumes": {"launch": {"configMap": {"name": "mine"}}}}, "spec.volumes.launch"),
        ({"containers": {"main": {"command": ["sleep"]}}}, "spec.containers.main.command"),
        ({"containers": {"main": {"args": None}}}, "spec.containers.main.args"),
        ({"containers": {"main": {"env": []}}}, "spec.containers.main.env"),
        ({"containers": {"main": {"volumeMounts": []}}}, "spec.containers.main.volumeMounts"),
        (
            {"containers": {"main": {"env": {"NPROC_PER_NODE": {"value": "8"}}}}},
            "spec.containers.main.env.NPROC_PER_NODE",
        ),
        (
            {"containers": {"main": {"env": {"TRAINFORM_RANK_OFFSET": None}}}},
            "spec.containers.main.env.TRAINFORM_RANK_OFFSET",
        ),
        (
            {"containers": {"main": {"resources": {"limits": {GPU: 4}, "requests": {GPU: 4}}}}},
            f"spec.containers.main.resources.limits.{GPU}",
        ),
        ({"containers": {"main": {"resources": {"limits": {"cpu": 8}}}}}, "spec.containers.main.resources.limits.cpu"),
        ({"containers": {"main": {"resources": None}}}, "spec.containers.main.resources"),
        (
            {"containers": {"log": {"image": "log", "resources": {"limits": {GPU: 1}}}}},
            f"spec.containers.log.resources.limits.{GPU}",
        ),
        ({"containers": {"main": None}}, "spec.containers"),
    ],
    ids=str,
)
def test_a_role_keeps_what_the_plan_says_of_its_pods(backend: str, spec: dict[str, Any], where: str) -> None:
    made = experiment(**of_role(spec, backend))
    found = {problem.path for problem in job_problems(made, environment(limits={"host_network": True}))}
    assert found == {f"{ROLE}.{where}"}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "spec",
    [
        {"terminationGracePeriodSeconds": 120, "enableServiceLinks": False},
        {"containers": {"main": {"env": {"HF_HOME": {"value": "/cache"}}}}},
        {
            "containers": {"main": {"volumeMounts": {"cache": {"mountPath": "/cache"}}}},
            "volumes": {"cache": {"emptyDir": {}}},
        },
        {"containers": {"main": {"ports": {"metrics": {"containerPort": 9090}}}}},
        {
            "containers": {
                "main": {"resources": {"requests": {"cpu": 1}, "limits": {"cpu": "4000m", "ephemeral-storage": "1Gi"}}}
            }
        },
        {
            "initContainers": [
                {
                    "name": "compile",
                    "image": "registry.example.com/ai/compile:1",
                    "command": ["compile"],
                    "resources": {"limits": {GPU: 2}},
                }
            ]
        },
        {"containers": {"log": {"image": "registry.example.com/ai/log:1", "args": ["--follow"]}}},
        {"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["storage.example.com"]}]},
        {"restartPolicy": "Never", "schedulerName": "volcano", "dnsPolicy": "ClusterFirst"},
    ],
    ids=str,
)
def test_what_the_plan_says_nothing_of_is_a_patchs(backend: str, spec: dict[str, Any]) -> None:
    assert job_problems(experiment(**of_role(spec, backend)), environment()) == []


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("field", ["hostname", "subdomain"])
def test_the_name_of_a_pod(backend: str, field: str) -> None:
    (problem,) = job_problems(experiment(**of_role({field: "mine"}, backend)), environment())
    assert problem.path == f"{ROLE}.spec.{field}"


IN_ENV = "remove it, or write it in `env`"
MINE = {"value": "mine"}


@pytest.mark.parametrize("backend", ["kubeflow", "kubedl"])
@pytest.mark.parametrize(
    ("container", "patch", "where", "name", "fix"),
    [
        *(
            ("main", {"env": {name: MINE}}, f"env.{name}", name, IN_ENV)
            for name in ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK")
        ),
        (
            "main",
            {"env": {"PYTHONUNBUFFERED": {"valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}}},
            "env.PYTHONUNBUFFERED",
            "PYTHONUNBUFFERED",
            IN_ENV,
        ),
    ],
    ids=str,
)
def test_a_variable_that_the_operator_sets_itself(
    backend: str, container: str, patch: dict[str, Any], where: str, name: str, fix: str
) -> None:
    """It stands behind that of the template, so the container would never see the user's."""
    (problem,) = job_problems(experiment(**of_role({"containers": {container: patch}}, backend)), environment())
    assert problem.path == f"{ROLE}.spec.containers.{container}.{where}"
    assert problem.reason == (
        f"the operator itself sets the variable {name} in pods of the role worker, so the patch has no effect"
    )
    assert (problem.value, problem.fix) == (None, fix)


def test_the_table_has_fields_of_kubernetes() -> None:
    assert POD_FIELDS.keys() <= core_v1.PodSpec.__annotations__.keys()
    assert CONTAINER_DEFAULTS.keys() <= core_v1.Container.__annotations__.keys()


def test_a_patch_is_refused_at_the_part_that_does_it_wherever_that_shows() -> None:
    """Each part alone is fine or not, and what one of them changes shows in pods of another role."""
    port = {"containers": {"main": {"ports": {"rendezvous": {"containerPort": 4000}}, "tty": True}}}
    roles = {
        **POOL,
        "master": {"pod_overrides": {"spec": port}},
        "worker": {"pod_overrides": {"spec": {"hostname": "a"}}},
    }
    found = {problem.path for problem in job_problems(experiment(backend="kubeflow", roles=roles), environment())}
    assert found == {
        "roles.master.pod_overrides.spec.containers.main.ports.rendezvous",
        "roles.worker.pod_overrides.spec.hostname",
    }
    trainer = {"image": "registry.example.com/a:1", "command": ["sleep"], "resourcesPerNode": {"limits": {"cpu": 1}}}
    patch = {"job": {"spec": {"trainer": trainer, "suspend": True}}}
    found = {each.path for each in job_problems(experiment(backend="trainer", manifest_overrides=patch), environment())}
    of_trainer = "manifest_overrides.job.spec.trainer"
    assert found == {f"{of_trainer}.command", f"{of_trainer}.resourcesPerNode.limits.cpu"}


@pytest.mark.parametrize(
    ("patch", "reason", "fix"),
    [
        (
            {"env": [{"name": "HF_HOME", "value": "/cache"}]},
            "the patch removes the variable MASTER_ADDR of the role worker, and the plan sets it",
            "write a mapping of names, such as `env: {NAME: …}`",
        ),
        (
            {"env": {"MASTER_ADDR": None}},
            "the patch removes the variable MASTER_ADDR of the role worker, and the plan sets it",
            "remove it, or write it in `env`",
        ),
        (
            {"env": {"MASTER_ADDR": {"value": "a"}}},
            "the patch changes the variable MASTER_ADDR of the role worker, and the plan sets it",
            "remove it, or write it in `env`",
        ),
        (
            {"volumeMounts": [{"name": "launch", "mountPath": "/mine"}]},
            "the patch removes a part that the plan owns",
            "write a mapping of names, such as `volumeMounts: {NAME: …}`",
        ),
        (
            {"volumeMounts": {"launch": {"mountPath": "/mine"}}},
            "the patch removes a part that the plan owns",
            "remove it",
        ),
    ],
    ids=str,
)
def test_a_list_that_takes_the_place_of_the_plans(patch: dict[str, Any], reason: str, fix: str) -> None:
    (problem,) = job_problems(experiment(**of_role({"containers": {"main": patch}})), environment())
    assert problem.reason.startswith(reason)
    assert problem.fix.startswith(fix)


@pytest.mark.parametrize("backend", ["kubeflow", "kubedl"])
def test_an_operators_own_restart_policy(backend: str) -> None:
    assert job_problems(experiment(**of_role({"restartPolicy": "ExitCode"}, backend)), environment()) == []
    (problem,) = job_problems(experiment(**of_role({"restartPolicy": "OnFailure"}, backend)), environment())
    assert problem.path == f"{ROLE}.spec.restartPolicy"


def test_no_value_of_a_variable_is_shown() -> None:
    spec = {"containers": {"main": {"env": {"MASTER_ADDR": {"value": "hunter2"}}, "args": ["hunter2"]}}}
    problems = job_problems(experiment(**of_role(spec)), environment())
    assert len(problems) == 2
    assert "hunter2" not in "".join(map(str, problems))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("spec", "where"),
    [
        ({"volumes": {"runs": {"persistentVolumeClaim": None, "emptyDir": {}}}}, "spec.volumes.runs"),
        ({"containers": {"main": {"volumeMounts": {"runs": None}}}}, "spec.containers.main.volumeMounts.runs"),
        ({"containers": {"main": {"env": [None]}}}, "spec.containers.main.env"),
    ],
    ids=str,
)
def test_checkpoints_go_to_the_claim(backend: str, spec: dict[str, Any], where: str) -> None:
    """Without it they would be lost with the container."""
    parts = of_role(spec, backend) | {"storage": {"runs": {"size": "2Ti", "mount": "/mnt/output"}}}
    paths = [problem.path for problem in job_problems(experiment(**parts), CLUSTER)]
    assert f"{ROLE}.{where}" in paths
