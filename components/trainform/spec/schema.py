"""JSON Schemas of the two files: editors complete and check by them."""

from __future__ import annotations

import json

from pydantic import BaseModel

from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

FILES: dict[str, type[BaseModel]] = {"experiment.schema.json": Experiment, "environment.schema.json": Environment}


def schema(kind: type[BaseModel]) -> str:
    """The schema as it stands in the file, with a line feed at its end."""
    content = {"$schema": "https://json-schema.org/draft/2020-12/schema", **kind.model_json_schema()}
    return json.dumps(content, indent=2) + "\n"
