"""What the API server takes in pods and a kubelet does not, or no process can live with: the pods would wait on their nodes for ever, or fail.

Source: Kubernetes 1.34.4, `pkg/volume/emptydir` and `pkg/kubelet/kuberuntime`, `pkg/probe` (ResolveContainerPort); runc 1.3.3, `libcontainer/configs/validate`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from trainform.errors import list_names
from trainform.manifests.folders import HIDES, TOO_LONG, hides_system, is_inside, is_too_long, normalized
from trainform.manifests.handlers import named_ports
from trainform.manifests.served.mistake import Mistake
from trainform.manifests.shapes import mapping, mappings

_Value = dict[str, Any]

MEMORY, HUGE_PAGES = "Memory", "HugePages"
READ_ONLY = ("configMap", "downwardAPI", "projected", "secret")
"""Types of volumes that a container can only read, so that no folder can be made in them for another mount."""
_CONTEXT, _USER, _NON_ROOT = "securityContext", "runAsUser", "runAsNonRoot"


def medium(folder: _Value) -> Iterator[Mistake]:
    """The medium of a folder of the pod that no node has."""
    given = str(folder.get("medium", ""))
    if given not in ("", MEMORY, HUGE_PAGES) and not given.startswith(f"{HUGE_PAGES}-"):
        fix = f"write {MEMORY}, or remove it for the disk of the node"
        yield Mistake("medium", given, "no node has a medium of this name, and the pods would never start", fix)


def working_folder(container: _Value) -> Iterator[Mistake]:
    """A folder that is not a whole path."""
    folder = str(container.get("workingDir", ""))
    if folder and not folder.startswith("/"):
        reason = "the folder is not an absolute path, and no container starts in it"
        yield Mistake("workingDir", folder, reason, "write a whole path, such as /app")


def handler_ports(container: _Value) -> Iterator[Mistake]:
    """Probes and hooks that ask at a port of a name that the container has not. Each of them fails on the node: a liveness probe ends the container again
    and again, a `postStart` hook ends it at its start, and a `preStop` hook does nothing."""
    names = {str(port.get("name")) for port in mappings(container.get("ports"))}
    for place, port in named_ports(container).items():
        if port not in names:
            reason = "the container has no port of this name, so that it fails on every node"
            fix = f"write one of {list_names(sorted(names))}, or a number" if names else "write its number"
            yield Mistake(place, port, reason, fix)


def mounts(spec: _Value) -> Iterator[Mistake]:
    """Mounts over what every process needs, at one place, and inside a volume in which no folder can be made."""
    files = read_only(spec)
    for field in ("initContainers", "containers"):
        for container in mappings(spec.get(field)):
            own = mappings(container.get("volumeMounts"))
            for index, mount in enumerate(own):
                found = mistaken(str(mount.get("mountPath")), own[:index], own, files)
                if found is not None:
                    where = f"{field}.{container.get('name')}.volumeMounts.{mount.get('name')}.mountPath"
                    yield Mistake(where, mount.get("mountPath"), *found)


def read_only(spec: _Value) -> frozenset[str]:
    """The names of the pod's volumes that can only be read."""
    volumes = mappings(spec.get("volumes"))
    return frozenset(str(volume.get("name")) for volume in volumes if not volume.keys().isdisjoint(READ_ONLY))


def mistaken(path: str, before: list[_Value], mounts: list[_Value], files: Collection[str]) -> tuple[str, str] | None:
    """Reason and fix for a mount at this path, None where it is right. before: those of the container's mounts that were there first. files: the
    names of the volumes that can only be read."""
    if hides_system(path):
        return HIDES
    if is_too_long(path):
        return TOO_LONG
    for other in before:
        there = str(other.get("mountPath"))
        if there != path and normalized(there) == normalized(path):
            return f"the path is that of the mount {other.get('name')} too", "choose another path"
    for other in mounts:
        there = str(other.get("mountPath"))
        if other.get("name") in files and is_inside(path, there):
            reason = f"the path is inside {there}, which can only be read: the container would never start"
            return reason, "choose a folder of your own, such as /mnt/data"
    return None


def root(spec: _Value) -> Iterator[Mistake]:
    """Containers that are to run as root, and must not. What a container does not say, its pod says."""
    for field in ("initContainers", "containers"):
        for container in mappings(spec.get(field)):
            holders = {
                f"{field}.{container.get('name')}.{_CONTEXT}": mapping(container.get(_CONTEXT)),
                _CONTEXT: mapping(spec.get(_CONTEXT)),
            }
            user, non_root = _said(holders, _USER), _said(holders, _NON_ROOT)
            if user is not None and non_root is not None and user[1] == 0 and non_root[1] is True:
                reason = "the container would run as root (runAsUser: 0), and the node starts no such container"
                fix = f"write `{_USER}: 1000` with the number of a user of the image, or remove {_NON_ROOT}"
                yield Mistake(non_root[0], True, reason, fix, (user[0],))


def _said(holders: dict[str, _Value], field: str) -> tuple[str, object] | None:
    """The place and the value of the field in the first one of the holders that has it."""
    return next(((f"{where}.{field}", held[field]) for where, held in holders.items() if field in held), None)
