"""The objects that exist before the pods run: the network, the volumes, the sandboxes and the Services' forwarders."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from trainform.errors import TrainformError
from trainform.local.rehearsal.checks import checked_volumes
from trainform.local.rehearsal.docker.engine import Engine
from trainform.local.rehearsal.docker.forwarding import Forwarder, forwarders
from trainform.local.rehearsal.docker.request_bodies import (
    SANDBOX_FOLDER,
    Image,
    container_body,
    docker_mount,
    forwarder_body,
    must_not_be_root,
    sandbox_body,
    volume_options,
)
from trainform.local.rehearsal.kubelet.contents import Entry, archive, volume_entries
from trainform.local.rehearsal.kubelet.env import container_env
from trainform.local.rehearsal.kubelet.fields import Place, Sources
from trainform.local.rehearsal.kubelet.placement import Sandbox, place_pods
from trainform.local.rehearsal.kubelet.volumes import Volume, container_mounts, fs_group, needed_folders, used_volumes
from trainform.local.rehearsal.workload import Workload, containers, pod_name


class RunningSandbox(Struct, frozen=True):
    """The container of a sandbox, and its address."""

    container: str
    ip: str


class PodInfrastructure:
    """The network, volumes, sandboxes and forwarders of a workload. InputError with all problems of the workload."""

    def __init__(self, engine: Engine, workload: Workload, folders: Mapping[str, Path]) -> None:
        self._engine = engine
        self._workload = workload
        self._images: Mapping[str, Image] = {}
        self._sandboxes = {name: sandbox for sandbox in place_pods(workload) for name in sandbox.pods}
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
        self._make_volumes(
            volume for pod in self._workload.pods for volume in used_volumes(pod, self._volumes[pod_name(pod)])
        )
        sandboxes = list(dict.fromkeys(self._sandboxes.values()))
        self._engine.each(self._start_sandbox, sandboxes)
        self._engine.each(self._start_forwarder, self._forwarders)

    def make_container(self, pod: dict[str, Any], container: dict[str, Any]) -> str:
        """Create a container of a pod, and return its id. TrainformError if the kubelet would refuse it."""
        name = pod_name(pod)
        sources = self._sources(pod)
        image = self._images[container["image"]]
        if must_not_be_root(pod, container, image):
            raise TrainformError("runAsNonRoot is set, and the container would run as root")
        env = container_env(sources, container)
        mounts = [docker_mount(mount, self._places) for mount in container_mounts(container, self._volumes[name], env)]
        body = container_body(pod, container, image, env, mounts, self._running_sandboxes[name].container)
        return self._engine.make_container(
            f"{name}-{container['name']}-{next(self._numbers)}", body, pod=name, container=container["name"]
        )

    def _sources(self, pod: dict[str, Any]) -> Sources:
        name = pod_name(pod)
        return Sources(self._workload, pod, Place(self._sandboxes[name].node, self._running_sandboxes[name].ip))

    def _make_volumes(self, volumes: Iterable[Volume]) -> None:
        needed = {volume.key: volume for volume in volumes if volume.folder is None}
        self._places.update(zip(needed, self._engine.each(self._make_volume, needed.values()), strict=True))

    def _make_volume(self, volume: Volume) -> tuple[str, str]:
        return self._engine.make_volume(f"{volume.key}.{next(self._numbers)}", volume_options(volume))

    def _start_sandbox(self, sandbox: Sandbox) -> None:
        pods = [self._workload.pod(name) for name in sandbox.pods]
        used = [volume for pod in pods for volume in used_volumes(pod, self._volumes[pod_name(pod)])]
        held = [self._places[key][0] for key in dict.fromkeys(volume.key for volume in used if volume.folder is None)]
        image = self._images[pods[0]["spec"]["containers"][0]["image"]]
        body = sandbox_body(sandbox, self._network, self._workload.namespace, image.name, held)
        container = self._engine.make_container(f"{sandbox.name}-sandbox-{next(self._numbers)}", body)
        self._engine.start(container)
        running = RunningSandbox(container, self._engine.address(container, self._network))
        self._running_sandboxes.update(dict.fromkeys(sandbox.pods, running))
        for pod in pods:
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
            entries.append(Entry(root, volume.mode, volume.group))
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
