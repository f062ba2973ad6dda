"""The tables of fields, without a server: they are in order, and nothing in them is left over. `tests/engine/test_served.py` has the rest."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.repository import ROOT
from tests.support.server_fields import LEFT_OUT, Reading, differences, of_kubernetes, of_operators, written
from trainform.manifests.served import definitions as of_kubernetes_own
from trainform.manifests.served.notation import LACKS, Table, types_of
from trainform.manifests.served.validation import kubernetes

LIBRARY = ROOT / "components"
OF_BACKENDS = sorted((LIBRARY / "trainform" / "backends").rglob("definitions.py"))
FILES = [*OF_BACKENDS, *sorted((LIBRARY / "trainform" / "manifests" / "served" / "definitions").glob("[a-z]*.py"))]
MODULES = [".".join(path.relative_to(LIBRARY).with_suffix("").parts) for path in OF_BACKENDS]
TABLES = {name: importlib.import_module(name) for name in MODULES} | {"kubernetes": of_kubernetes_own}


def words(table: Table) -> set[str]:
    return {word for fields in table.values() for value in fields.values() for word in re.findall(r"\w+", value)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name + "/" + path.stem)
def test_fields_are_in_order(path: Path) -> None:
    tables = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Dict)]
    for fields in (table for table in tables if not any(isinstance(value, ast.Dict) for value in table.values)):
        names = [str(key.value).removesuffix("!") for key in fields.keys if isinstance(key, ast.Constant)]
        assert names == sorted(names)


@pytest.mark.parametrize("name", TABLES)
def test_every_type_is_one_of_a_field(name: str) -> None:
    others = [module.TYPES for module in TABLES.values()] if name == "kubernetes" else []
    used = set().union(*map(words, (TABLES[name].KINDS, TABLES[name].TYPES, *others)))
    assert TABLES[name].TYPES.keys() - used - {"ObjectMeta", "PodTemplateSpec"} == set()


@pytest.mark.parametrize("name", MODULES)
def test_no_type_has_the_name_of_another(name: str) -> None:
    assert TABLES[name].TYPES.keys() & of_kubernetes_own.TYPES.keys() == set()


@pytest.mark.parametrize("name", MODULES)
def test_what_pods_lack_are_fields_of_pods(name: str) -> None:
    for type_name, fields in getattr(TABLES[name], "PODS_LACK", {}).items():
        assert set(fields) <= kubernetes()[type_name]["properties"].keys()


def found(table: Mapping[str, Any], server: Mapping[str, Any], exact: bool = True) -> list[str]:
    return [line.partition(": ")[2] for line in differences("Job", table, server, Reading(exact))]


TEXT, INT32 = {"type": "string"}, {"type": "integer", "format": "int32"}


@pytest.mark.parametrize(
    ("table", "server", "line"),
    [
        (TEXT, INT32, "write `int32`"),
        (INT32, {"type": "integer", "format": "int64", "minimum": 0}, "write `int64 >= 0`"),
        (INT32, {**INT32, "minimum": 1}, "the minimum is None, and the server has 1: write `int32 >= 1`"),
        ({**TEXT, "maxLength": 9}, TEXT, "the maxLength is 9, and the server has None: write `text`"),
        ({**TEXT, "enum": ["a"]}, {**TEXT, "enum": ["a", "b"]}, "the enum is ['a'], and the server has ['a', 'b']: write `a | b`"),
        ({"$ref": "EnvVar"}, {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.Volume"}]}, "write `Volume`"),
        ({"type": "array", "items": TEXT}, {"type": "array", "items": INT32}, "write `int32`"),
    ],
    ids=str,
)  # fmt: skip
def test_a_value_that_differs_from_the_server(table: dict[str, Any], server: dict[str, Any], line: str) -> None:
    assert found(table, server) == [line]


@pytest.mark.parametrize(
    ("table", "server"),
    [
        ({}, {"type": "object", "properties": {"size": TEXT}}),  # anything
        ({"type": "object"}, {"type": "object", "properties": {"size": TEXT}}),  # a mapping
        ({**TEXT, "enum": ["b", "a"]}, {**TEXT, "enum": ["a", "b"], "description": "one of them"}),
        ({"$ref": "EnvVar"}, {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.EnvVar"}]}),
    ],
    ids=str,
)
def test_a_value_that_is_the_server_s(table: dict[str, Any], server: dict[str, Any]) -> None:
    assert found(table, server) == []


def test_a_table_of_kubernetes_may_say_more_than_its_document() -> None:
    assert found({**TEXT, "pattern": "^/"}, TEXT, exact=False) == []
    assert found(TEXT, {**TEXT, "pattern": "^/"}, exact=False) != []


def test_fields_in_both_directions() -> None:
    table = {"type": "object", "properties": {"replicas": INT32, "name": TEXT}, "required": ["name"]}
    server = {"type": "object", "properties": {"name": TEXT, "queue": TEXT, "status": TEXT}}
    assert found(table, server) == [
        "write `name`",
        "the table lacks it: add `text`",
        "the server does not have it: remove it, or add replicas to `` of PODS_LACK",
    ]
    assert "status" in LEFT_OUT


def test_what_an_operator_s_pods_lack_in_both_directions() -> None:
    table = {"$ref": "Lifecycle", LACKS: {"Lifecycle": {"preStop"}}}
    server = {"type": "object", "properties": {"preStop": {}, "postStart": {}, "newer": {}}}
    lines = [line for line in found(table, server) if "PODS_LACK" in line]
    assert lines == [
        "the server has it: remove preStop from `Lifecycle` of PODS_LACK",
        "the server does not have it: remove it, or add stopSignal to `Lifecycle` of PODS_LACK",
    ]


def test_what_the_server_does_not_have() -> None:
    assert "EnvVar: the server has no such type: remove it" in of_kubernetes({"components": {"schemas": {}}})
    assert [*of_operators({"example.com/v1/Job": {}}, [])] == [
        "example.com/v1/Job: the server has no such kind: remove it"
    ]


@pytest.mark.parametrize("value", ["text", "[EnvVar] by name", "{quantity}", "Always | Never", "'' | File", "int32 1..9", "[text] <= 8", "flag"])  # fmt: skip
def test_what_is_written_for_a_field_of_the_server(value: str) -> None:
    assert written(types_of({"Type": {"field": value}})["Type"]["properties"]["field"]) == value
