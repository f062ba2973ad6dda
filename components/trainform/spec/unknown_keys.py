"""Suggestions for a key that a file does not have at its place: another place, another word, or a merge patch."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator

from pydantic import BaseModel

from trainform.spec.places import NAME, Path, known_keys, places

NEAR, FAR = 0.75, 0.6  # cutoffs of difflib: for a typing mistake, and for a word without another suggestion
MOST_PLACES = 3
# Fields of a pod or its container that `check` refuses in every patch.
REFUSED_IN_PATCH = frozenset([
    "args", "command", "name", "containers", "dnsPolicy", "hostNetwork", "hostname", "nodeName", "priority",
    "restartPolicy", "schedulerName", "setHostnameAsFQDN", "subdomain",
])  # fmt: skip
IN_PATCH = "pod_overrides: {{spec: {{{key}: …}}}}"
# Words of Kubernetes and of other tools whose fields have another name or shape in trainform.
OTHER_WORDS = {
    **dict.fromkeys(
        ("gpu", "gpus", "accelerator"), "write `accelerators: {KIND: 8}` of the role, with a kind of the environment"
    ),
    **dict.fromkeys(
        ("requests", "limits"),
        "write `cpu`, `memory`, `accelerators` or `resources` of the role: each is request and limit",
    ),
    **dict.fromkeys(
        ("volume", "volumes", "volume_mounts", "volumeMounts", "mounts"),
        "write `storage` of the experiment; other volumes as a patch of the role: "
        "`pod_overrides: {spec: {volumes: {NAME: …}}}`",
    ),
}


def key_meant(kind: type[BaseModel], path: Path) -> str:
    """Return the fix for the unknown key at the end of the path."""
    key, known = str(path[-1]), [*known_keys(kind, path[:-1])]
    far = difflib.get_close_matches(key, known, 1, FAR)
    near = difflib.get_close_matches(key, far, 1, NEAR)
    if near:
        return f"did you mean {near[0]}?"
    elsewhere = [*_elsewhere(kind, path)][:MOST_PLACES]
    if key in OTHER_WORDS and _is_of_roles(kind):
        return OTHER_WORDS[key]
    if elsewhere == [key]:
        return f"write `{key}` at the top of the file"
    if elsewhere:
        return f"write it as {' or '.join(f'`{place}`' for place in elsewhere)}"
    if _is_of_roles(kind) and key in pod_patches():
        return f"write it as a patch of the role: `{pod_patches()[key].format(key=key)}`"
    return f"did you mean {far[0]}?" if far else f"known here: {', '.join(known)}"


def _elsewhere(kind: type[BaseModel], path: Path) -> Iterator[str]:
    """Yield the places of fields with this name above or below the path. Others only share the name."""
    *above, key = map(str, path)
    for place in _places_outside_lists(kind):
        *parts, name = place.split(".")
        if name == key and all(part in (written, NAME) for part, written in zip(parts, above, strict=False)):
            yield place


@functools.cache
def _places_outside_lists(kind: type[BaseModel]) -> list[str]:
    return [place for place in places(kind) if "[" not in place]


def _is_of_roles(kind: type[BaseModel]) -> bool:
    return "roles" in kind.model_fields


@functools.cache
def pod_patches() -> dict[str, str]:
    """Return the merge patch of a role for each field of a pod's spec or of its container."""
    from lightkube.models.core_v1 import Container, PodSpec

    in_container = "pod_overrides: {{spec: {{containers: {{main: {{{key}: …}}}}}}}}"
    fields = dict.fromkeys(Container.__annotations__, in_container) | dict.fromkeys(PodSpec.__annotations__, IN_PATCH)
    return {key: patch for key, patch in fields.items() if key not in REFUSED_IN_PATCH}
