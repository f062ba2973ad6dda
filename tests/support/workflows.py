"""The files for CI of the documents, as data, and the commands in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from tests.support.repository import ROOT

FOLDER = ROOT / "docs" / "how-to" / "ci"
GITHUB, GITLAB = FOLDER / "github-actions.yaml", FOLDER / "gitlab-ci.yaml"
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")
Step = dict[str, Any]


def read_as_texts(text: str) -> dict[str, Any]:
    """Return the file with all values as texts: in YAML 1.1, `on` is the truth."""
    data: dict[str, Any] = yaml.load(text, yaml.BaseLoader)  # noqa: S506 - it makes texts, lists and mappings alone
    return data


def steps(workflow: Mapping[str, Any], job: str) -> list[Step]:
    """Return the steps of a job."""
    found: list[Step] = workflow["jobs"][job]["steps"]
    return found


def step(workflow: Mapping[str, Any], job: str, name: str) -> Step:
    """Return the step with this name."""
    [found] = [each for each in steps(workflow, job) if each.get("name") == name]
    return found


def environment_of(found: Step, context: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that a step sets. context: the value of each expression in them; one that is missing fails
    the test."""
    return {
        name: EXPRESSION.sub(lambda written: context[written[1]], value) for name, value in found.get("env", {}).items()
    }


def scripts(workflow: Mapping[str, Any]) -> dict[str, str]:
    """Return what the shell runs in each step of a workflow of GitHub, by job and step."""
    return {
        f"{job}: {each['name']}": each["run"]
        for job in workflow["jobs"]
        for each in steps(workflow, job)
        if "run" in each
    }
