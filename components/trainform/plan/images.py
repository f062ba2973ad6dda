"""Images and their digests: the image behind a tag can change, the image behind a digest cannot."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

from trainform.plan.registries import OF_NAMES, images_of, pulled, renamed
from trainform.spec.experiment import Experiment
from trainform.spec.names import qualified, split_registry
from trainform.spec.source import join_path

DIGEST = re.compile("@(sha256:[0-9a-f]{64})$")
_NO_IMAGES = frozenset({"env", "labels", "annotations", "node_selector", "metadata", "environments"})
Keys = tuple[str | int, ...]


def digest_of(image: str) -> str | None:
    """Return the digest at the end of an image's name, or of an image ID that a node reports; None without one."""
    match = DIGEST.search(image)
    return None if match is None else match[1]


def named_images(experiment: Mapping[str, Any]) -> dict[str, str]:
    """Return the images that an experiment names, by their paths."""
    return {join_path(keys): image for keys, image in _images(experiment, ())}


def without_digest(experiment: Mapping[str, Any]) -> dict[str, str]:
    """Return the images that an experiment names without a digest, by their paths."""
    return {path: image for path, image in named_images(experiment).items() if digest_of(image) is None}


def _images(value: Any, keys: Keys, named: bool = False) -> Iterator[tuple[Keys, str]]:
    """Yield every image with its path, also those in merge patches. Variables and labels called `image` do not count.
    named: the keys are names of containers, roles and the like."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _images(item, (*keys, index))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            image = item.get("reference") if key == "image" and isinstance(item, Mapping) else item
            if key == "image" and isinstance(image, str):
                yield (*keys, key), image
            elif key not in _NO_IMAGES or named:
                yield from _images(item, (*keys, key), not named and key in OF_NAMES)


def pinned(experiment: Experiment, ran: Mapping[str, Set[str]], registries: Mapping[str, str]) -> Experiment:
    """Return the experiment with a digest for each tag, if all pods ran the same image for it.

    ran: the image IDs that the nodes report for each image name. registries: those of the environment that ran it.
    """
    names = {image: pulled(image, registries) for image in images_of(experiment)}
    digests = {image: _only(ran.get(name, frozenset()), repository(name)) for image, name in names.items()}
    known = {image: digest for image, digest in digests.items() if digest is not None and digest_of(image) is None}
    return renamed(experiment, lambda image: f"{image}@{known[image]}" if image in known else image)


def _only(ids: Set[str], where: str) -> str | None:
    """Return the digest if all IDs have it and one of them is from this repository; None otherwise.

    A node reports no digest for an image that it got without a registry. For layers that two repositories share it
    reports one of the two, and the digest may be another one in the other repository.
    """
    digests = {digest_of(each) for each in ids}
    return digests.pop() if len(digests) == 1 and where in map(repository, ids) else None


def repository(image: str) -> str:
    """Return registry and path of an image name, or of an image ID that a node reports, without tag and digest."""
    registry, path = split_registry(qualified(image.rpartition("://")[2]))
    return f"{registry}/{path.partition('@')[0].partition(':')[0]}"


def image_ids(pods: list[Mapping[str, Any]]) -> dict[str, set[str]]:
    """Return the image IDs that the nodes report for each image name of the pods. Containers that have not started
    have none."""
    ran: dict[str, set[str]] = {}
    for pod in pods:
        spec, status = pod.get("spec", {}), pod.get("status", {})
        for field, states in (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")):
            images = {each["name"]: each["image"] for each in spec.get(field, [])}
            for state in status.get(states, []):
                if state.get("name") in images and state.get("imageID"):
                    ran.setdefault(images[state["name"]], set()).add(state["imageID"])
    return ran
