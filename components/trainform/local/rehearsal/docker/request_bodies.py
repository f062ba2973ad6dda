"""The bodies of requests to Docker's API that create containers (`POST /containers/create`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from trainform.local.rehearsal.kubelet.placement import Sandbox, search_domain
from trainform.local.rehearsal.kubelet.volumes import EVERYBODY, Mount, Volume, fs_group
from trainform.plan.variables import expanded

SANDBOX_FOLDER = "trainform"  # where a sandbox holds the volumes of its pods
IDLE = ["sleep", "2147483647"]
LOCAL_LOGS = {
    "Type": "json-file",
    "Config": {},
}  # the daemon's default driver may be one whose logs cannot be read back
ROOT = "0"


class Image(Struct, frozen=True):
    """An image on this machine. `user` is the user that the image sets itself, "" for root."""

    name: str
    user: str


def sandbox_body(sandbox: Sandbox, network: str, namespace: str, image: str, held: Sequence[str]) -> dict[str, Any]:
    """Return the idle container that owns the network of a pod, and keeps its volumes in memory alive.

    `no-tld-query`: the C library does not ask for a name without a dot, which Docker publishes and Kubernetes does not.
    """
    return {
        "Image": image,
        "User": ROOT,
        "Entrypoint": IDLE,
        "Cmd": [],
        "Hostname": sandbox.hostname,
        "Domainname": sandbox.domain,
        "HostConfig": {
            "NetworkMode": network,
            "CapDrop": ["ALL"],
            "DnsSearch": [search_domain(namespace)],
            "DnsOptions": ["ndots:5", "no-tld-query"],
            "LogConfig": LOCAL_LOGS,
            "Mounts": [volume_mount(name, f"/{SANDBOX_FOLDER}/{name}", read_only=False) for name in held],
        },
        "NetworkingConfig": {"EndpointsConfig": {network: {"Aliases": list(sandbox.aliases)}}},
    }


def forwarder_body(command: Sequence[str], aliases: Sequence[str], network: str, image: str) -> dict[str, Any]:
    """Return the container that forwards the connections of a Service."""
    return {
        "Image": image,
        "User": ROOT,
        "Entrypoint": list(command),
        "Cmd": [],
        "HostConfig": {"NetworkMode": network, "LogConfig": LOCAL_LOGS},
        "NetworkingConfig": {"EndpointsConfig": {network: {"Aliases": list(aliases)}}},
    }


def container_body(
    pod: dict[str, Any],
    container: dict[str, Any],
    image: Image,
    env: Mapping[str, str],
    mounts: Sequence[dict[str, Any]],
    sandbox: str,
) -> dict[str, Any]:
    """Return a container in its pod's network, without requests and limits: one machine runs the whole job."""
    words = {
        field: [expanded(word, env) for word in container[key]]
        for key, field in (("command", "Entrypoint"), ("args", "Cmd"))
        if container.get(key)
    }
    security = container.get("securityContext", {})
    capabilities = security.get("capabilities", {})
    group = fs_group(pod)
    groups = [
        *pod["spec"].get("securityContext", {}).get("supplementalGroups", []),
        *([] if group is None else [group]),
    ]
    host = {
        "NetworkMode": f"container:{sandbox}",
        "Mounts": list(mounts),
        "GroupAdd": [str(number) for number in groups],
        "CapAdd": capabilities.get("add", []),
        "CapDrop": capabilities.get("drop", []),
        "ReadonlyRootfs": security.get("readOnlyRootFilesystem", False),
        "SecurityOpt": ["no-new-privileges"] if security.get("allowPrivilegeEscalation") is False else [],
        "LogConfig": LOCAL_LOGS,
        "Init": False,
    }
    return {
        "Image": image.name,
        "User": user_of(pod, container, image),
        "WorkingDir": container.get("workingDir", ""),
        "OpenStdin": container.get("stdin", False),
        "Env": [f"{name}={value}" for name, value in env.items()],
        **words,
        "HostConfig": host,
    }


def user_of(pod: dict[str, Any], container: dict[str, Any], image: Image) -> str:
    """Return `user` or `user:group`; "" for the image's own. The container's security context wins over the pod's."""
    security = {**pod["spec"].get("securityContext", {}), **container.get("securityContext", {})}
    user, group = security.get("runAsUser"), security.get("runAsGroup")
    if group is None:
        return "" if user is None else str(user)
    own = image.user.partition(":")[0]
    known = own if own else ROOT
    return f"{known if user is None else user}:{group}"


def docker_mount(mount: Mount, places: Mapping[str, tuple[str, str]]) -> dict[str, Any]:
    """Return a mount of a container. places: name and folder of each volume on Docker's machine, by its key.

    A part of a volume is mounted from the folder in which Docker keeps the volume.
    """
    volume = mount.volume
    if volume.folder is None and not mount.sub_path:
        return volume_mount(places[volume.key][0], mount.target, mount.read_only)
    folder = places[volume.key][1] if volume.folder is None else str(volume.folder)
    source = f"{folder}/{mount.sub_path}" if mount.sub_path else folder
    return {"Type": "bind", "Source": source, "Target": mount.target, "ReadOnly": mount.read_only}


def volume_mount(name: str, target: str, read_only: bool) -> dict[str, Any]:
    """Return a mount of a Docker volume. NoCopy: Kubernetes does not copy files of the image into an empty volume."""
    return {
        "Type": "volume",
        "Source": name,
        "Target": target,
        "ReadOnly": read_only,
        "VolumeOptions": {"NoCopy": True},
    }


def volume_options(volume: Volume) -> dict[str, str]:
    """Return the options of Docker's `local` driver: none for a volume on disk, a tmpfs for a volume in memory."""
    if not volume.memory:
        return {}
    size = "" if volume.size is None else f",size={volume.size}"
    return {"type": "tmpfs", "device": "tmpfs", "o": f"mode={EVERYBODY:o}{size}"}
