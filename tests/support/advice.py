"""Follow the fix of a problem in the data of a file, as a person would who reads nothing else."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

import yaml

Keys = list[str | int]
Follow = Callable[[dict[str, Any], Keys, re.Match[str]], None]

IMAGE = "registry.example.com/ai/pytorch-training:2.8"
DIGITS = "4f5c2e9b8d1a7c3e6f0b2d4a8c1e5f7b9d3a6c0e"
SECRET = {"secret": {"name": "tokens", "key": "token"}}


def keys_of(data: Any, path: str) -> Keys:
    """The keys that a path of a problem leads through. Keys have dots of their own; what is not there counts as one key up to the next dot."""
    keys: Keys = []
    while path:
        path = path.removeprefix(".")
        index = re.match(r"\[(\d+)\]", path)
        if index is not None:
            found: str | int = int(index.group(1))
            path = path[index.end() :]
        else:
            ends = [end.start() for end in re.finditer(r"$|[.\[]", path)]
            names = {str(name): name for name in data} if isinstance(data, dict) else {}
            known = [path[:end] for end in reversed(ends) if path[:end] in names]
            text = known[0] if known else path[: ends[0]]
            found, path = names.get(text, text), path[len(text) :]
        keys.append(found)
        data = at(data, [found])
    return keys


def at(data: Any, keys: Keys) -> Any:
    """The value at the keys, None where nothing is."""
    for key in keys:
        try:
            data = data[key]
        except (KeyError, IndexError, TypeError):
            named = (
                [item for item in data if isinstance(item, dict) and item.get("name") == key]
                if isinstance(data, list)
                else []
            )
            data = named[0] if named else None
    return data


def put(data: dict[str, Any], keys: Keys, value: Any) -> None:
    """Set the value at the keys, with what leads there."""
    inside: Any = data
    for key in keys[:-1]:
        if not isinstance(at(inside, [key]), dict | list):
            inside[key] = {}
        inside = at(inside, [key])
    inside[keys[-1]] = value


def drop(data: dict[str, Any], keys: Keys, _: Any = None) -> None:
    """Remove what stands at the keys, or nothing."""
    above = at(data, keys[:-1])
    if isinstance(above, dict):
        above.pop(keys[-1], None)
    elif isinstance(above, list) and above:
        above.remove(at(above, keys[-1:]))
    else:  # the place is one of the patched object: the part of the patch that comes nearest goes
        drop(data, keys[:-1])


def value(made: Any, *below: str | int) -> Follow:
    """Write a value at the place, or below it."""
    return lambda data, keys, _: put(data, [*keys, *below], copy.deepcopy(made))


def beside(key: str, made: Any) -> Follow:
    """Write a value beside the place."""
    return lambda data, keys, _: put(data, [*keys[:-1], key], copy.deepcopy(made))


def top(made: Any, *keys: str) -> Follow:
    """Write a value at a place of its own."""
    return lambda data, _, __: put(data, [*keys], copy.deepcopy(made))


def without(*keys: str | int) -> Follow:
    """Remove what is at this place below the problem's."""
    return lambda data, above, _: drop(data, [*above, *keys])


def key(made: str) -> Follow:
    """Write another key in the place of this one."""

    def follow(data: dict[str, Any], keys: Keys, _: Any) -> None:
        above = at(data, keys[:-1])
        renamed = {made if name == keys[-1] else name: held for name, held in above.items()}
        above.clear()
        above.update(renamed)

    return follow


def written(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
    """Write what the fix says, as YAML reads it."""
    put(data, keys, yaml.safe_load(match.group(1)))


def lines(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
    """Write what the fix says in the mapping at the place: `key: value`."""
    for name, held in yaml.safe_load(match.group(1)).items():
        put(data, [*keys, name], held)


def lines_beside(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
    """The same in the mapping that holds the place."""
    lines(data, keys[:-1], match)


def all_of(*steps: Follow) -> Follow:
    def follow(data: dict[str, Any], keys: Keys, match: re.Match[str]) -> None:
        for step in steps:
            step(data, keys, match)

    return follow


def change(edit: Callable[[Any], Any], *below: str | int) -> Follow:
    """Write what is made of the value that stands there."""
    return lambda data, keys, _: put(data, [*keys, *below], edit(at(data, [*keys, *below])))
