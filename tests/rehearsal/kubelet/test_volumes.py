"""The volumes that take the place of a pod's volumes, and the files in them; without Docker."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.rehearsal.workloads import full_name, pod, sources
from trainform.errors import InputError
from trainform.rehearsal.docker.request_bodies import VolumePaths, docker_mount, volume_options
from trainform.rehearsal.kubelet.contents import Entry, archive, volume_entries
from trainform.rehearsal.kubelet.fields import UnknownSourceError
from trainform.rehearsal.kubelet.volumes import Volume, container_mounts, host_paths, needed_folders, pod_volumes

KEYS = {"ssh": {"id_ed25519": b"PRIVATE", "id_ed25519.pub": b"public"}}
FILES = {"launch": {"launch.sh": "exec torchrun"}}
NODE = "gpu-node-7"


def entries(volume: dict[str, Any], group: int | None = None) -> dict[str, tuple[int, int, bytes | None]]:
    """Mode, group and content by path."""
    asked = pod("worker-0")
    asked["metadata"]["annotations"] = {"note": 'a "b"\nc'}
    found = volume_entries(sources(asked, config_maps=FILES, secrets=KEYS), volume, group)
    return {entry.path: (entry.mode, entry.group, entry.data) for entry in found}


def volumes(*specs: dict[str, Any], folders: dict[str, Path] | None = None, **security: int) -> dict[str, Volume]:
    asked = pod("worker-0", volumes=list(specs), securityContext=security)
    return pod_volumes(asked, NODE, {} if folders is None else folders)


def test_every_key_is_a_file() -> None:
    assert entries({"secret": {"secretName": "ssh"}}) == {
        "id_ed25519": (0o644, 0, b"PRIVATE"),
        "id_ed25519.pub": (0o644, 0, b"public"),
    }
    assert entries({"configMap": {"name": "launch", "defaultMode": 0o555}}) == {
        "launch.sh": (0o555, 0, b"exec torchrun")
    }


def test_items_choose_keys_paths_and_modes() -> None:
    items = [{"key": "id_ed25519", "path": "keys/user", "mode": 0o400}]
    assert entries({"secret": {"secretName": "ssh", "items": items}}) == {"keys/user": (0o400, 0, b"PRIVATE")}


@pytest.mark.parametrize(
    ("mode", "seen"), [(0o400, 0o440), (0o600, 0o640), (0o644, 0o644), (0o555, 0o555), (0o000, 0o440)]
)
def test_a_group_may_read(mode: int, seen: int) -> None:
    """What the kubelet does for fsGroup, and why SSH needs its key not to be owned by its user then."""
    made = entries({"secret": {"secretName": "ssh", "defaultMode": mode}}, group=2000)
    assert {entry[:2] for entry in made.values()} == {(seen, 2000)}


def test_projected_volumes_hold_several_sources() -> None:
    projected = {
        "defaultMode": 0o440,
        "sources": [
            {"configMap": {"name": "launch"}},
            {"secret": {"name": "ssh", "items": [{"key": "id_ed25519", "path": "key"}]}},
            {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {"secret": {"name": "none", "optional": True}},
        ],
    }
    assert entries({"projected": projected}) == {
        "launch.sh": (0o440, 0, b"exec torchrun"),
        "key": (0o440, 0, b"PRIVATE"),
        "name": (0o440, 0, full_name("worker-0").encode()),
    }


def test_annotations_as_a_file() -> None:
    items = [{"path": "notes", "fieldRef": {"fieldPath": "metadata.annotations"}}]
    assert entries({"downwardAPI": {"items": items}})["notes"][2] == b'note="a \\"b\\"\\nc"'


@pytest.mark.parametrize(
    ("volume", "reason"),
    [
        ({"secret": {"secretName": "none"}}, "there is no Secret none"),
        ({"configMap": {"name": "launch", "items": [{"key": "k", "path": "p"}]}}, "ConfigMap launch has no key k"),
        (
            {"downwardAPI": {"items": [{"path": "cpus", "resourceFieldRef": {"resource": "limits.cpu"}}]}},
            "the file cpus comes from no field of the pod",
        ),
    ],
)
def test_missing_sources_are_errors(volume: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnknownSourceError, match=reason):
        entries(volume)


def test_an_archive_keeps_modes_and_groups() -> None:
    made = archive([Entry("etc/ssh", 0o2777, 1000), Entry("etc/ssh/key", 0o440, 1000, b"PRIVATE")])
    with tarfile.open(fileobj=io.BytesIO(made)) as tar:
        folder, key = tar.getmembers()
        content = tar.extractfile(key)
        assert content is not None
        assert (folder.isdir(), folder.mode, folder.gid, folder.uid) == (True, 0o2777, 1000, 0)
        assert (key.mode, key.gid, key.uid, content.read()) == (0o440, 1000, 0, b"PRIVATE")


def test_files_lie_in_memory_and_are_read_only() -> None:
    made = volumes(
        {"name": "ssh", "secret": {"secretName": "ssh"}}, {"name": "launch", "configMap": {"name": "launch"}}
    )
    assert made["ssh"] == Volume(f"{full_name('worker-0')}.ssh", memory=True, mode=0o1777, read_only=True)
    assert made["launch"] == Volume(f"{full_name('worker-0')}.launch", memory=True, mode=0o777, read_only=True)


def test_empty_folders_on_disk_and_in_memory() -> None:
    made = volumes(
        {"name": "code", "emptyDir": {}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Mi"}},
        {"name": "scratch", "emptyDir": {"medium": "Memory"}},
    )
    assert [volume_options(made[name]) for name in ("code", "shm", "scratch")] == [
        {},
        {"type": "tmpfs", "device": "tmpfs", "o": f"mode=1777,size={64 << 20}"},
        {"type": "tmpfs", "device": "tmpfs", "o": "mode=1777"},
    ]


def test_a_claim_is_shared_by_all_pods_and_a_nodes_folder_by_its_own() -> None:
    specs = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "imagenet", "readOnly": True}},
        {"name": "ib", "hostPath": {"path": "/dev/infiniband"}},
    ]
    first, second, elsewhere = (
        pod_volumes(pod(name, volumes=specs), node, {})
        for name, node in (("worker-0", NODE), ("worker-1", NODE), ("worker-2", "gpu-node-8"))
    )
    assert first == second
    assert first["data"] == elsewhere["data"] == Volume("claim.imagenet", read_only=True)
    assert first["ib"].key != elsewhere["ib"].key
    assert first["ib"].folder is None
    assert host_paths([pod("worker-0", volumes=specs)]) == ["/dev/infiniband"]


def test_a_folder_in_place_of_a_claim(tmp_path: Path) -> None:
    spec = {"name": "data", "persistentVolumeClaim": {"claimName": "imagenet"}}
    volume = volumes(spec, folders={"imagenet": tmp_path}, fsGroup=2000)["data"]
    assert (volume.folder, volume.group) == (tmp_path, 0)  # whose folder it is stays as it is


def test_a_group_owns_the_pods_volumes() -> None:
    made = volumes({"name": "code", "emptyDir": {}}, {"name": "ssh", "secret": {"secretName": "ssh"}}, fsGroup=2000)
    assert [(volume.mode, volume.group) for volume in made.values()] == [(0o2777, 2000), (0o3777, 2000)]


def test_the_token_for_the_server_is_left_out() -> None:
    token = {"name": "kube-api-access", "projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
    assert volumes(token) == {}
    mounts = {
        "volumeMounts": [{"name": "kube-api-access", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}]
    }
    assert container_mounts(mounts, {}, {}) == ()


def test_an_unknown_kind_is_an_error() -> None:
    with pytest.raises(InputError) as raised:
        volumes({"name": "driver", "csi": {"driver": "nfs.csi.k8s.io"}}, {"name": "old", "nfs": {"server": "nas"}})
    assert [(problem.path, problem.reason) for problem in raised.value.problems] == [
        (f"pods.{full_name('worker-0')}.volumes.{name}", f"is a {kind}, which a rehearsal does not know")
        for name, kind in (("driver", "csi"), ("old", "nfs"))
    ]


def test_sub_paths_of_volumes(tmp_path: Path) -> None:
    made = volumes(
        {"name": "ssh", "secret": {"secretName": "ssh"}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "imagenet"}},
        {"name": "out", "persistentVolumeClaim": {"claimName": "out"}},
        folders={"out": tmp_path},
    )
    container = {
        "volumeMounts": [
            {"name": "ssh", "mountPath": "/root/.ssh"},
            {"name": "ssh", "mountPath": "/etc/key", "subPath": "id_ed25519"},
            {"name": "data", "mountPath": "/data", "subPathExpr": "runs/$(RUN)/", "readOnly": True},
            {"name": "out", "mountPath": "/out", "subPath": "a"},
        ]
    }
    mounts = container_mounts(container, made, {"RUN": "7"})
    paths = VolumePaths(
        {made["ssh"].key: "t.ssh", made["data"].key: "t.data"}, {made["ssh"].key: "/d/ssh", made["data"].key: "/d/data"}
    )
    whole, *parts = (docker_mount(mount, paths) for mount in mounts)
    assert whole == {
        "Type": "volume", "Source": "t.ssh", "Target": "/root/.ssh", "ReadOnly": True, "VolumeOptions": {"NoCopy": True},
    }  # fmt: skip
    assert [(part["Type"], part["Source"], part["ReadOnly"]) for part in parts] == [
        ("bind", "/d/ssh/id_ed25519", True),
        ("bind", "/d/data/runs/7", True),
        ("bind", f"{tmp_path}/a", False),
    ]
    # what is mounted alone must be there before; a file is there already
    assert needed_folders(made["ssh"], ["id_ed25519", "sub/config"], mounts) == [Entry("sub", 0o755)]
    assert needed_folders(made["data"], [], mounts) == [Entry("runs", 0o777), Entry("runs/7", 0o777)]
