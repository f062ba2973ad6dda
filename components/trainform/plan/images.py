"""Images of an experiment: their names in an environment, whose `registries` map prefixes, and their digests.

The image behind a tag can change, the image behind a digest cannot.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping, Set
from typing import Any, TypeVar

from trainform.spec.experiment import Experiment
from trainform.spec.names import qualified, split_registry
from trainform.spec.prepare import Step
from trainform.spec.read import join_path
from trainform.spec.roles import InitContainer, Role

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


# Text that may follow a prefix: after a path a longer path, a tag, a digest or nothing; after a host a path only, since
# a colon begins its port.
_BEHIND_PATH, _BEHIND_HOST = re.compile("[/:@]|$"), re.compile("/")
Name = Callable[[str], str]
OF_NAMES = frozenset(
    {"roles", "containers", "initContainers", "ephemeralContainers", "volumes", "tasks", "replicatedJobs"}
)
"""Fields below which a key is the name of something, whatever field has the same one: a container may be called
`metadata`."""
StepT = TypeVar("StepT", Step, InitContainer)


def pulled(image: str, registries: Mapping[str, str]) -> str:
    """Return the image under the name by which the nodes pull it. The longest prefix counts."""
    prefix = used_prefix(image, registries)
    return image if prefix is None else f"{registries[prefix]}{qualified(image)[len(prefix) :]}"


def used_prefix(image: str, registries: Mapping[str, str]) -> str | None:
    """Return the prefix that maps the image; None if the environment has it under its own name."""
    whole = qualified(image)
    return max((prefix for prefix in registries if _begins(whole, prefix)), key=len, default=None)


def _begins(whole: str, prefix: str) -> bool:
    behind = _BEHIND_PATH if "/" in prefix else _BEHIND_HOST
    return whole.startswith(prefix) and behind.match(whole, len(prefix)) is not None


def map_registries(experiment: Experiment, registries: Mapping[str, str]) -> Experiment:
    """Return the experiment with every image, also in its merge patches, under the name by which the nodes pull it."""
    return renamed(experiment, lambda image: pulled(image, registries)) if registries else experiment


def images_of(experiment: Experiment) -> list[str]:
    """Return every image of the experiment once."""
    images: dict[str, str] = {}
    renamed(experiment, lambda image: images.setdefault(image, image))
    return list(images)


def mapped_images(experiment: Experiment, registries: Mapping[str, str]) -> dict[str, str]:
    """Return the images that have another name in the environment, each with that name."""
    names = {image: pulled(image, registries) for image in images_of(experiment)} if registries else {}
    return {image: name for image, name in names.items() if name != image}


def used_registries(experiment: Experiment, registries: Mapping[str, str]) -> dict[str, str]:
    """Return the entries of the environment's mapping that rename an image of the experiment."""
    used = {used_prefix(image, registries) for image in images_of(experiment)} if registries else set()
    return {prefix: target for prefix, target in registries.items() if prefix in used}


def renamed(experiment: Experiment, name: Name) -> Experiment:
    """Return the experiment with every image renamed by `name`, also in its merge patches."""
    return experiment.model_copy(
        update={
            "image": name(experiment.image),
            "prepare": [_rename_step(step, name) for step in experiment.prepare],
            "roles": {key: _rename_role(role, name) for key, role in experiment.roles.items()},
            "manifest_overrides": {
                key: _rename_patch(patch, name) for key, patch in experiment.manifest_overrides.items()
            },
        }
    )


def _rename_role(role: Role, name: Name) -> Role:
    steps = [_rename_step(step, name) for step in role.init]
    image = None if role.image is None else name(role.image)
    return role.model_copy(
        update={"image": image, "init": steps, "pod_overrides": _rename_patch(role.pod_overrides, name)}
    )


def _rename_step(step: StepT, name: Name) -> StepT:
    return step if step.image is None else step.model_copy(update={"image": name(step.image)})


def _rename_patch(patch: dict[str, Any], name: Name) -> dict[str, Any]:
    """Return the patch with the images in its `spec` renamed: those of containers, and the references of image volumes.
    Metadata and the data of files have no images."""
    renamed_patch = copy.deepcopy(patch)
    for keys, image in _images(patch.get("spec"), ("spec",)):
        *above, last = keys
        parent: Any = renamed_patch
        for key in above:
            parent = parent[key]
        parent[last] = name(image) if isinstance(parent[last], str) else {**parent[last], "reference": name(image)}
    return renamed_patch
