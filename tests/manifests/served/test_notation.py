"""The notation of the tables of fields: what each of its forms stands for."""

from __future__ import annotations

from typing import Any

import pytest

from trainform.manifests.served.notation import LACKS, kinds_of, types_of
from trainform.manifests.served.words import WORDS

NAME = {"type": "string", "pattern": WORDS["label"]["pattern"], "maxLength": 63}


def of(value: str) -> Any:
    return types_of({"Type": {"field": value}})["Type"]["properties"]["field"]


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("text", {"type": "string"}),
        ("flag", {"type": "boolean"}),
        ("label", NAME),
        ("anything", {}),
        ("EnvVar", {"$ref": "EnvVar"}),
        ("[text]", {"type": "array", "items": {"type": "string"}}),
        ("{[text]}", {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "string"}}}),
        ("{label: text}", {"type": "object", "additionalProperties": {"type": "string"}, "propertyNames": NAME}),
        ("Always | Never", {"type": "string", "enum": ["Always", "Never"]}),
        ("'' | File", {"type": "string", "enum": ["", "File"]}),
        ("'v1'", {"type": "string", "enum": ["v1"]}),
        ("[fifo | traverse]", {"type": "array", "items": {"type": "string", "enum": ["fifo", "traverse"]}}),
        ("int32 >= 0", {"type": "integer", "format": "int32", "minimum": 0}),
        ("integer 1..100", {"type": "integer", "minimum": 1, "maximum": 100}),
        ("text <= 253", {"type": "string", "maxLength": 253}),
        ("[text <= 63] <= 8", {"type": "array", "items": {"type": "string", "maxLength": 63}, "maxItems": 8}),
        ("[Volume] by name <= 128", {"type": "array", "items": {"$ref": "Volume"}, "x-kubernetes-list-map-keys": ["name"], "maxItems": 128}),
        ("[Port] by port, protocol", {"type": "array", "items": {"$ref": "Port"}, "x-kubernetes-list-map-keys": ["port", "protocol"]}),
    ],
)  # fmt: skip
def test_a_value(value: str, schema: dict[str, Any]) -> None:
    assert of(value) == schema


@pytest.mark.parametrize("value", ["txet", "int32 > 0", "int32 >= many", "[text", "Always or Never"])
def test_what_is_no_value(value: str) -> None:
    with pytest.raises((KeyError, ValueError)):
        of(value)


def test_required_fields() -> None:
    assert types_of({"Sysctl": {"name!": "text", "value": "text"}})["Sysctl"]["required"] == ["name"]


def test_a_kind_has_the_types_of_its_own_table_in_it() -> None:
    types = {"Job": {"tasks": "[Task]"}, "Task": {"env": "[EnvVar]", "template": "PodTemplateSpec"}}
    (job,) = kinds_of({"example.com/v1/Job": {"spec": "Job"}}, types, {"Container": ["stdin"]}).values()
    assert job["properties"]["metadata"] == {"$ref": "ObjectMeta"}
    task = job["properties"]["spec"]["properties"]["tasks"]["items"]["properties"]
    assert task["env"]["items"] == {"$ref": "EnvVar"}
    assert task["template"] == {"$ref": "PodTemplateSpec", LACKS: {"Container": {"stdin"}}}
