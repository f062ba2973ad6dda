"""What the plan decides in rendered objects, outside of pods (`backends.patched_pods`): everything that is rendered, and everything that could be there and
is not. A merge patch that changes it is an error, but for the fields of which the plan says nothing (`Backend.FREE`, `FREE_OF_KINDS`). A label that
the operator would overwrite is an error too."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from trainform.backends.paths import EACH, Place, named_items, written
from trainform.errors import Problem, shorten
from trainform.manifests.shapes import mapping
from trainform.plan.model import Plan, RolePlan

BEHIND = "+"
"""The end of a path in `FREE` of a list to which items may be added behind the rendered ones, which then still come first."""

FREE_OF_KINDS: Mapping[str, tuple[str, ...]] = {
    "Service": (
        "spec.internalTrafficPolicy",
        "spec.ipFamilies",
        "spec.ipFamilyPolicy",
        "spec.ports+",
        "spec.sessionAffinity",
        "spec.sessionAffinityConfig",
        "spec.trafficDistribution",
    ),
    "PersistentVolumeClaim": (
        "spec.dataSource",
        "spec.dataSourceRef",
        "spec.selector",
        "spec.storageClassName",
        "spec.volumeAttributesClassName",
        "spec.volumeName",
    ),
    "Queue": ("spec",),  # the environment's rules judge what an experiment's own queue is
}
"""Fields of which the plan says nothing, or which the environment's rules judge, in objects that are the same for every operator."""

# Mappings of any object to which a patch may add keys of its own; they may be missing.
_METADATA = ("metadata", "labels", "annotations")
_CONTAINERS = ("initContainers", "containers")


class _Closed(NamedTuple):
    """Labels and annotations that nobody may add: paths in the object, and keys of pods."""

    reads: frozenset[str]
    pod_keys: frozenset[str]


class Change(NamedTuple):
    """A place that a merge patch changes, and the reason why it must not. is_word: a word stands there, or nothing any more, and neither a number
    of pods nor a part of the object's shape."""

    where: str
    reason: str
    is_word: bool = False


def changes(
    rendered: dict[str, Any],
    patched: dict[str, Any],
    free: Collection[str],
    reads: Collection[str] = (),
    pod_keys: Collection[str] = (),
) -> Iterator[Change]:
    """Everything that a merge patch changes in the object and that the plan decides. An item that it removes or adds is found once, as a whole.
    Of pod templates it is labels and annotations, and which containers there are. reads: labels and annotations that nobody may add. pod_keys: as `Backend.POD_KEYS`."""
    paths = [tuple(path.split(".")) for path in free]
    return _changes(rendered, patched, (), paths, _Closed(frozenset(reads), frozenset(pod_keys)))


def is_template(value: Any) -> bool:
    """True for the metadata and the spec of pods."""
    spec = value.get("spec") if isinstance(value, dict) else None
    return isinstance(spec, dict) and isinstance(spec.get("containers"), list)


def difference(before: Any, after: Any) -> str:
    """The reason why a value of the plan's must not change; None stands for no value."""
    if isinstance(before, dict | list) or isinstance(after, dict | list):
        if after is None:
            return "the patch removes a part that the plan needs"
        return (
            "the patch adds a part that the plan does not have"
            if before is None
            else "the patch changes a part that the plan needs"
        )
    shown, needed = _shown(after, "empty"), _shown(before, "none")
    return f"the patch makes the value {shown}, and the plan needs {needed}"


def _shown(value: Any, nothing: str) -> str:
    """The value as files spell it; of a script or another long text its beginning."""
    first, newline, _ = str(value).partition("\n") if isinstance(value, str) else (value, "", "")
    return nothing if value is None else f"{shorten(first)}{'…' if newline else ''}"


def _changes(before: Any, after: Any, place: Place, free: Sequence[Place], closed: _Closed) -> Iterator[Change]:
    if before == after or _is_free(place, free, before, after):
        return
    if is_template(before) and is_template(after):
        yield from _overwritten(before, after, place, closed.pod_keys)
        before, after = (_of_template(template) for template in (before, after))
    of_before, of_after = named_items(before), named_items(after)
    if of_before is None or of_after is None:
        yield Change(written(place), difference(before, after), _is_word(place, before, after))
        return
    for name in {**of_before, **of_after}:
        where = (*place, name)
        old, new = of_before.get(name), of_after.get(name)
        if name not in of_before:
            if _is_open(place) and written(where) not in closed.reads:
                continue
            # a mapping that is new is looked into if parts of it are free; an empty one has a meaning of its own
            old = {} if isinstance(new, dict) and new and _is_above(where, free) else None
        yield from _changes(old, new, where, free, closed)


def _overwritten(before: Any, after: Any, place: Place, pod_keys: Collection[str]) -> Iterator[Change]:
    """Labels and annotations that are new in a pod template, and that are the operator's."""
    for field in ("labels", "annotations"):
        old, new = (mapping(mapping(template.get("metadata")).get(field)) for template in (before, after))
        for key in new:
            if key not in old and is_one_of(key, pod_keys):
                yield Change(written((*place, "metadata", field, key)), "the key is set by the operator itself")


def _is_open(place: Place) -> bool:
    """True for a mapping to which anybody may add labels, annotations, files or containers."""
    return place[-1:] in (("labels",), ("annotations",), *((kind,) for kind in _CONTAINERS)) or place == ("data",)


def _is_word(place: Place, before: Any, after: Any) -> bool:
    parts = [*(before if isinstance(before, list) else [before]), *(after if isinstance(after, list) else [])]
    is_word = after is None or isinstance(after, str | list)
    return is_word and "labels" not in place and not any(isinstance(part, dict) for part in parts)


def _of_template(template: dict[str, Any]) -> dict[str, Any]:
    spec = template["spec"]
    return {
        "metadata": {key: template.get("metadata", {}).get(key, {}) for key in ("labels", "annotations")},
        "spec": {kind: [{"name": container["name"]} for container in spec.get(kind, [])] for kind in _CONTAINERS},
    }


def _is_free(place: Place, free: Sequence[Place], before: Any, after: Any) -> bool:
    for path in free:
        if len(path) == len(place) and all(word in (EACH, name) for word, name in zip(path[:-1], place, strict=False)):
            if path[-1] in (EACH, place[-1]):
                return True
            if path[-1] == f"{place[-1]}{BEHIND}":
                kept = [] if before is None else before
                return isinstance(after, list) and after[: len(kept)] == kept
    return False


def _is_above(place: Place, free: Sequence[Place]) -> bool:
    """True for the place of a mapping in which something is free or anybody may write, whatever else is in it."""
    known = any(len(path) > len(place) and path[len(place) - 1] == place[-1] for path in free)
    return known or place[-1] in _METADATA


def overwritten(plan: Plan, operator: str, own: Iterable[str]) -> Iterator[Problem]:
    """Problems with labels and annotations of pods that the operator would overwrite. `own`: keys, and prefixes that end in `/`."""
    keys = {*own}
    for role in plan.roles:
        for path, values in _user_metadata(role):
            for key, value in values.items():
                if is_one_of(key, keys):
                    reason = f"the key is set by {operator} itself"
                    yield Problem(f"{path}.{key}", value, reason, "choose another key")


def is_one_of(key: str, keys: Collection[str]) -> bool:
    """True if the label or annotation is one of these keys, or begins with one that ends in `/`."""
    return key in keys or any(key.startswith(prefix) for prefix in keys if prefix.endswith("/"))


def _user_metadata(role: RolePlan) -> Iterator[tuple[str, dict[str, str]]]:
    """Path and content of all labels and annotations that the user sets for the role's pods. `patches` reports a malformed patch."""
    patch = role.overrides.get("metadata")
    for field, values in (("labels", role.labels), ("annotations", role.annotations)):
        yield f"roles.{role.name}.{field}", values
        patched = patch.get(field) if isinstance(patch, dict) else None
        if isinstance(patched, dict):
            yield f"roles.{role.name}.pod_overrides.metadata.{field}", patched


def follows(plan: Plan, field: Literal["labels", "annotations"], key: str, fix: str) -> Iterator[Problem]:
    """A problem if the user sets a label or annotation of the job that trainform sets from a field. `fix`: that field."""
    value = getattr(plan, field).get(key)
    if value is not None:
        yield Problem(f"{field}.{key}", value, "the key is set by trainform itself", f"remove it, and set {fix}")
