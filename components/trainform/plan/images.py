"""Images by their digests: what a tag means changes, and what a digest means never does."""

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
    """The digest at the end of the name of an image, or of what a node says that it has run; None if there is none."""
    found = DIGEST.search(image)
    return None if found is None else found[1]


def named_images(experiment: Mapping[str, Any]) -> dict[str, str]:
    """The images that an experiment names, by their paths."""
    return {join_path(keys): image for keys, image in _images(experiment, ())}


def without_digest(experiment: Mapping[str, Any]) -> dict[str, str]:
    """Those of them that have no digest."""
    return {path: image for path, image in named_images(experiment).items() if digest_of(image) is None}


def _images(value: Any, keys: Keys, named: bool = False) -> Iterator[tuple[Keys, str]]:
    """Every image, also those in merge patches. A variable or a label of this name is none. named: the keys are names
    of containers, roles and the like."""
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
    """The experiment with the digest behind each tag that was run, and was run as one thing. ran: what the nodes have
    run for each name of an image; registries: of the environment in which that was."""
    names = {image: pulled(image, registries) for image in images_of(experiment)}
    digests = {image: _only(ran.get(name, frozenset()), repository(name)) for image, name in names.items()}
    known = {image: found for image, found in digests.items() if found is not None and digest_of(image) is None}
    return renamed(experiment, lambda image: f"{image}@{known[image]}" if image in known else image)


def _only(ids: Set[str], where: str) -> str | None:
    """The digest if all of what was run has it, and the repository too. A node that has an image from elsewhere than a
    registry says no digest, and one that has the same layers from two repositories says one of them, where the digest
    may be another one."""
    found = {digest_of(each) for each in ids}
    return found.pop() if len(found) == 1 and where in map(repository, ids) else None


def repository(image: str) -> str:
    """Where an image is, without tag and digest: of its name, or of what a node says that it has run."""
    registry, path = split_registry(qualified(image.rpartition("://")[2]))
    return f"{registry}/{path.partition('@')[0].partition(':')[0]}"


def run_by(pods: list[Mapping[str, Any]]) -> dict[str, set[str]]:
    """What the nodes say that they have run for each image of the pods, by its name there; nothing for containers that
    have not begun."""
    ran: dict[str, set[str]] = {}
    for pod in pods:
        spec, status = pod.get("spec", {}), pod.get("status", {})
        for field, states in (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses")):
            images = {each["name"]: each["image"] for each in spec.get(field, [])}
            for state in status.get(states, []):
                if state.get("name") in images and state.get("imageID"):
                    ran.setdefault(images[state["name"]], set()).add(state["imageID"])
    return ran
