"""JSON Schemas of the two files: editors complete and check by them."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

FILES: dict[str, type[BaseModel]] = {"experiment.schema.json": Experiment, "environment.schema.json": Environment}


def _closed(node: Any) -> Any:
    """The node with mappings by pattern of their keys closed to all other keys, as the models are."""
    if isinstance(node, list):
        return [_closed(item) for item in node]
    if not isinstance(node, dict):
        return node
    closed = {key: _closed(value) for key, value in node.items()}
    return {**closed, "additionalProperties": False} if "patternProperties" in node else closed


def schema(kind: type[BaseModel]) -> str:
    """The schema as it stands in the file, with a line feed at its end."""
    content = {"$schema": "https://json-schema.org/draft/2020-12/schema", **_closed(kind.model_json_schema())}
    return json.dumps(content, indent=2) + "\n"
