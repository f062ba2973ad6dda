"""The file of a saved review: what it holds, what it does not, and what is refused."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.saved.samples import KEY, facts, saved
from trainform.errors import InputError
from trainform.saved.file import is_saved, read_saved, refuse_changed, refuse_organization, text_of

SEALED = {"encryptionsalt": "v1:abc", "config": {"trainform:savedReview": {"secure": "v1:def"}}}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "resnet.json"
    path.write_text(text_of(saved(), KEY, SEALED))
    return path


def problem(file: Path) -> str:
    with pytest.raises(InputError) as caught:
        refuse_changed(read_saved(str(file)), KEY, str(file))
    (found,) = caught.value.problems
    assert found.path == "FILE"
    assert "trainform review" in found.fix or "same trainform" in found.fix
    return found.reason


def test_it_comes_back_as_it_was(file: Path) -> None:
    found = read_saved(str(file))
    assert (found.review, found.key) == (saved(), SEALED)
    refuse_changed(found, KEY, str(file))
    assert is_saved(file)


def test_the_key_is_not_in_it(file: Path) -> None:
    assert KEY.decode() not in file.read_text()


Edit = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: data["review"]["facts"].update(engine="v3.260.0"),
        lambda data: data["review"]["steps"].clear(),
        lambda data: data["review"]["steps"][0]["inputs"]["spec"].update(replicas=64),
        lambda data: data["review"].update(at="2026-11-24T09:20:00Z"),
        lambda data: data.update(seal="0" * 64),
    ],
)
def test_a_file_that_somebody_changed(file: Path, edit: Edit) -> None:
    data = json.loads(file.read_text())
    edit(data)
    file.write_text(json.dumps(data))
    assert problem(file) == "its seal does not fit: somebody has changed the file, or it belongs to another key"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "this is not the JSON of a saved review"),
        ("[]", "this is not a saved review"),
        ('{"version": 1, "outcome": "clean"}', "this is not a saved review"),
        ('{"saved_review": 2}', "this saved review has version 2, and this trainform reads version 1"),
        ('{"saved_review": true}', "this is not a saved review"),
        ("[" * 100_000, "this is not the JSON of a saved review"),
    ],
)
def test_other_files(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "other.json"
    file.write_text(text)
    assert problem(file) == reason


@pytest.mark.parametrize(
    ("stack", "backend", "refused"),
    [
        ("resnet.prod", "s3://states", False),
        ("organization/trainform/resnet.prod", "s3://states", False),
        ("research/trainform/resnet.prod", "s3://states", True),
        ("research/resnet.prod", "file://~", True),
        ("research/trainform/resnet.prod", "https://api.pulumi.com", False),
    ],
)
def test_an_organization_where_there_are_none(file: Path, stack: str, backend: str, refused: bool) -> None:
    review = saved().model_copy(update={"facts": facts(stack=stack, backend=backend)})
    file.write_text(text_of(review, KEY, SEALED))
    with pytest.raises(InputError, match="1 problem") if refused else contextlib.nullcontext():
        refuse_organization(read_saved(str(file)), str(file))


def test_a_part_is_missing(file: Path) -> None:
    data = json.loads(file.read_text())
    del data["review"]["facts"]["backend"]
    file.write_text(json.dumps(data))
    assert problem(file).startswith("this saved review cannot be read: review.facts.backend")


def test_no_file(tmp_path: Path) -> None:
    assert "no such file" in problem(tmp_path / "none.json")


@pytest.mark.parametrize(("text", "earlier"), [("", True), ("# notes\n", False), ('{"version": 1}', False)])
def test_what_may_be_replaced(tmp_path: Path, text: str, earlier: bool) -> None:
    file = tmp_path / "there.json"
    file.write_text(text)
    assert is_saved(file) is earlier
