"""JSON Schemas of the two files, for completion and checks in editors."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from trainform.spec.environment import Environment
from trainform.spec.experiment import NOT_PATCHED, OVERLAYS, Experiment

FILES: dict[str, type[BaseModel]] = {"experiment.schema.json": Experiment, "environment.schema.json": Environment}
_DEFINITION = "#/$defs/"
_OVERLAY = "Overlay"
# Keywords that apply to a whole object, and not to a patch of it.
_WHOLE_OBJECT_ONLY = ("required", "minProperties", "maxProperties", "default", "examples", "title")
_ONE_OF_THE_KEYS = {"required"}
_NULL = {"type": "null"}


def _closed(node: Any) -> Any:
    """Return the node without additional properties where it has patterns for keys, like the models."""
    if isinstance(node, list):
        return [_closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    closed = {key: _closed(value) for key, value in node.items()}
    return {**closed, "additionalProperties": False} if "patternProperties" in node else closed


def schema(kind: type[BaseModel]) -> str:
    """Return the content of the schema's file, with a line feed at its end."""
    result: dict[str, Any] = _closed(kind.model_json_schema())
    if OVERLAYS in result["properties"]:
        result = _add_overlays(result)
    content = {"$schema": "https://json-schema.org/draft/2020-12/schema", **result}
    return json.dumps(content, indent=2) + "\n"


def _add_overlays(experiment: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an experiment with overlays: the same fields, each of which may be left out or null."""
    definitions: dict[str, Any] = experiment["$defs"]
    fields = {key: value for key, value in experiment["properties"].items() if key not in NOT_PATCHED}
    patches: dict[str, Any] = {
        _OVERLAY: {"additionalProperties": False, "type": "object", "properties": _nullable(fields, definitions)}
    }
    for name, definition in definitions.items():
        patches[f"{name}{_OVERLAY}"] = _patch_of(definition, definitions)
    overlays = {**experiment["properties"][OVERLAYS]}
    (pattern,) = overlays["patternProperties"]
    overlays["patternProperties"] = {pattern: {"$ref": f"{_DEFINITION}{_OVERLAY}"}}
    used = _used({"": overlays}, patches)
    return {
        **experiment,
        "$defs": {**definitions, **{name: patch for name, patch in patches.items() if name in used}},
        "properties": {**experiment["properties"], OVERLAYS: overlays},
    }


def _patch_of(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a merge patch on a value of the node's schema."""
    if node.get("type") == "array":
        items_by_name = _items_by_name(node, definitions)
        return {"anyOf": [node, items_by_name]} if items_by_name else node
    patch = {key: value for key, value in node.items() if key not in _WHOLE_OBJECT_ONLY}
    if "$ref" in node:
        patch["$ref"] = f"{node['$ref']}{_OVERLAY}"
    for key in ("properties", "patternProperties"):
        if key in node:
            patch[key] = _nullable(node[key], definitions)
    if isinstance(node.get("additionalProperties"), dict):
        patch["additionalProperties"] = _or_null(node["additionalProperties"], definitions)
    for key in ("oneOf", "anyOf"):
        if key in node:
            patch.pop(key)
            forms = [_patch_of(form, definitions) for form in node[key] if form.keys() != _ONE_OF_THE_KEYS]
            patch |= {"anyOf": forms} if forms else {}
    return patch


def _items_by_name(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a mapping that patches the items of the list by name; empty if they have no names."""
    reference = node.get("items", {}).get("$ref")
    if reference is None or "name" not in definitions[reference.removeprefix(_DEFINITION)]["properties"]:
        return {}
    return {"type": "object", "additionalProperties": _or_null(node["items"], definitions)}


def _nullable(fields: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    return {key: _or_null(field, definitions) for key, field in fields.items()}


def _or_null(field: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    patch = _patch_of(field, definitions)
    if _NULL in patch.get("anyOf", []):
        return patch
    inner = {key: value for key, value in patch.items() if key != "description"}
    return {"anyOf": [inner, _NULL], **{key: field[key] for key in ("description",) if key in field}}


def _used(node: Any, patches: dict[str, Any], found: frozenset[str] = frozenset()) -> frozenset[str]:
    """Return the names of the patches to which the node refers, directly or through other patches."""
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        found = _used(value, patches, found)
    name = node.get("$ref", "").removeprefix(_DEFINITION) if isinstance(node, dict) else ""
    return _used(patches[name], patches, found | {name}) if name in patches and name not in found else found
