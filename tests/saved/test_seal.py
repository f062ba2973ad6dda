"""The key of a saved review, as a program in the place of Pulumi is asked to encrypt and decrypt it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from trainform.errors import InputError, TrainformError
from trainform.saved.seal import NAME, new_key, open_key

STACK = "bert.dev"
SECURE = {"secure": "v1:def"}
KEY = "5f" * 32


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """It writes the word that it is given where a secret stands, keeps the file that it was given, and prints the
    key."""
    path = tmp_path / "bin" / "pulumi"
    path.parent.mkdir()
    path.write_text(
        "#!/bin/sh\n"
        'for word in "$@"; do [ "$before" = --config-file ] && file=$word; before=$word; done\n'
        f'echo "$@" > "{tmp_path}/words"; cp "$file" "{tmp_path}/given.yaml"\n'
        f'[ "$2" = set ] && {{ cat > "{tmp_path}/key"; echo "config: {{{NAME}: {{secure: v1:def}}}}" > "$file"; '
        f"exit; }}\n"
        f"echo {KEY}\n"
    )
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{path.parent}:/usr/bin:/bin")
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
    assert sealed == {"config": {NAME: SECURE}}
    assert new_key(STACK, program)[0] != key


@pytest.mark.parametrize("data", [None, {}, {"config": {}}])
def test_a_stack_that_says_nothing_of_its_encryption(program: Path, data: dict[str, Any] | None) -> None:
    if data is not None:
        own(program, **data)
    new_key(STACK, program)
    assert given(program) == {}


def test_it_is_opened_with_the_salt_of_the_file(program: Path) -> None:
    own(program, encryptionsalt="v1:abc")
    sealed = {"encryptionsalt": "v1:old", "config": {NAME: SECURE, "other": "x"}}
    assert open_key(sealed, STACK, program) == KEY.encode()
    assert given(program) == {"encryptionsalt": "v1:old", "config": {NAME: SECURE}}


def test_a_file_names_no_service_that_decrypts(program: Path) -> None:
    """It may come from anywhere."""
    own(program, secretsprovider="awskms://alias/ai", encryptedkey="AQID")
    sealed = {"secretsprovider": "awskms://alias/theirs", "encryptedkey": "BAD", "config": {NAME: SECURE}}
    open_key({**sealed, "encryptionsalt": "v1:old"}, STACK, program)
    expected = {"secretsprovider": "awskms://alias/ai", "encryptedkey": "AQID", "config": {NAME: SECURE}}
    assert given(program) == expected
    (program / "stacks" / f"Pulumi.{STACK}.yaml").unlink()
    open_key(sealed, STACK, program)
    assert given(program) == {"config": {NAME: SECURE}}


def test_a_key_that_cannot_be_decrypted(program: Path) -> None:
    (program / "bin" / "pulumi").write_text("#!/bin/sh\necho 'error: incorrect passphrase' >&2\nexit 1\n")
    with pytest.raises(TrainformError) as caught:
        open_key({"config": {NAME: SECURE}}, STACK, program)
    assert caught.value.message == "the key of the saved review cannot be decrypted"
    assert caught.value.details == ("error: incorrect passphrase",)


@pytest.mark.parametrize(
    "config",
    [
        {},
        {NAME: KEY},
        {NAME: None},
        {NAME: {"value": KEY}},
        {NAME: {"secure": None}},
        {NAME: {"secure": {"secure": KEY}}},
        {NAME: {**SECURE, "more": KEY}},
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


@pytest.mark.parametrize("text", ["", "hunter2", "5F" * 32, f"{KEY}00"])
def test_another_secret_of_the_stack_is_no_key(program: Path, text: str) -> None:
    """Its encrypted form stands in the stack's file, and somebody may know it."""
    (program / "bin" / "pulumi").write_text(f"#!/bin/sh\necho '{text}'\n")
    with pytest.raises(InputError) as caught:
        open_key({"config": {NAME: SECURE}}, STACK, program)
    assert caught.value.problems[0].reason == "what is encrypted in the saved review is no key of one"
