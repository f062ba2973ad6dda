"""What is meant by a key that a file does not have at its place: another place, another word, or a merge patch."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterator

from pydantic import BaseModel

from trainform.spec.places import NAME, Path, known_keys, places

NEAR, FAR = 0.75, 0.6  # of difflib: for a typing mistake, and for a word of which nothing else is known
MOST_PLACES = 3
IN_PATCH = "pod_overrides: {{spec: {{{key}: …}}}}"
TEMPLATES = ("template", "podTemplate", "pod_template")
WHAT_IT_HOLDS = "write what it holds as a patch of the role: `pod_overrides: {spec: …}`"
# Words of Kubernetes and of other tools that stand for fields of another name or of another shape.
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
        "write `storage` of the experiment; what is no claim, as a patch: `pod_overrides: {spec: {volumes: […]}}` of "
        "the role",
    ),
    **dict.fromkeys(
        ("host_path", "hostPath", "empty_dir", "emptyDir", "nfs", "config_map", "configMap", "secret"),
        "remove it: `storage` holds claims; other volumes are patches: `pod_overrides: {spec: {volumes: […], "
        "containers: {main: {volumeMounts: […]}}}}` of the role",
    ),
    **dict.fromkeys(("hostNetwork", "host_network"), "write `network: {host: true}` of the experiment"),
    **dict.fromkeys(("nodes", "num_nodes", "num_workers", "parallelism"), "write `replicas` of the role"),
    **dict.fromkeys(
        ("dependsOn", "depends_on", "needs"),
        "remove it: all pods start together; what must be done before is a step of `prepare`",
    ),
    "on": "make it a step of `prepare`, which can have `on`",
    "spec": "write it as a patch of the role: `pod_overrides: {spec: …}`",
    **dict.fromkeys(TEMPLATES, WHAT_IT_HOLDS),
    **dict.fromkeys(("nproc_per_node", "nproc", "num_processes"), "write `processes_per_node` of the launcher"),
}


def wrong_name_meant(kind: type[BaseModel], path: Path) -> str | None:
    """What to write in place of a name at the end of the path that has not the form of its kind; None where the form
    says it."""
    if not _is_of_roles(kind) or len(path) < 2:
        return None
    field, key = str(path[-2]), str(path[-1])
    if field == "accelerators":
        return (
            "write a kind of the environment, by the short name that it has there; other resources stand in `resources`"
        )
    return OTHER_WORDS.get(key) if field == "resources" else None


def key_meant(kind: type[BaseModel], path: Path) -> str:
    """What to write in place of the unknown key at the end of the path."""
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
    if _is_of_roles(kind) and key in of_pods():
        return f"write it as a patch of the role: `{of_pods()[key].format(key=key)}`"
    return f"did you mean {far[0]}?" if far else f"known here: {', '.join(known)}"


def _elsewhere(kind: type[BaseModel], path: Path) -> Iterator[str]:
    """The places of fields of this name above or below; what stands aside or in a list has only the name in common."""
    *above, key = map(str, path)
    for parts in _places_named(kind).get(key, ()):
        common = zip(parts, above, strict=False)
        if all(part in (written, NAME) for part, written in common):
            yield ".".join([*parts, key])


@functools.cache
def _places_named(kind: type[BaseModel]) -> dict[str, list[list[str]]]:
    """What is above the places of fields, by the name of the field; those in lists are left out."""
    found: dict[str, list[list[str]]] = {}
    for place in places(kind):
        *parts, name = place.split(".")
        if "[" not in place:
            found.setdefault(name, []).append(parts)
    return found


def _is_of_roles(kind: type[BaseModel]) -> bool:
    return "roles" in kind.model_fields


@functools.cache
def of_pods() -> dict[str, str]:
    """The merge patch of a role that sets each field of a pod's spec or of its container."""
    from lightkube.models.core_v1 import Container, PodSpec

    in_container = "pod_overrides: {{spec: {{containers: {{main: {{{key}: …}}}}}}}}"
    fields = dict.fromkeys(Container.__annotations__, in_container)
    return {**fields, **dict.fromkeys(PodSpec.__annotations__, IN_PATCH)}
