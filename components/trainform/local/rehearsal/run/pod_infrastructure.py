"""Problems of a workload, and the objects that exist before its pods run: the network, volumes, sandboxes, and for each
Service with its own address a container that forwards connections to the pods."""

from __future__ import annotations

import dataclasses
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any

from msgspec import Struct

from trainform.errors import InputError, Problem, TrainformError
from trainform.local import forward
from trainform.local.rehearsal.docker.engine import Engine
from trainform.local.rehearsal.docker.request_bodies import (
    SANDBOX_FOLDER,
    Image,
    container_body,
    docker_mount,
    forwarder_body,
    sandbox_body,
    volume_options,
)
from trainform.local.rehearsal.kubelet.env import Place, Sources, container_env
from trainform.local.rehearsal.kubelet.placement import Sandbox, own_alias, place_pods, service_names
from trainform.local.rehearsal.kubelet.volumes import (
    EVERYBODY,
    Entry,
    Volume,
    archive,
    container_mounts,
    fs_group,
    needed_folders,
    pod_volumes,
    used_volumes,
    volume_entries,
)
from trainform.local.rehearsal.workload import Workload, containers, pod_name, selects, service_is_headless

EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - of a container


class Forwarder(Struct, frozen=True):
    """The names and routes of a Service, and one of its pods, in whose image the forwarder runs."""

    service: str
    aliases: tuple[str, ...]
    routes: tuple[tuple[int, tuple[tuple[str, int], ...]], ...]
    pod: str

    def command(self) -> list[str]:
        """Return the command of its container."""
        routes = [(EVERY_ADDRESS, *route) for route in self.routes]
        return ["python3", "-c", Path(forward.__file__).read_text(encoding="utf-8"), json.dumps(routes)]


def forwarders(workload: Workload) -> list[Forwarder]:
    """Return a forwarder for each Service with an address and a pod. InputError with each port it cannot forward."""
    found, problems = [], []
    for service in workload.services:
        selected = [pod for pod in workload.pods if selects(service, pod)]
        if service_is_headless(service) or not selected:
            continue
        name = service["metadata"]["name"]
        routes = []
        for index, port in enumerate(service["spec"].get("ports", [])):
            targets = tuple(_targets(port, selected))
            if port.get("protocol", "TCP") != "TCP" or not targets:
                reason = "leads to no TCP port of a pod, and a rehearsal forwards only TCP"
                fix = "give `targetPort` a number, or the name of a port of the pods"
                problems.append(Problem(f"services.{name}.ports[{index}]", port.get("targetPort"), reason, fix))
            routes.append((port["port"], targets))
        aliases = (name, *service_names(name, workload.namespace))
        found.append(Forwarder(name, aliases, tuple(routes), pod_name(selected[0])))
    if problems:
        raise InputError(problems)
    return found


def _targets(port: dict[str, Any], pods: list[dict[str, Any]]) -> Iterator[tuple[str, int]]:
    """Yield the name and port of each pod behind a port of the Service. A named target port is looked up in the pod."""
    target = port.get("targetPort", port["port"])
    for pod in pods:
        declared = [declared for container in pod["spec"]["containers"] for declared in container.get("ports", [])]
        named = {entry["name"]: entry["containerPort"] for entry in declared if "name" in entry}
        number = target if isinstance(target, int) else named.get(target)
        if number is not None:
            yield own_alias(pod_name(pod)), number


def checked_volumes(
    workload: Workload, sandboxes: Mapping[str, Sandbox], folders: Mapping[str, Path]
) -> dict[str, dict[str, Volume]]:
    """Return the volumes of each pod by name. InputError for unknown kinds and unused folders, which replace claims."""
    found = {pod_name(pod): pod_volumes(pod, sandboxes[pod_name(pod)].node, folders) for pod in workload.pods}
    keys = {volume.key for volumes in found.values() for volume in volumes.values()}
    check_folders(folders, {key.partition(".")[2] for key in keys if key.startswith("claim.")})
    return found


def check_folders(folders: Iterable[str], claims: Set[str]) -> None:
    """Raise InputError for folders that replace other claims than these."""
    known = f"claims are: {', '.join(sorted(claims))}" if claims else "the pods mount no claim"
    unused = [name for name in folders if name not in claims]
    if unused:
        raise InputError([Problem("--claim", name, "no pod mounts such a claim", known) for name in unused])


class RunningSandbox(Struct, frozen=True):
    """The container of a sandbox, and its address."""

    container: str
    ip: str


class PodInfrastructure:
    """The network, volumes, sandboxes and forwarders of a workload. InputError for what cannot be emulated."""

    def __init__(self, engine: Engine, workload: Workload, folders: Mapping[str, Path]) -> None:
        self._engine = engine
        self._workload = workload
        self._images: Mapping[str, Image] = {}
        self._sandboxes = place_pods(workload)
        self._forwarders = forwarders(workload)
        self._volumes = checked_volumes(workload, self._sandboxes, folders)
        self._running_sandboxes: dict[str, RunningSandbox] = {}
        self._numbers = itertools.count()
        self._network = ""
        self._places: dict[str, tuple[str, str]] = {}
        """Name and folder of each volume in Docker, by the volume's key."""

    def create(self, images: Mapping[str, Image]) -> None:
        """Create everything before the first pod starts: as in a cluster, names are in DNS before pods are ready."""
        self._images = images
        self._network = self._engine.make_network()
        used = (volume for pod in self._workload.pods for volume in used_volumes(pod, self._volumes[pod_name(pod)]))
        needed = {volume.key: volume for volume in used if volume.folder is None}
        self._places.update(zip(needed, self._engine.each(self._make_volume, needed.values()), strict=True))
        self._engine.each(self._start_sandbox, self._sandboxes.values())
        self._engine.each(self._start_forwarder, self._forwarders)

    def make_container(self, pod: dict[str, Any], container: dict[str, Any]) -> str:
        """Create a container of a pod, and return its id."""
        name = pod_name(pod)
        sources = self._sources(pod)
        image = self._images[container["image"]]
        env = container_env(sources, container)
        mounts = [docker_mount(mount, self._places) for mount in container_mounts(container, self._volumes[name], env)]
        body = container_body(pod, container, image, env, mounts, self._running_sandboxes[name].container)
        return self._engine.make_container(
            f"{name}-{container['name']}-{next(self._numbers)}", body, pod=name, container=container["name"]
        )

    def _sources(self, pod: dict[str, Any]) -> Sources:
        name = pod_name(pod)
        return Sources(self._workload, pod, Place(self._sandboxes[name].node, self._running_sandboxes[name].ip))

    def _make_volume(self, volume: Volume) -> tuple[str, str]:
        return self._engine.make_volume(f"{volume.key}.{next(self._numbers)}", volume_options(volume))

    def _start_sandbox(self, sandbox: Sandbox) -> None:
        pod = self._workload.pod(sandbox.name)
        used = used_volumes(pod, self._volumes[sandbox.name])
        held = [self._places[volume.key][0] for volume in used if volume.folder is None]
        image = self._images[pod["spec"]["containers"][0]["image"]]
        body = sandbox_body(sandbox, self._network, self._workload.namespace, image.name, held)
        container = self._engine.make_container(f"{sandbox.name}-sandbox-{next(self._numbers)}", body)
        self._engine.start(container)
        address = self._engine.address(container, self._network)
        self._running_sandboxes[sandbox.name] = RunningSandbox(container, address)
        self._write_volumes(pod, container)

    def _write_volumes(self, pod: dict[str, Any], container: str) -> None:
        """Write the pod's files into its volumes, and make the folders that it mounts."""
        sources = self._sources(pod)
        name = pod_name(pod)
        volumes = self._volumes[name]
        mounts = [
            mount for each in containers(pod) for mount in container_mounts(each, volumes, container_env(sources, each))
        ]
        used = {volume.key for volume in used_volumes(pod, volumes)}
        entries: list[Entry] = []
        for spec in pod["spec"].get("volumes", []):
            volume = volumes.get(spec["name"])
            if volume is None or volume.key not in used:
                continue
            files = list(volume_entries(sources, spec, fs_group(pod)))
            folders = needed_folders(volume, [entry.path for entry in files], mounts)
            if volume.folder is not None:
                for folder in folders:
                    (volume.folder / folder.path).mkdir(parents=True, exist_ok=True)
                continue
            root = f"{SANDBOX_FOLDER}/{self._places[volume.key][0]}"
            entries.append(Entry(root, EVERYBODY))
            entries += [dataclasses.replace(entry, path=f"{root}/{entry.path}") for entry in (*folders, *files)]
        if entries:
            self._engine.put(container, archive(entries))

    def _start_forwarder(self, forwarder: Forwarder) -> None:
        """Start a Service's container. TrainformError if its image lacks Python."""
        image = self._images[self._workload.pod(forwarder.pod)["spec"]["containers"][0]["image"]]
        body = forwarder_body(forwarder.command(), forwarder.aliases, self._network, image.name)
        container = self._engine.make_container(f"service-{forwarder.service}", body)
        try:
            self._engine.start(container)
        except TrainformError as error:
            raise TrainformError(
                f"the Service {forwarder.service} cannot be rehearsed in the image {image.name}: {error.message}",
                "the program that forwards a Service needs `python3` in the image of the pods",
            ) from None
