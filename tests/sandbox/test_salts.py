"""Salts in stack files: which passphrase they belong to, and how they are removed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from trainform.sandbox.salts import usable_with, was_made_with, without_salt

PASSPHRASE = "correct horse battery staple"  # noqa: S105 - with it pulumi 3.259 wrote the file below
SALT = "v1:L3jw4eYLX50=:v1:PjKGLDGs6BwFyMMF:6Rhg4Xd9EEgqD4jeQiUKOaXy0qYyCg=="
PLAIN = """\
# a comment
config:
  trainform:experiment: hello
  trainform:environment: dev
"""
SALTED = f"{PLAIN}encryptionsalt: {SALT}\n"
WITH_SECRET = SALTED.replace(
    "encryptionsalt",
    "  trainform:sshSecret:\n    secure: v1:iBnpg5xTksiNXgVG:wuWMC5BQnynGDbRSJFONASjNOD8=\nencryptionsalt",
)


def test_a_salt_belongs_to_the_passphrase_that_pulumi_made_it_with() -> None:
    assert was_made_with(PASSPHRASE, SALT)
    assert not was_made_with("incorrect", SALT)


def test_a_stack_file_without_its_salt_is_the_one_that_was_committed() -> None:
    assert without_salt(SALTED) == PLAIN
    assert without_salt(PLAIN) == PLAIN
    assert without_salt(f"secretsprovider: awskms://alias/x\nencryptedkey: AQI\n  DAH\n{PLAIN}") == PLAIN
    assert without_salt(f"{PLAIN}encryptionsalt: {SALT}") == PLAIN, "also where the last line has no end"


NAMES = st.from_regex(r"trainform:[a-z]{1,8}", fullmatch=True)
VALUES = st.one_of(st.text("abc :#'\n", max_size=8), st.integers(), st.lists(st.text("ab", max_size=3), max_size=2))


@given(st.dictionaries(NAMES, VALUES), st.sampled_from(["secretsprovider", "encryptedkey", "encryptionsalt"]))
def test_without_salt_keeps_the_config(config: dict[str, object], key: str) -> None:
    text = yaml.safe_dump({"config": config, key: SALT}, sort_keys=False)
    assert yaml.safe_load(without_salt(text)) == {"config": config}
    assert yaml.safe_load(without_salt(yaml.safe_dump({key: SALT, "config": config}, sort_keys=False))) == {
        "config": config
    }


@pytest.mark.parametrize("text", [PLAIN, SALTED, WITH_SECRET])
def test_a_file_of_the_same_passphrase_is_not_changed(text: str) -> None:
    assert usable_with(text, PASSPHRASE) == text


@pytest.mark.parametrize("passphrase", ["incorrect", None])
def test_salt_and_secrets_of_another_passphrase_are_removed(passphrase: str | None) -> None:
    assert usable_with(PLAIN, passphrase) == PLAIN
    assert usable_with(SALTED, passphrase) == PLAIN
    assert yaml.safe_load(usable_with(WITH_SECRET, passphrase)) == yaml.safe_load(PLAIN)


def test_up_names_stack_files_with_other_salts_before_it_starts(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.yaml").touch()
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.hello.dev.yaml").write_text(SALTED)
    nothing = {"TRAINFORM_TOOLCHAIN": "system", "PATH": str(tmp_path)}  # so that nothing is started after the note
    up = [sys.executable, "-m", "trainform", "sandbox", "up", "--folder", str(tmp_path / "sandbox")]
    ended = subprocess.run(up, cwd=tmp_path, env={**os.environ, **nothing}, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "the salt in stacks/Pulumi.hello.dev.yaml belongs to another one" in ended.stderr
    assert "no pulumi on PATH" in ended.stderr
