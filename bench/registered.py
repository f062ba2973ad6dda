"""Checks that two programs register the same objects, so that their previews can be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from msgspec import structs

from bench.commands import Command, run
from trainform import defaults
from trainform.errors import TrainformError

# Fields that Pulumi and the typed classes add to the inputs, or that differ on purpose.
_ADDED = ("__defaults", "__initialApiVersion", "__fieldManager")


def objects(export: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of each Kubernetes object in a `pulumi stack export`, by kind and name, without the
    namespace."""
    found = {}
    for resource in export["deployment"]["resources"]:
        if resource["type"].startswith("kubernetes:"):
            inputs = _plain(resource["inputs"])
            inputs["metadata"].pop("namespace")
            # of trainform, which its Pulumi program alone writes: its version and the stack's mark
            inputs.get("data", {}).pop("version", None)
            inputs["metadata"].get("annotations", {}).pop(defaults.STACK_ANNOTATION, None)
            found[f"{inputs['kind']} {inputs['metadata']['name']}"] = inputs
    return found


def refuse_difference(ours: Command, other: Command) -> None:
    """Raise `TrainformError` if the two stacks do not have the same objects."""
    first, second = (objects(json.loads(run(command)[1])) for command in (ours, other))
    # two empty stacks would be equal too
    if not first or first != second:
        names = sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
        raise TrainformError(
            f"{other.name} does not register the same objects: {', '.join(names)}", "correct bench/by_hand.py"
        )


def left_out(whole: Mapping[str, Any], part: Mapping[str, Any]) -> list[str]:
    """Return the types of the resources that a `pulumi preview --json` has and another has not.

    Raises `TrainformError` if the other has a resource of its own.
    """
    first, second = ({step["urn"]: step["newState"]["type"] for step in preview["steps"]} for preview in (whole, part))
    own = sorted(second.keys() - first.keys())
    if own:
        raise TrainformError(f"one program alone registers {', '.join(own)}", "correct bench/cluster.py")
    return [kind for urn, kind in first.items() if urn not in second]


def refuse_other_than_role_groups(ours: Command, without: Command, roles: int) -> None:
    """Raise `TrainformError` if the second preview lacks anything but the components of so many roles."""
    previews = (structs.replace(command, words=(*command.words, "--json")) for command in (ours, without))
    lacking = left_out(*(json.loads(run(preview)[1]) for preview in previews))
    if lacking != ["trainform:index:RoleGroup"] * roles:
        raise TrainformError(f"{without.name}: it lacks {', '.join(lacking)}", "correct bench/cluster.py")


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if key not in _ADDED}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
