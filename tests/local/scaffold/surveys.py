"""What a cluster says, as its API does, and the environment that is read from the written file."""

from __future__ import annotations

import re
from typing import Any

from trainform.cluster.survey import Survey
from trainform.local.scaffold.new_environment import environment_text
from trainform.rules.references import environment_problems
from trainform.spec.environment import Environment
from trainform.spec.load import parse
from trainform.spec.read import parse_mapping

PRODUCT = "nvidia.com/gpu.product"


def node(
    resources: dict[str, str], labels: dict[str, str] | None = None, taints: list[dict[str, str]] | None = None
) -> dict[str, Any]:
    allocatable = {"cpu": "95500m", "memory": "1056957440Ki", "pods": "110", "ephemeral-storage": "1Ti", **resources}
    return {
        "metadata": {"name": "n", "labels": {} if labels is None else labels},
        "spec": {"taints": [] if taints is None else taints},
        "status": {"allocatable": allocatable},
    }


def named(*names: str) -> list[dict[str, Any]]:
    return [{"metadata": {"name": name}} for name in names]


def queue(name: str, parent: str | None = None, state: str | None = "Open") -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {} if parent is None else {"parent": parent},
        "status": {} if state is None else {"state": state},
    }


def survey(**parts: Any) -> Survey:
    nothing: dict[str, Any] = {"nodes": [], "storage_classes": [], "queues": [], "local_queues": []}
    given: dict[str, Any] = {"context": "prod-cluster", "namespace": "team-a", "operators": ("volcano",)}
    return Survey(**(given | nothing | parts))


def read(text: str) -> Environment:
    parsed = parse(Environment, parse_mapping(text, "prod.yaml").data)
    assert parsed.problems == ()
    assert parsed.model is not None
    assert environment_problems(parsed.model) == []
    return parsed.model


def environment(**parts: Any) -> Environment:
    return read(environment_text("prod", survey(**parts)))


def uncommented(text: str) -> str:
    """Return the file with its examples: comments that begin with a key, and the lines of a mapping below one."""
    return "\n".join(re.sub(r"^# (?=[a-z_]+:|  )", "", line) for line in text.splitlines())


READY = {"conditions": [{"type": "Ready", "status": "True"}, {"type": "DiskPressure", "status": "False"}]}
