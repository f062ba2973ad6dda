"""How the tables of fields are written (`definitions`, here and beside each operator), and the schemas that they stand for.

A type is a line for each of its fields, in alphabetical order; `!` behind the name says that the field is required. The value is

    text, int32, flag, …    a word of `words.py`
    EnvVar                  a type: of the same table, further down, or else of Kubernetes
    [EnvVar]                a list of it
    {text}                  a mapping with values of it; {entry-key: text} with keys of a word
    Always | Never          one of these words, '' is the empty one; 'v1' this word alone

and may have behind it

    by name, protocol       of a list: two items never have the same values in these fields
    >= 0, <= 253, 1..100    bounds: of a number, or of how many characters or items there are
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from trainform.manifests.served.words import WORDS

Schema = Mapping[str, Any]
Table = Mapping[str, Mapping[str, str]]
Lacking = Mapping[str, Iterable[str]]

POD_TEMPLATE = "PodTemplateSpec"
LACKS = "lacks"
"""Beside `$ref`: by type of Kubernetes, the fields which the operator's own definition of pods does not have."""

_VALUE = re.compile(
    r"(?P<of>\[.+\]|\{.+\}|\S+)(?: by (?P<keys>\w+(?:, \w+)*))?(?: >= (?P<least>\d+)| <= (?P<most>\d+)| (?P<first>\d+)\.\.(?P<last>\d+))?"
)
_BOUNDS = {"integer": ("minimum", "maximum"), "string": ("minLength", "maxLength"), "array": ("minItems", "maxItems")}
_OF_KINDS = {"apiVersion": "text", "kind": "text", "metadata": "ObjectMeta"}


def types_of(table: Table) -> dict[str, Schema]:
    """The schemas of types that refer to each other."""
    return {name: _mapping(fields, {}) for name, fields in table.items()}


def kinds_of(kinds: Table, types: Table, lacking: Lacking | None = None) -> dict[str, Schema]:
    """The schemas of kinds. Their own types are put in; those of Kubernetes are referred to. lacking: what the pods in them do not have."""
    own: dict[str, Schema] = {}
    if lacking is not None:
        own[POD_TEMPLATE] = {"$ref": POD_TEMPLATE, LACKS: {name: frozenset(fields) for name, fields in lacking.items()}}
    for name in reversed(list(types)):
        own[name] = _mapping(types[name], own)
    return {key: _mapping({**_OF_KINDS, **fields}, own) for key, fields in kinds.items()}


def _mapping(fields: Mapping[str, str], own: Mapping[str, Schema]) -> Schema:
    properties = {name.removesuffix("!"): _value(value, own) for name, value in fields.items()}
    required = [name[:-1] for name in fields if name.endswith("!")]
    return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _value(text: str, own: Mapping[str, Schema]) -> Schema:
    if text in WORDS:
        return WORDS[text]
    if text[0] == "'" or (" | " in text and text[0] not in "[{"):
        return {"type": "string", "enum": [word.strip("'") for word in text.split(" | ")]}
    found = _VALUE.fullmatch(text)
    if found is None:
        raise ValueError(f"no value of a table of fields: {text}")
    of = found["of"]
    if of[0] == "[":
        schema: Schema = {"type": "array", "items": _value(of[1:-1], own)}
    elif of[0] == "{":
        keys, _, inner = of[1:-1].rpartition(": ")
        schema = {"type": "object", "additionalProperties": _value(inner, own)}
        schema = {**schema, **({"propertyNames": _value(keys, own)} if keys else {})}
    elif of[0].isupper():
        schema = own.get(of, {"$ref": of})
    else:
        schema = WORDS[of]
    return {**schema, **_more(found, schema)} if of != text else schema


def _more(found: re.Match[str], schema: Schema) -> Schema:
    """What stands behind a value."""
    least, most = _BOUNDS.get(schema.get("type", ""), ("", ""))
    bounds = {least: found["least"] or found["first"], most: found["most"] or found["last"]}
    keys = {"x-kubernetes-list-map-keys": found["keys"].split(", ")} if found["keys"] else {}
    return {**keys, **{name: int(number) for name, number in bounds.items() if number is not None}}
