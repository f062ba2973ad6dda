"""What the pods stand on: the network, the volumes, the sandboxes and the Services' forwarders."""

from __future__ import annotations

import dataclasses
import itertools
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from trainform.errors import TrainformError
from trainform.rehearsal.bodies import (
    SANDBOX_FOLDER,
    Image,
    Shelf,
    container_body,
    docker_mount,
    forwarder_body,
    must_not_be_root,
    sandbox_body,
    volume_options,
)
from trainform.rehearsal.checks import checked_volumes
from trainform.rehearsal.contents import Entry, archive, volume_entries
from trainform.rehearsal.engine import Engine
from trainform.rehearsal.env import container_env
from trainform.rehearsal.fields import Place, Sources
from trainform.rehearsal.forwarding import READY, Forwarder, forwarders
from trainform.rehearsal.placement import Sandbox, place_pods
from trainform.rehearsal.stage import Stage, containers, pod_name
from trainform.rehearsal.volumes import Volume, container_mounts, fs_group, needed_folders, used_volumes

POLL_SECONDS = 0.05


@dataclasses.dataclass(frozen=True)
class Standing:
    """A sandbox that runs: its container and its address."""

    sandbox: Sandbox
    container: str
    ip: str


class Ground:
    """Made by `lay`; removed with everything else by `Engine.remove_all`. Checked at construction: InputError with all that is missing."""

    def __init__(self, engine: Engine, stage: Stage, folders: Mapping[str, Path]) -> None:
        self._engine = engine
        self._stage = stage
        self._images: Mapping[str, Image] = {}
        self._sandboxes = {name: sandbox for sandbox in place_pods(stage) for name in sandbox.pods}
        self._forwarders = forwarders(stage)
        self._volumes = checked_volumes(stage, self._sandboxes, folders)
        self._standing: dict[str, Standing] = {}
        self._numbers = itertools.count()
        self._network = ""
        self._names: dict[str, str] = {}
        self._folders: dict[str, str] = {}
        self._shelf = Shelf(self._names, self._folders)

    def lay(self, images: Mapping[str, Image]) -> None:
        """Everything that is there before the first pod starts: names in DNS come before readiness, as with publishNotReadyAddresses."""
        self._images = images
        self._network = self._engine.make_network()
        self._make_volumes(
            volume for pod in self._stage.pods for volume in used_volumes(pod, self._volumes[pod_name(pod)])
        )
        sandboxes = list(dict.fromkeys(self._sandboxes.values()))
        self._engine.each(self._stand, sandboxes)
        self._engine.each(self._forward, self._forwarders)

    def renew(self, name: str) -> None:
        """Another sandbox for a pod: the same names, another address, and volumes of its own that are new. A node that the pod shares
        with others stays as it is, since its address is theirs too."""
        before = self._standing[name]
        if len(before.sandbox.pods) > 1:
            return
        used = used_volumes(self._stage.pod(name), self._volumes[name])
        self._make_volumes(volume for volume in used if volume.key.startswith(f"{name}."))
        # the new one is there before the old one goes: so it cannot get the same address
        self._stand(before.sandbox)
        self._engine.remove_container(before.container)

    def make_container(self, pod: dict[str, Any], container: dict[str, Any]) -> str:
        """A container of a pod that does not run yet; its id."""
        name = pod_name(pod)
        sources = self._sources(pod)
        image = self._images[container["image"]]
        if must_not_be_root(pod, container, image):
            raise TrainformError("runAsNonRoot is set, and the container would run as root")
        env = container_env(sources, container)
        mounts = [docker_mount(mount, self._shelf) for mount in container_mounts(container, self._volumes[name], env)]
        body = container_body(pod, container, image, env, mounts, self._standing[name].container)
        return self._engine.make_container(
            f"{name}-{container['name']}-{next(self._numbers)}", body, pod=name, container=container["name"]
        )

    def _sources(self, pod: dict[str, Any]) -> Sources:
        name = pod_name(pod)
        return Sources(self._stage, pod, Place(self._sandboxes[name].node, self._standing[name].ip))

    def _make_volumes(self, volumes: Iterable[Volume]) -> None:
        needed = {volume.key: volume for volume in volumes if volume.folder is None}
        made = self._engine.each(self._make_volume, needed.values())
        for key, (name, folder) in zip(needed, made, strict=True):
            self._names[key], self._folders[key] = name, folder

    def _make_volume(self, volume: Volume) -> tuple[str, str]:
        return self._engine.make_volume(f"{volume.key}.{next(self._numbers)}", volume_options(volume))

    def _stand(self, sandbox: Sandbox) -> None:
        pods = [self._stage.pod(name) for name in sandbox.pods]
        used = [volume for pod in pods for volume in used_volumes(pod, self._volumes[pod_name(pod)])]
        held = [self._names[key] for key in dict.fromkeys(volume.key for volume in used if volume.folder is None)]
        image = self._images[pods[0]["spec"]["containers"][0]["image"]]
        body = sandbox_body(sandbox, self._network, self._stage.namespace, image.name, held)
        container = self._engine.make_container(f"{sandbox.name}-sandbox-{next(self._numbers)}", body)
        self._engine.start(container)
        standing = Standing(sandbox, container, self._engine.address(container, self._network))
        self._standing.update(dict.fromkeys(sandbox.pods, standing))
        for pod in pods:
            self._fill(pod, container)

    def _fill(self, pod: dict[str, Any], container: str) -> None:
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
            root = f"{SANDBOX_FOLDER}/{self._names[volume.key]}"
            entries.append(Entry(root, volume.mode, volume.group))
            entries += [dataclasses.replace(entry, path=f"{root}/{entry.path}") for entry in (*folders, *files)]
        if entries:
            self._engine.put(container, archive(entries))

    def _forward(self, forwarder: Forwarder) -> None:
        """Start a Service's container and wait until its ports are open."""
        image = self._images[self._stage.pod(forwarder.pod)["spec"]["containers"][0]["image"]]
        body = forwarder_body(forwarder.command(), forwarder.aliases, self._network, image.name)
        container = self._engine.make_container(f"service-{forwarder.service}", body)
        said, runs = "", True
        try:
            self._engine.start(container)
            while READY not in said and runs:
                time.sleep(POLL_SECONDS)
                said, runs = self._engine.said(container)
        except TrainformError as error:
            said, runs = error.message, False
        if not runs:
            raise TrainformError(
                f"the Service {forwarder.service} cannot be rehearsed in the image {image.name}: {' '.join(said.split())}",
                "the program that stands in for a Service needs `python3` in the image of the pods",
            )
