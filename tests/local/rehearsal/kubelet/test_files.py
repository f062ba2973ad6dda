"""Volumes, users and secrets, as pods see them; with real containers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.local.rehearsal.workloads import full_name, own_state_folder, pod, run_to_success, workload

pytestmark = [
    pytest.mark.usefixtures("docker_daemon"),
    pytest.mark.shows("files and volumes of a pod in its container"),
]
state = pytest.fixture(autouse=True)(own_state_folder)

KEY = b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----\n"
SECRETS = {"ssh": {"id_ed25519": KEY}}
CONFIG_MAPS = {"launch": {"launch.sh": "echo launched as $(id -u)"}}
SSH = {"name": "ssh", "secret": {"secretName": "ssh", "defaultMode": 0o400}}
SEE = "stat -c '%a %u:%g'"


def mounts(**paths: str) -> list[dict[str, Any]]:
    return [{"name": name, "mountPath": path} for name, path in paths.items()]


def test_files_of_root_and_of_a_user(image: str) -> None:
    volumes = [
        SSH,
        {"name": "launch", "configMap": {"name": "launch", "defaultMode": 0o555}},
        {"name": "code", "emptyDir": {}},
    ]
    ask = (
        f"{SEE} /ssh/id_ed25519 /launch/launch.sh /ssh /code; head -c 10 /ssh/id_ed25519; echo; /bin/sh "
        "/launch/launch.sh\ntouch /code/mine && stat -c '%u:%g' /code/mine; touch /ssh/x 2>/dev/null || echo "
        "read-only; id -G"
    )
    paths = mounts(ssh="/ssh", launch="/launch", code="/code")
    root = pod("worker-0", ask, volumes=volumes, main={"volumeMounts": paths})
    security = {"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 2000}
    user = pod("worker-1", ask, volumes=volumes, securityContext=security, main={"volumeMounts": paths})
    display = run_to_success(workload(root, user, secrets=SECRETS, config_maps=CONFIG_MAPS), image)
    # the first line of the key is masked: it is longer than eight characters, its beginning is not
    begin = KEY[:10].decode()
    assert display.of(full_name("worker-0")) == [
        "400 0:0", "555 0:0", "777 0:0", "777 0:0", begin, "launched as 0", "0:0", "read-only", "0",
    ]  # fmt: skip
    assert display.of(full_name("worker-1")) == [
        "440 0:2000", "555 0:2000", "777 0:0", "777 0:0", begin, "launched as 1000", "1000:1000", "read-only",
        "1000 2000",
    ]  # fmt: skip


def test_sub_paths_of_volumes(image: str) -> None:
    volumes = [SSH, {"name": "data", "persistentVolumeClaim": {"claimName": "imagenet"}}]
    parts = [
        {"name": "ssh", "mountPath": "/etc/the-key", "subPath": "id_ed25519"},
        {"name": "data", "mountPath": "/mine", "subPathExpr": "runs/$(NAME)"},
        {"name": "data", "mountPath": "/all"},
    ]
    env = [{"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]
    script = f"{SEE} /etc/the-key /mine; touch /mine/mark; find /all -type f"
    asked = pod("worker-0", script, volumes=volumes, main={"volumeMounts": parts, "env": env})
    assert run_to_success(workload(asked, secrets=SECRETS), image).of(full_name("worker-0")) == [
        "400 0:0", "777 0:0", f"/all/runs/{full_name('worker-0')}/mark",
    ]  # fmt: skip


def test_shared_memory_and_folders_of_the_pod(image: str) -> None:
    volumes = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "24Mi"}}, {"name": "code", "emptyDir": {}}]
    paths = mounts(shm="/dev/shm", code="/etc")  # noqa: S108 - where shared memory is
    init = {
        "name": "code",
        "image": "x",
        "command": ["sh", "-c", "ls /etc | wc -l; echo 1 >/etc/of-init; echo 2 >/dev/shm/of-init"],
    }
    beside = {
        "name": "beside",
        "image": "x",
        "command": ["sh", "-c", "until grep . /dev/shm/of-main 2>/dev/null; do sleep 0.1; done"],
        "volumeMounts": paths,
    }
    script = (
        "cat /etc/of-init /dev/shm/of-init; df -h /dev/shm | tail -1 | tr -s ' ' | cut -d' ' -f1,2; echo of main "
        ">/dev/shm/of-main"
    )
    asked = pod(
        "worker-0",
        script,
        volumes=volumes,
        initContainers=[{**init, "volumeMounts": paths}],
        main={"volumeMounts": paths},
    )
    asked["spec"]["containers"].append(beside)
    plain = pod("worker-1", "df -h /dev/shm | tail -1 | tr -s ' ' | cut -d' ' -f2")
    display = run_to_success(workload(asked, plain), image)
    # an empty volume is empty although the image has files there, and init and main container see the same one
    lines = display.of(full_name("worker-0"))
    # what the two containers say reaches us in any order; Docker itself mounts three files into /etc
    assert [line for line in lines if line != "of main"] == ["3", "1", "2", "tmpfs 24M"]
    assert "of main" in lines
    assert display.of(full_name("worker-1")) == ["64M"]


def test_claims_are_shared_and_gone_with_the_rehearsal(image: str) -> None:
    volumes = [{"name": "out", "persistentVolumeClaim": {"claimName": "checkpoints"}}]
    reads = [{"name": "out", "mountPath": "/out", "readOnly": True}]
    writer = pod(
        "worker-0", "ls /out; echo step-100 >/out/last", volumes=volumes, main={"volumeMounts": mounts(out="/out")}
    )
    reader = pod(
        "worker-1",
        "until grep . /out/last 2>/dev/null; do sleep 0.1; done; touch /out/x 2>/dev/null || echo read-only",
        volumes=volumes,
        main={"volumeMounts": reads},
    )
    for _ in range(2):
        display = run_to_success(workload(writer, reader), image)
        assert display.of(full_name("worker-0")) == []
        assert display.of(full_name("worker-1")) == ["step-100", "read-only"]


def test_a_folder_of_this_machine_in_place_of_a_claim(image: str, tmp_path: Path) -> None:
    (tmp_path / "given").write_text("from this machine")
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "imagenet"}}]
    paths = [*mounts(data="/data"), {"name": "data", "mountPath": "/part", "subPath": "a/b"}]
    asked = pod("worker-0", "cat /data/given; echo; touch /part/made", volumes=volumes, main={"volumeMounts": paths})
    assert run_to_success(workload(asked), image, claims={"imagenet": tmp_path}).of(full_name("worker-0")) == [
        "from this machine"
    ]
    assert (tmp_path / "a/b/made").exists()


def test_a_nodes_own_folders_are_never_this_machines(image: str) -> None:
    volumes = [{"name": "host", "hostPath": {"path": "/"}}]
    main = {"volumeMounts": mounts(host="/host"), "securityContext": {"privileged": True}}
    shown = run_to_success(
        workload(pod("worker-0", "ls /host; test ! -e /dev/loop-control", volumes=volumes, main=main)), image
    )
    assert shown.of(full_name("worker-0")) == []
    assert shown.notes == [
        "hostPath /: an empty folder takes its place, and never the folder of this machine",
        "worker-0, container main: runs without `privileged` here",
    ]


def test_working_directory_and_security_context(image: str) -> None:
    capabilities = {"add": ["IPC_LOCK"], "drop": ["CHOWN"]}
    main = {"workingDir": "/usr/lib", "securityContext": {"capabilities": capabilities, "readOnlyRootFilesystem": True}}
    script = "pwd; grep CapEff /proc/self/status | cut -f2; touch /x 2>/dev/null || echo read-only"
    working_dir, rights, written = run_to_success(workload(pod("worker-0", script, main=main)), image).of(
        full_name("worker-0")
    )
    assert (working_dir, written) == ("/usr/lib", "read-only")
    assert (bool(int(rights, 16) >> 14 & 1), bool(int(rights, 16) & 1)) == (True, False)
