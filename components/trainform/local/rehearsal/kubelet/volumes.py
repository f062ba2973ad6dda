"""The volume of Docker's that takes the place of each volume of a pod, and the mounts of its containers.

Nothing is written into folders of this machine, except into a folder that the user gives for a claim.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import posixpath
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from trainform.errors import InputError, Problem
from trainform.local.rehearsal.kubelet.env import Sources, value_of
from trainform.local.rehearsal.workload import containers, pod_name
from trainform.plan.variables import expanded
from trainform.spec.quantities import amount

DEFAULT_MODE = 0o644
GROUP_MAY_READ = 0o440  # what the kubelet adds to files of read-only volumes where the pod has an fsGroup


@dataclasses.dataclass(frozen=True)
class Entry:
    """A file of root, or a folder if `data` is None. The path has no leading `/`."""

    path: str
    mode: int
    group: int = 0
    data: bytes | None = dataclasses.field(default=None, repr=False)


def volume_entries(sources: Sources, volume: dict[str, Any], group: int | None) -> Iterator[Entry]:
    """Yield the volume's files as the kubelet writes them. group: the pod's fsGroup. May raise UnknownSourceError."""
    if "secret" in volume:
        kind, reference, read, name = "Secret", volume["secret"], sources.secret, volume["secret"]["secretName"]
    elif "configMap" in volume:
        kind, reference, read, name = "ConfigMap", volume["configMap"], sources.config_map, volume["configMap"]["name"]
    else:
        return
    data = read(name, reference.get("optional", False))
    for entry in _chosen(data, reference, f"{kind} {name}", reference.get("defaultMode", DEFAULT_MODE)):
        if group is None:
            yield entry
        else:
            yield dataclasses.replace(entry, mode=entry.mode | GROUP_MAY_READ, group=group)


def _chosen(data: Mapping[str, bytes], reference: dict[str, Any], name: str, mode: int) -> Iterator[Entry]:
    """Yield a file for each key, or, with `items`, a file for each item at the path that it gives."""
    items = reference.get("items")
    if items is None:
        yield from (Entry(key, mode, data=value) for key, value in data.items())
        return
    for item in items:
        value = value_of(data, item["key"], name, reference.get("optional", False))
        if value is not None:
            yield Entry(item["path"], item.get("mode", mode), data=value)


def archive(entries: Iterable[Entry]) -> bytes:
    """Return a tar archive of the entries, each with its mode and group."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for entry in entries:
            info = tarfile.TarInfo(entry.path)
            info.mode, info.gid = entry.mode, entry.group
            info.type = tarfile.DIRTYPE if entry.data is None else tarfile.REGTYPE
            data = b"" if entry.data is None else entry.data
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


EVERYBODY, IN_FILE_FOLDERS = 0o777, 0o755  # the kubelet's folders are open to all
KINDS = ("configMap", "emptyDir", "hostPath", "persistentVolumeClaim", "secret")


class Volume(Struct, frozen=True):
    """A volume that pods mount. Two pods with the same key share it.

    folder: a folder of this machine that takes its place. memory: it is a file system in memory, of at most `size`
    bytes where that is given. read_only: it is read-only in every container.
    """

    key: str
    folder: Path | None = None
    memory: bool = False
    size: int | None = None
    read_only: bool = False


class Mount(Struct, frozen=True):
    """A volume at a path of a container, or only the part `sub_path` of the volume ("" is the whole)."""

    volume: Volume
    target: str
    sub_path: str
    read_only: bool


def fs_group(pod: dict[str, Any]) -> int | None:
    """Return the group that owns the pod's volumes; None if the pod sets none."""
    group: int | None = pod["spec"].get("securityContext", {}).get("fsGroup")
    return group


def pod_volumes(pod: dict[str, Any], node: str, folders: Mapping[str, Path]) -> dict[str, Volume]:
    """Return the pod's volumes by name, without those of tokens. InputError for an unknown kind.

    folders: the folders that take the place of claims, by the claim's name.
    """
    specs = [spec for spec in pod["spec"].get("volumes", []) if not holds_token(spec)]
    return {spec["name"]: _replacement(pod, node, spec, folders) for spec in specs}


def holds_token(volume: dict[str, Any]) -> bool:
    """Return True if it is the volume with the token that the API server adds to every pod."""
    return any("serviceAccountToken" in source for source in volume.get("projected", {}).get("sources", []))


def _replacement(pod: dict[str, Any], node: str, spec: dict[str, Any], folders: Mapping[str, Path]) -> Volume:
    """Return the volume that takes the place of the pod's."""
    own_key = f"{pod_name(pod)}.{spec['name']}"
    kind = next((key for key in spec if key != "name"), "emptyDir")
    if kind in ("configMap", "secret"):
        return Volume(own_key, memory=True, read_only=True)
    if kind == "emptyDir":
        asks = spec.get("emptyDir", {})
        if asks.get("medium") != "Memory":
            return Volume(own_key)
        size = None if "sizeLimit" not in asks else int(amount(str(asks["sizeLimit"])))
        return Volume(own_key, memory=True, size=size)
    if kind == "persistentVolumeClaim":
        claim = spec["persistentVolumeClaim"]
        name = claim["claimName"]
        return Volume(f"claim.{name}", folder=folders.get(name), read_only=claim.get("readOnly", False))
    if kind == "hostPath":
        # a folder of a node may hold anything; an empty one takes its place, and the pods of that node share it
        path = spec["hostPath"]["path"]
        return Volume(f"host.{node}.{hashlib.sha256(path.encode()).hexdigest()[:8]}")
    path, fix = f"pods.{pod_name(pod)}.volumes.{spec['name']}", f"use one of {', '.join(KINDS)} for the rehearsal"
    raise InputError([Problem(path, None, f"is a {kind}, which a rehearsal does not know", fix)])


def host_paths(pods: Iterable[dict[str, Any]]) -> list[str]:
    """Return the hostPaths of all pods, sorted."""
    specs = [spec for pod in pods for spec in pod["spec"].get("volumes", [])]
    return sorted({spec["hostPath"]["path"] for spec in specs if "hostPath" in spec})


def container_mounts(
    container: dict[str, Any], volumes: Mapping[str, Volume], env: Mapping[str, str]
) -> tuple[Mount, ...]:
    """Return the mounts of a container, without those of volumes that were left out."""
    return tuple(
        Mount(
            volume := volumes[mount["name"]],
            mount["mountPath"],
            _sub_path(mount, env),
            bool(mount.get("readOnly", False)) or volume.read_only,
        )
        for mount in container.get("volumeMounts", [])
        if mount["name"] in volumes
    )


def _sub_path(mount: dict[str, Any], env: Mapping[str, str]) -> str:
    path = expanded(mount["subPathExpr"], env) if "subPathExpr" in mount else mount.get("subPath", "")
    return "" if path == "" else posixpath.normpath(path)


def needed_folders(volume: Volume, files: Iterable[str], mounts: Iterable[Mount]) -> list[Entry]:
    """Return the folders to create before a container starts: those above files, and those of each `sub_path`."""
    files = set(files)
    above = {folder: IN_FILE_FOLDERS for path in files for folder in _above(path)}
    alone = {
        path: EVERYBODY
        for mount in mounts
        if mount.volume.key == volume.key and mount.sub_path not in {"", *files}
        for path in (*_above(mount.sub_path), mount.sub_path)
    }
    return [Entry(path, mode) for path, mode in sorted({**alone, **above}.items())]


def _above(path: str) -> list[str]:
    """Return `a` and `a/b` of `a/b/c`."""
    parts = path.split("/")
    return ["/".join(parts[:count]) for count in range(1, len(parts))]


def used_volumes(pod: dict[str, Any], volumes: Mapping[str, Volume]) -> list[Volume]:
    """Return the volumes that containers of the pod mount, each once."""
    names = {mount["name"] for container in containers(pod) for mount in container.get("volumeMounts", [])}
    return list({volume.key: volume for name, volume in volumes.items() if name in names}.values())
