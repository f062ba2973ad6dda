"""The file of a saved review, the key in it, and what is refused. A program replaces Pulumi."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.stacks.saved.samples import KEY, saved
from trainform.errors import InputError, TrainformError
from trainform.stacks.saved.file import SETTING, new_key, open_key, read_saved, refuse_changed, text_of

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


def test_the_key_is_not_in_it(file: Path) -> None:
    assert KEY.decode() not in file.read_text()


Edit = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: data["review"]["facts"]["versions"].update(pulumi="v3.260.0"),
        lambda data: data["review"]["facts"].pop("step"),
        lambda data: data["review"].update(at="2026-11-24T09:20:00Z"),
        lambda data: data.update(seal="0" * 64),
    ],
)
def test_a_file_that_somebody_changed(file: Path, edit: Edit) -> None:
    data = json.loads(file.read_text())
    edit(data)
    file.write_text(json.dumps(data))
    assert problem(file) == "its seal does not fit: the file was changed, or it belongs to another key"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "the file cannot be read: no such file or directory"),
        ("", "this is not a saved review"),
        ("[]", "this is not a saved review"),
        ('{"version": 1, "outcome": "clean"}', "this is not a saved review"),
        ('{"saved_review": 1}', "this saved review has version 1, and this trainform reads version 3"),
        ('{"saved_review": true}', "this is not a saved review"),
        ("[" * 100_000, "this is not a saved review"),
    ],
)
def test_other_files(tmp_path: Path, text: str | None, reason: str) -> None:
    file = tmp_path / "other.json"
    if text is not None:
        file.write_text(text)
    assert problem(file) == reason


# --- the key

STACK = "bert.dev"
SECURE = {"secure": "v1:def"}
NEW_KEY = "5f" * 32


@pytest.fixture
def program(pulumi: Path, tmp_path: Path) -> Path:
    """It writes the word that it is given where a secret stands, keeps the file that it was given, and prints the
    key."""
    pulumi.write_text(
        "#!/bin/sh\n"
        'for word in "$@"; do [ "$before" = --config-file ] && file=$word; before=$word; done\n'
        f'echo "$@" > "{tmp_path}/words"; cp "$file" "{tmp_path}/given.yaml"\n'
        f'[ "$2" = set ] && {{ cat > "{tmp_path}/key"; echo "config: {{{SETTING}: {{secure: v1:def}}}}" > "$file"; '
        f"exit; }}\n"
        f"echo {NEW_KEY}\n"
    )
    return tmp_path


def own(program: Path, **data: Any) -> None:
    (program / "stacks").mkdir()
    (program / "stacks" / f"Pulumi.{STACK}.yaml").write_text(yaml.safe_dump(data))


def given(program: Path) -> Any:
    return yaml.safe_load((program / "given.yaml").read_text())


def test_a_new_key_is_encrypted_as_the_stacks_secrets_are(program: Path) -> None:
    own(program, encryptionsalt="v1:abc", config={"trainform:sshSecret": {"secure": "v1:xyz"}})
    key, sealed = new_key(STACK, program)
    assert given(program) == {"encryptionsalt": "v1:abc"}
    assert (program / "key").read_text().encode() == key
    assert key.decode() not in (program / "words").read_text()
    assert sealed == {"config": {SETTING: SECURE}}
    assert new_key(STACK, program)[0] != key


@pytest.mark.parametrize("data", [None, {}, {"config": {}}])
def test_a_stack_that_says_nothing_of_its_encryption(program: Path, data: dict[str, Any] | None) -> None:
    if data is not None:
        own(program, **data)
    new_key(STACK, program)
    assert given(program) == {}


def test_it_is_opened_with_the_salt_of_the_file(program: Path) -> None:
    own(program, encryptionsalt="v1:abc")
    sealed = {"encryptionsalt": "v1:old", "config": {SETTING: SECURE, "other": "x"}}
    assert open_key(sealed, STACK, program) == NEW_KEY.encode()
    assert given(program) == {"encryptionsalt": "v1:old", "config": {SETTING: SECURE}}


def test_a_file_names_no_service_that_decrypts(program: Path) -> None:
    """It may come from anywhere."""
    own(program, secretsprovider="awskms://alias/ai", encryptedkey="AQID")
    sealed = {"secretsprovider": "awskms://alias/theirs", "encryptedkey": "BAD", "config": {SETTING: SECURE}}
    open_key({**sealed, "encryptionsalt": "v1:old"}, STACK, program)
    expected = {"secretsprovider": "awskms://alias/ai", "encryptedkey": "AQID", "config": {SETTING: SECURE}}
    assert given(program) == expected
    (program / "stacks" / f"Pulumi.{STACK}.yaml").unlink()
    open_key(sealed, STACK, program)
    assert given(program) == {"config": {SETTING: SECURE}}


def test_a_key_that_cannot_be_decrypted(program: Path) -> None:
    (program / "bin" / "pulumi").write_text("#!/bin/sh\necho 'error: incorrect passphrase' >&2\nexit 1\n")
    with pytest.raises(TrainformError) as caught:
        open_key({"config": {SETTING: SECURE}}, STACK, program)
    assert caught.value.message == "the key of the saved review cannot be decrypted"
    assert caught.value.details == ("error: incorrect passphrase",)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {SETTING: NEW_KEY},
        {SETTING: None},
        {SETTING: {"value": NEW_KEY}},
        {SETTING: {"secure": None}},
        {SETTING: {"secure": {"secure": NEW_KEY}}},
        {SETTING: {**SECURE, "more": NEW_KEY}},
    ],
)
def test_a_key_that_is_not_encrypted_is_none(program: Path, config: dict[str, Any]) -> None:
    """Pulumi gives out a plain value as well, and whoever writes one needs no secret of the stack to make a file with a
    seal that fits."""
    own(program, encryptionsalt="v1:abc")
    with pytest.raises(InputError) as caught:
        open_key({"config": config}, STACK, program)
    assert "not encrypted" in caught.value.problems[0].reason
    assert not (program / "words").exists()


@pytest.mark.parametrize("text", ["", "hunter2", "5F" * 32, f"{NEW_KEY}00"])
def test_another_secret_of_the_stack_is_no_key(program: Path, text: str) -> None:
    """Its encrypted form stands in the stack's file, and somebody may know it."""
    (program / "bin" / "pulumi").write_text(f"#!/bin/sh\necho '{text}'\n")
    with pytest.raises(InputError) as caught:
        open_key({"config": {SETTING: SECURE}}, STACK, program)
    assert caught.value.problems[0].reason == "the decrypted text in the saved review is not a key"
