"""The tables of fields beside what a server says of the same types: a line for each difference, with what to write in the table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from trainform.manifests.served.definitions.objects import METADATA
from trainform.manifests.served.notation import LACKS
from trainform.manifests.served.validation import Schema, key_of, kubernetes
from trainform.manifests.served.words import WORDS
from trainform.spec.names import END

# Fields that a server has and no table looks into.
LEFT_OUT = {
    "metadata": "a patch sets labels and annotations alone; whatever else there is belongs to the server",
    "status": "the operator writes it",
    "ephemeralContainers": "only a running pod gets one: Kubernetes refuses them in a template",
}
# In which parts of Kubernetes' document its types are; the last one counts.
_GROUPS = ("io.k8s.apimachinery.pkg.apis.meta.v1.", "io.k8s.api.core.v1.")
_QUANTITIES = {"Quantity": "quantity", "IntOrString": "number-or-text"}
_KINDS = ("type", "format", "x-kubernetes-int-or-string")
_LEAST, _MOST = ("minimum", "minLength"), ("maximum", "maxLength", "maxItems")
_BOUNDS = (*_LEAST, *_MOST, "pattern", "enum", "x-kubernetes-list-map-keys")


class Reading(NamedTuple):
    """exact: the table says no more of a value than the server's document; Kubernetes' own document does not say all. lacks: `PODS_LACK`."""

    exact: bool
    lacks: Mapping[str, Collection[str]] = {}


def of_kubernetes(document: Schema) -> Iterator[str]:
    """The table of Kubernetes' kinds and types beside its OpenAPI document of the group `v1`."""
    server: dict[str, Schema] = {}
    for group in _GROUPS:
        found = document["components"]["schemas"].items()
        server.update((name.removeprefix(group), schema) for name, schema in found if name.startswith(group))
    for key in kubernetes().keys() - METADATA.keys():
        name = key.rpartition("/")[2]
        if name in server:
            yield from differences(key, kubernetes()[key], server[name], Reading(exact=False))
        else:
            yield f"{key}: the server has no such type: remove it"


def of_operators(schemas: Mapping[str, Schema], definitions: Iterable[Schema]) -> Iterator[str]:
    """The tables of the operators' kinds beside their custom resource definitions."""
    server = {}
    for definition in definitions:
        spec = definition["spec"]
        version = next(version for version in spec["versions"] if version["storage"])
        key = key_of(f"{spec['group']}/{version['name']}", spec["names"]["kind"])
        server[key] = version["schema"]["openAPIV3Schema"]
    for key, schema in schemas.items():
        if key in server:
            yield from differences(key, schema, server[key], Reading(exact=True))
        else:
            yield f"{key}: the server has no such kind: remove it"


def differences(where: str, table: Schema, server: Schema, reading: Reading) -> Iterator[str]:
    server = _resolved(server)
    kind = table.get("$ref", "")
    if not table or "$ref" in server:
        if table and table != {"type": "object"} and kind != server["$ref"]:
            yield f"{where}: write `{written(server)}`"
        return
    if kind:
        reading = Reading(exact=False, lacks=table.get(LACKS, reading.lacks))
        table = kubernetes()[kind]
    if any(table.get(key) != server.get(key) for key in _KINDS):
        yield f"{where}: write `{written(server)}`"
        return
    for key in (key for key in _BOUNDS if key in server or (reading.exact and key in table)):
        if _comparable(table.get(key)) != _comparable(server.get(key)):
            yield f"{where}: the {key} is {table.get(key)}, and the server has {server.get(key)}: write `{written(server)}`"
    if "properties" in table:
        yield from _fields(where, kind, table, server, reading)
    for part in ("items", "additionalProperties"):
        if part in table:
            yield from differences(f"{where}.*", table[part], server.get(part, {}), reading)


def _fields(where: str, kind: str, table: Schema, server: Schema, reading: Reading) -> Iterator[str]:
    mine, theirs = table["properties"], server.get("properties", {})
    needs, needed = set(table.get("required", ())), set(server.get("required", ()))
    lacking = set(reading.lacks.get(kind, ()))
    for name in sorted((mine.keys() | theirs.keys()) - LEFT_OUT.keys()):
        place = f"{where}.{name}"
        if name not in mine:
            if not kind:  # else an operator knows pods of a newer Kubernetes, and the server does not
                yield f"{place}: the table lacks it: add `{written(theirs[name])}`"
        elif name not in theirs and name not in lacking:
            yield f"{place}: the server does not have it: remove it, or add {name} to `{kind}` of PODS_LACK"
        elif name in theirs and name in lacking:
            yield f"{place}: the server has it: remove {name} from `{kind}` of PODS_LACK"
        elif name in theirs:
            yield from differences(place, mine[name], theirs[name], reading)
            if name in needed - needs or (reading.exact and name in needs - needed):
                yield f"{place}: write `{name}{'!' if name in needed else ''}`"


def written(schema: Schema) -> str:
    """What a table has for a field of the server."""
    schema = _resolved(schema)
    least, most = (next((schema[key] for key in keys if key in schema), None) for keys in (_LEAST, _MOST))
    bounds = f" {least}..{most}" if least is not None and most is not None else ""
    bounds = bounds or (f" >= {least}" if least is not None else "") or (f" <= {most}" if most is not None else "")
    if "$ref" in schema:
        return str(schema["$ref"])
    if "enum" in schema:
        return " | ".join(word or "''" for word in schema["enum"])
    if schema.get("type") == "array":
        keys = schema.get("x-kubernetes-list-map-keys")
        return f"[{written(schema['items'])}]{' by ' + ', '.join(keys) if keys else ''}{bounds}"
    if isinstance(schema.get("additionalProperties"), Mapping):
        return f"{{{written(schema['additionalProperties'])}}}"
    if "properties" in schema:
        return f"a type with {', '.join(schema['properties'])}"
    facts = {key: schema[key] for key in (*_KINDS, "pattern") if key in schema}
    plain = {key: schema[key] for key in _KINDS if key in schema}
    words = [word for meant in (facts, plain) for word, meaning in WORDS.items() if meaning == meant]
    return f"{words[0]}{bounds}" if words else "anything"


def _resolved(schema: Schema) -> Schema:
    """The schema, or the short name of the type to which it refers."""
    for part in (schema, *schema.get("allOf", ())):
        if "$ref" in part:
            name = part["$ref"].rpartition(".")[2]
            return WORDS[_QUANTITIES[name]] if name in _QUANTITIES else {"$ref": name}
    return schema


def _comparable(bound: Any) -> Any:
    return sorted(bound) if isinstance(bound, list) else bound.replace(END, "$") if isinstance(bound, str) else bound
