"""Objects that are too large for the API server, and what of the experiment makes them so."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from trainform import defaults
from trainform.errors import Problem
from trainform.manifests.manifest import Manifest, override_key
from trainform.plan.model import Plan
from trainform.spec.experiment import Experiment

# Counting stops at this size: some objects grow with the square of the input (every init container mounts every
# checkout), and the text of such an object could fill the memory.
COUNTED = 4 * defaults.LARGEST_OBJECT
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class _Cause(NamedTuple):
    """What takes the space in an object: in words, the fields of an experiment from which it comes (`*` is each role),
    and what to do."""

    words: str
    fields: tuple[str, ...]
    fix: str


_LARGE_VALUES = "put large values into a ConfigMap, or into a file of the image or of a volume"
_LARGE_NOTES = "put large values into a ConfigMap"
_COMMANDS = _Cause(
    "the words of commands",
    ("launcher", "prepare", "roles.*.command", "roles.*.init"),
    "put long commands into a script of the image or of a volume, or use fewer steps",
)
_MOUNTS = _Cause(
    "mounts, of which every container has all",
    ("storage", "prepare", "roles.*.init"),
    "use fewer volumes or steps: check out several repositories in one step",
)
# By the field of the rendered object.
_CAUSES = {
    "env": _Cause("variables, of which every container has all", ("env", "roles.*.env"), _LARGE_VALUES),
    "command": _COMMANDS,
    "args": _COMMANDS,
    "volumeMounts": _MOUNTS,
    "volumes": _MOUNTS,
    "annotations": _Cause("annotations", ("annotations", "roles.*.annotations"), _LARGE_NOTES),
    "labels": _Cause("labels", ("labels", "roles.*.labels"), "write fewer of them, or annotations"),
}
_OTHERS = _Cause("", (), "put large values into a ConfigMap or the image, or use fewer roles")


def size_problems(plan: Plan, manifests: Iterable[Manifest], experiment: Experiment) -> Iterator[Problem]:
    """A problem for each object that is too large for etcd. `manifests`: the objects after `manifest_overrides`."""
    for manifest in manifests:
        size = _bytes(manifest.body)
        if size > defaults.LARGEST_OBJECT:
            key = override_key(manifest)
            path, most, fix = _reason(plan, manifest, experiment)
            shown = f"{size}" if size < COUNTED else f"more than {COUNTED}"
            yield Problem(
                path,
                None,
                f"the object {key} has {shown} bytes, {most}and etcd stores at most {defaults.LARGEST_OBJECT} beside "
                "what servers add",
                fix,
            )


def _reason(plan: Plan, manifest: Manifest, experiment: Experiment) -> tuple[str, str, str]:
    """The field that makes the object too large, what takes most of the space, in words, and the fix."""
    key = override_key(manifest)
    patch = plan.manifest_overrides.get(key)
    if patch is not None and _bytes(patch) > defaults.LARGEST_OBJECT // 2:
        return f"manifest_overrides.{key}", "most of them in its patch, ", _LARGE_VALUES
    if manifest.is_job and any(role.per_replica for role in plan.roles):
        fix = "use `ports: shared`, or fewer replicas"
        return "network.ports", "since each replica with ports of its own has a pod template of its own, ", fix
    if key == "launch-script":
        fix = "use fewer replicas, or a launcher that needs no list: torchrun"
        return "roles", "since it lists the hosts of all replicas, ", fix
    field, _ = max(_by_field(manifest.body).items(), key=lambda item: item[1], default=("", 0))
    cause = _CAUSES.get(field, _OTHERS)
    templates = sum(len([*role.groups()]) for role in plan.roles)
    several = f" in each of {templates} pod templates" if templates > 1 and manifest.is_job else ""
    words = f"most of them {cause.words}{several}, " if cause.words else ""
    return _largest_field(experiment, cause.fields), words, cause.fix


def _by_field(body: Any) -> Counter[str]:
    """How many characters there are below each of the fields in `_CAUSES`; counting stops at `COUNTED`."""
    found: Counter[str] = Counter()
    remaining: list[tuple[str, Any]] = [("", body)]
    while remaining and found.total() < COUNTED:
        field, value = remaining.pop()
        if isinstance(value, str):
            found[field] += len(value)
        elif isinstance(value, dict):
            for name, item in value.items():
                found[field] += len(name)
                remaining.append((field if field in _CAUSES else name, item))
        elif isinstance(value, list):
            remaining += [(field, item) for item in value]
    return found


def _largest_field(experiment: Experiment, fields: Iterable[str]) -> str:
    """The path of the one of these fields in which the experiment has most; empty if it has none of them."""
    written = experiment.model_dump(mode="json", exclude_defaults=True)
    sizes: dict[str, int] = {}
    for field in fields:
        *above, name = field.split(".")
        holders = (
            {f"roles.{role}.": given for role, given in written.get("roles", {}).items()} if above else {"": written}
        )
        sizes |= {f"{path}{name}": _bytes(holder[name]) for path, holder in holders.items() if name in holder}
    return max(sizes, key=lambda path: sizes[path], default="")


def _bytes(body: Any) -> int:
    """The length of the body as JSON, in which objects are sent and stored; `COUNTED` if it is longer than that."""
    return len(_ENCODER.encode(body).encode()) if _counted(body) < COUNTED else COUNTED


def _counted(body: Any) -> int:
    """The number of characters in keys and texts, without making the JSON; counting stops at `COUNTED`."""
    count, remaining = 0, [body]
    while remaining and count < COUNTED:
        value = remaining.pop()
        if isinstance(value, str):
            count += len(value)
        elif isinstance(value, dict):
            count += sum(map(len, value))
            remaining.extend(value.values())
        elif isinstance(value, list):
            count += len(value)  # the commas
            remaining.extend(value)
    return count
