"""`trainform drift` of stacks that are up."""

from __future__ import annotations

import json
from typing import Any

import yaml

from tests.engine.live import Live
from tests.engine.project import Project

MARK = "trainform.dev/stack"
SPY = "c3B5LW9mLXRoZS1vdGhlci10ZWFt"  # a value of a Secret, which no report shows


def drift(project: Project, *stacks: str, code: int = 0) -> dict[str, Any]:
    """Run `trainform drift --fail`, and return the report of each stack."""
    ran = project.trainform("drift", "--fail", "--output", "json", *stacks)
    assert ran.code == code, ran.output
    assert SPY not in ran.output
    assert "PRIVATE KEY" not in ran.output
    return {stack["stack"]: stack for stack in json.loads(ran.output)["stacks"]}


def config(project: Project, experiment: str | None = None) -> str:
    """Write a stack's file, without the engine, which drift does not need; its name."""
    name = "dev" if experiment is None else f"{experiment}.dev"
    keys = {"trainform:environment": "dev", **({} if experiment is None else {"trainform:experiment": experiment})}
    (project.folder / "stacks" / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump({"config": keys}))
    return name


def take_over(live: Live, project: Project, experiment: str) -> str:
    """Mark the experiment as that of its own stack, since here one stack has made several; that stack's name."""
    stack = config(project, experiment)
    path = live.path("configmaps", project.namespace, f"{experiment}-deployed")
    body = {"metadata": {"annotations": {MARK: f"trainform/{stack}"}}}
    live.merge(path, body, "trainform")
    return stack
