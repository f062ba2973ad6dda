"""Names of images in an environment, whose `registries` map prefixes of images to others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from trainform.spec.experiment import Experiment
from trainform.spec.names import qualified
from trainform.spec.prepare import Step
from trainform.spec.roles import InitContainer, Role

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
    """The image under the name by which the nodes pull it: the longest prefix counts, and tag and digest stay."""
    prefix = used_prefix(image, registries)
    return image if prefix is None else f"{registries[prefix]}{qualified(image)[len(prefix) :]}"


def used_prefix(image: str, registries: Mapping[str, str]) -> str | None:
    """The prefix that maps the image; None if the environment has it under its own name."""
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
    return patch if "spec" not in patch else {**patch, "spec": _rename_spec(patch["spec"], name)}


def _rename_spec(value: Any, name: Name, named: bool = False) -> Any:
    if isinstance(value, list):
        return [_rename_spec(item, name) for item in value]
    if not isinstance(value, dict):
        return value
    return dict(_entries(value, name, named))


def _entries(patch: Mapping[str, Any], name: Name, named: bool) -> Iterator[tuple[str, Any]]:
    for key, value in patch.items():
        if key == "metadata" and not named:
            yield key, value
        elif key == "image" and isinstance(value, str):
            yield key, name(value)
        elif key == "image" and isinstance(value, dict) and isinstance(value.get("reference"), str):
            yield key, {**value, "reference": name(value["reference"])}
        else:
            yield key, _rename_spec(value, name, not named and key in OF_NAMES)
