"""What pods mount besides the user's storage (launch files, the SSH identity, the hostfile), and the user that they run
as."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import container, plan, pod, reasons
from trainform.plan.model import Plan

MPI: dict[str, Any] = {"launcher": {"mpi": {"command": ["python"]}}}
ROLES: dict[str, Any] = {
    "master": {},
    "worker": {"replicas": 2},
    "watcher": {"ranked": False, "command": ["python", "watch.py"]},
}
USER = {"user": 1000, "home": "/home/trainer"}


def volumes(made: Plan, role: str) -> dict[str, Any]:
    found = pod(made, role)["spec"].get("volumes", [])
    assert len({volume["name"] for volume in found}) == len(found)
    return {volume["name"]: volume for volume in found}


def mounts(made: Plan, role: str) -> dict[str, Any]:
    return {mount["name"]: mount for mount in container(made, role).get("volumeMounts", [])}


@pytest.mark.parametrize(
    ("run_as", "folder"),
    [
        (None, "/root/.ssh"),
        ({"user": 0}, "/root/.ssh"),
        (USER, "/home/trainer/.ssh"),
        ({**USER, "home": "/home/trainer/"}, "/home/trainer/.ssh"),
    ],
)
def test_the_ssh_identity_is_mounted_in_the_users_home(run_as: dict[str, Any] | None, folder: str) -> None:
    """The mode is 0400, since ssh refuses a key that others can read. For a user other than root the kubelet adds the
    group."""
    made = plan(**MPI, roles=ROLES, run_as=run_as)
    for role in ("master", "worker"):
        assert volumes(made, role)["ssh"]["secret"] == {"secretName": "sdxl-lora-ssh", "defaultMode": 0o400}
        assert mounts(made, role)["ssh"] == {"name": "ssh", "mountPath": folder, "readOnly": True}
    assert "ssh" not in volumes(made, "watcher")


@pytest.mark.parametrize(
    "launcher", [{"torchrun": {"script": "/app/train.py"}}, {"mpi": {"command": ["python"]}}, {"command": ["python"]}]
)
def test_only_deepspeed_jobs_mount_the_hostfile_at_its_default_path(launcher: dict[str, Any]) -> None:
    assert "hostfile" not in volumes(plan(launcher=launcher, roles=ROLES, ssh={}), "master")
    made = plan(launcher={"deepspeed": {"script": "/app/train.py"}}, roles=ROLES)
    assert mounts(made, "worker")["hostfile"]["mountPath"] == "/job"
    assert "hostfile" not in volumes(made, "watcher")


def test_storage_cannot_use_the_mounts_of_the_hostfile_and_the_ssh_identity() -> None:
    launcher = {"deepspeed": {"script": "/app/train.py"}}
    for path, what in (
        ("/job", "DeepSpeed's hostfile"),
        ("/root/.ssh/", "the SSH identity"),
        ("/etc/trainform", "the launch script"),
    ):
        found = reasons(launcher=launcher, roles={"master": {}}, storage={"data": {"claim": "data", "mount": path}})
        assert found == {"storage.data.mount": f"the path is the mount of {what} too (role master)"}
    other = {"data": {"claim": "data", "mount": "/root/.ssh"}}
    assert reasons(storage=other) == {}, "no identity, no clash"
    assert reasons(**MPI, roles={"master": {}}, run_as=USER, storage=other) == {}


@pytest.mark.parametrize(
    ("run_as", "expected"),
    [
        (None, None),
        ({"user": 0}, {"runAsUser": 0, "runAsGroup": 0}),
        ({"user": 0, "group": 100}, {"runAsUser": 0, "runAsGroup": 100}),
        (USER, {"runAsUser": 1000, "runAsGroup": 1000, "runAsNonRoot": True, "fsGroup": 1000}),
        ({**USER, "group": 0}, {"runAsUser": 1000, "runAsGroup": 0, "runAsNonRoot": True, "fsGroup": 0}),
        ({**USER, "group": 2000}, {"runAsUser": 1000, "runAsGroup": 2000, "runAsNonRoot": True, "fsGroup": 2000}),
    ],
)
def test_the_user_of_all_containers(run_as: dict[str, Any] | None, expected: dict[str, Any] | None) -> None:
    """Only users other than root get an fsGroup: root can read everything, and a group must not read root's key."""
    made = plan(roles=ROLES, run_as=run_as)
    for role in ROLES:
        assert pod(made, role)["spec"].get("securityContext") == expected
