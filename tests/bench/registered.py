"""Whether two stacks hold the same objects, so that their previews may be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.bench.commands import Command, run
from trainform.errors import TrainformError

# What Pulumi and the typed classes add to the inputs, and what differs on purpose.
_ADDED = ("__defaults", "__initialApiVersion", "__fieldManager")


def objects(export: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs of each Kubernetes object of a `pulumi stack export`, by kind and name, without the namespace."""
    found = {}
    for resource in export["deployment"]["resources"]:
        if resource["type"].startswith("kubernetes:"):
            inputs = _plain(resource["inputs"])
            inputs["metadata"].pop("namespace")
            found[f"{inputs['kind']} {inputs['metadata']['name']}"] = inputs
    return found


def refuse_difference(ours: Command, other: Command) -> None:
    """TrainformError where the two exports do not hold the same."""
    first, second = (objects(json.loads(run(command)[1])) for command in (ours, other))
    # nothing on both sides would be equal too
    if not first or first != second:
        names = sorted(name for name in {*first, *second} if first.get(name) != second.get(name))
        raise TrainformError(
            f"{other.name} does not register the same objects: {', '.join(names)}", "correct tests/bench/by_hand.py"
        )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if key not in _ADDED}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value
