"""The JSON Schemas in the repository: current, right for every file in `stacks/`, and wrong for what is wrong."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from tests.conftest import ROOT
from tests.review.forms.samples import EMPTY, ONE_FAILED, RICH, SEVERAL, USUAL
from tests.support.repository import tracked
from trainform import defaults
from trainform.local.scaffold.project import SCHEMAS
from trainform.review.model import Review
from trainform.review.stored import SCHEMA_FILE
from trainform.review.whole import review_of
from trainform.spec.schema import FILES, schema

FOLDER = ROOT / "stacks" / "schemas"
KINDS = {"experiments": "experiment.schema.json", "environments": "environment.schema.json"}
WRITTEN = [(path, KINDS[folder]) for folder in KINDS for path in tracked(f"{folder}/*.yaml")]
# What only the two files together, or the rules on the whole, can tell.
BY_FORM = [
    "claims", "durations", "env-reserved-and-wrong-names", "image-not-a-reference", "missing-fields",
    "mount-not-a-path",
    "name-too-long", "no-launcher", "no-roles", "number-where-text-is-wanted", "policies-wrong", "port-out-of-bounds",
    "role-name-not-a-label", "secret-in-a-list", "several-problems", "text-where-a-number-is-wanted",
    "text-with-line-feed", "two-launchers",
    "unknown-key", "unknown-key-deep", "wrong-quantity", "labels-and-annotations", "restart-words", "prepare-steps",
    "task-types",
    "addresses-and-ports", "overlays",
]  # fmt: skip


@functools.cache
def validator(name: str) -> Draft202012Validator:
    content = json.loads((FOLDER / name).read_text())
    Draft202012Validator.check_schema(content)
    return Draft202012Validator(content)


def as_json(path: Path) -> Any:
    """The file as an editor sees it: a date is text there."""
    return json.loads(json.dumps(yaml.safe_load(path.read_text()), default=str))


@pytest.mark.parametrize(("name", "kind"), SCHEMAS.items())
def test_schemas_are_current(name: str, kind: type[BaseModel]) -> None:
    assert (FOLDER / name).read_text() == schema(kind), "run `trainform schema`"


@pytest.mark.parametrize(
    "review",
    [*(review_of([report]) for report in (RICH, USUAL, EMPTY)), SEVERAL, ONE_FAILED],
    ids=["rich", "usual", "empty", "several", "one-failed"],
)
def test_reviews_are_as_their_schema_says(review: Review) -> None:
    assert list(validator(SCHEMA_FILE).iter_errors(review.model_dump(mode="json"))) == []


@pytest.mark.parametrize(("path", "name"), WRITTEN, ids=lambda part: part.stem if isinstance(part, Path) else "")
def test_files_of_the_repository(path: Path, name: str) -> None:
    assert list(validator(name).iter_errors(as_json(path))) == []
    assert path.read_text().splitlines()[0] == f"# yaml-language-server: $schema=../schemas/{name}"


@pytest.mark.parametrize("case", BY_FORM)
def test_wrong_files_are_refused(case: str) -> None:
    assert list(
        validator("experiment.schema.json").iter_errors(as_json(ROOT / "tests" / "spec" / "bad" / f"{case}.yaml"))
    )


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "environments").glob("*.yaml")), ids=lambda path: path.stem)
def test_environments_of_the_tests(path: Path) -> None:
    assert list(validator("environment.schema.json").iter_errors(as_json(path))) == []


def test_every_field_is_described_in_the_editor() -> None:
    for name in FILES:
        content = json.loads((FOLDER / name).read_text())
        for definition in [content, *content["$defs"].values()]:
            assert all("description" in field for field in definition["properties"].values())
            assert definition["additionalProperties"] is False


def test_the_default_that_no_schema_has() -> None:
    """Kubeflow Trainer mounts the keys there unless `sshAuthMountPath` says otherwise."""
    assert defaults.SSH_FOLDER == "/root/.ssh"
