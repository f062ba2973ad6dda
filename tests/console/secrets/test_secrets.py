"""Which values are secrets, and trees and texts without them."""

from __future__ import annotations

import shlex
import subprocess
import sys
import time
from typing import Any

import pytest
from msgspec import Struct

from tests.console.secrets.samples import ANY, CHOSEN, ISSUED, PLAIN, SHAPED, SHAPES, TOKENS, of
from tests.console.secrets.texts import HARMLESS, NOT_FOUND, SECRET
from trainform.console import secrets
from trainform.console.secrets import has_shape, is_secret, masked, masked_lines, masked_path, secret_in, secret_words
from trainform.errors import MASK


def test_nothing_is_found_by_mistake_and_nothing_is_missed() -> None:
    """0 of the harmless texts, all of the secrets. Nothing secret is printed."""
    assert len(HARMLESS) >= 300
    assert [entry for entry in HARMLESS if is_secret(*entry)] == []
    assert [f"{name}, entry {at}" for at, (name, text) in enumerate(SECRET) if not is_secret(name, text)] == []


def test_what_the_docs_list_as_not_found_is_not_found() -> None:
    assert [at for at, entry in enumerate(NOT_FOUND) if is_secret(*entry)] == []


def test_the_words_of_harmless_commands_hold_nothing() -> None:
    for name, text in HARMLESS:
        if name == "args" and not {";", "&", "'"} & set(text):
            assert secret_words(shlex.split(text)) == {}


@pytest.mark.parametrize(("pattern", "texts"), [*zip(secrets.SHAPES, SHAPED, strict=True)])
def test_every_shape_has_samples_with_its_marks(pattern: str, texts: list[str]) -> None:
    assert all(any(mark in text for mark in secrets.SHAPES[pattern]) for text in texts)


def test_a_shape_is_found_within_other_text() -> None:
    for text in SHAPES:
        for around in (f"see {text} there", f"a: 1\nb: {text}\n", f"'{text}'", f"--a={text}"):
            assert has_shape(around), around[:12]
            assert secret_words(["run", around]).keys() == {1}


def test_what_stands_for_a_token_is_none() -> None:
    for prefix in (*secrets.PREFIXES, "sk-"):
        assert not has_shape(prefix + "x" * 60)
        assert not has_shape(prefix + "…")
        assert not has_shape(prefix)


@pytest.mark.parametrize(("names", "number"), [(CHOSEN, True), (ISSUED, False)])
def test_numbers_and_references_under_the_names_of_secrets(names: list[str], number: bool) -> None:
    for name in names:
        assert is_secret(name, "4711") is is_secret(name, 4711) is number
        assert is_secret(name, 47110815)
        for harmless in ("$(OTHER)", "/run/secrets/file", "<your token>", "", MASK, True, None):
            assert not is_secret(name, harmless)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["train", "--hf-token", PLAIN, "--lr", "0.1"], {2: "HF_TOKEN"}),
        (["train", f"--hf-token={PLAIN}"], {1: "HF_TOKEN"}),
        (["train", "--token", "--lr"], {}),
        (["curl", "-H", f"X-API-Key: {PLAIN}1", "https://h"], {2: "X_API_KEY"}),
        (["sh", "-c", f"HF_TOKEN={PLAIN} train"], {2: "HF_TOKEN"}),
        (["git", "clone", "https://a:" + "hunter2@h/b"], {2: "ADDRESS"}),
        (["echo", TOKENS[0]], {1: "TOKEN"}),
    ],
)
def test_the_words_of_a_command(words: list[str], found: dict[int, str]) -> None:
    """A word is masked as a whole; the name is that of a variable for it."""
    assert secret_words(words) == found
    assert masked(words) == [MASK if at in found else word for at, word in enumerate(words)]


class Box(Struct):
    """A struct, as those of reports."""

    title: str
    token: str


@pytest.mark.parametrize(
    ("tree", "shown"),
    [
        ({"a": {"HF_TOKEN": PLAIN, "LR": "0.1"}}, {"a": {"HF_TOKEN": MASK, "LR": "0.1"}}),
        ([{"name": "HF_TOKEN", "value": PLAIN}], [{"name": "HF_TOKEN", "value": MASK}]),
        ({"HF_TOKEN": {"value": PLAIN}}, {"HF_TOKEN": {"value": MASK}}),
        ({"HF_TOKEN": {"secret": {"name": "hf", "key": "token"}}, "ssh": {"secret": "keys"}}, None),
        ({TOKENS[0]: 1}, {MASK: 1}),
        ({"script": f"set -e\nexport HF_TOKEN={PLAIN}\ntrain\n"}, {"script": MASK}),
        (("--token", PLAIN), ("--token", MASK)),
        (Box("a", PLAIN), Box("a", MASK)),
        (
            {"password": 4711, "port": 4711, "on": True, "none": None},
            {"password": MASK, "port": 4711, "on": True, "none": None},
        ),
    ],
)
def test_a_tree_is_masked_by_whole_values(tree: Any, shown: Any) -> None:
    assert masked(tree) == (tree if shown is None else shown)


def test_what_is_too_deep_is_masked() -> None:
    tree: Any = PLAIN
    for _ in range(5000):
        tree = [tree]
    assert PLAIN not in str(masked(tree))
    assert MASK in str(masked(tree))


def test_a_message_is_masked_by_whole_lines() -> None:
    assert masked_lines(f"it failed:\nlogin with {TOKENS[0]}\nfor it") == f"it failed:\n{MASK}\nfor it"
    key = "\n".join(["-----BEGIN RSA " + "PRIVATE KEY-----", of(ANY, 64), of(ANY, 22) + "=="])
    assert masked_lines(f"see\n{key}\n") == MASK
    assert masked_lines("unknown flag: --key\npassword=hunter22x") == f"unknown flag: --key\n{MASK}"
    assert masked_lines("pass\u200bword=hunter22x") == MASK


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("env.HF_TOKEN.value", "env.HF_TOKEN.value"),
        (f"env.{TOKENS[0]}.value", f"env.{MASK}"),
        (f"env.{SHAPED[3][0]}.value", MASK),  # with points in it
    ],
)
def test_a_path_is_shown_up_to_a_secret(path: str, shown: str) -> None:
    assert masked_path(path) == shown


@pytest.mark.parametrize(
    "text",
    [
        "wandb login " + "--aa " * 20_000 + "x",
        "pwd=" * 20_000,
        "token " + "a-" * 20_000,
        "token sk-ant-" + "sk-ant-" * 10_000,
        "--" + "A_" * 20_000 + "1 x token",
        "://" * 20_000,
        "token" * 20_000,
        "eyJhbGci" * 20_000,
    ],
    ids=["switches", "assignments", "dashes", "prefixes", "a long name", "addresses", "names", "headers"],
)
def test_a_text_is_read_in_a_time_that_grows_with_its_length_alone(text: str) -> None:
    before = time.process_time()
    secret_in(text)
    assert time.process_time() - before < 2  # it takes less than 0.2 s


def test_errors_do_not_import_the_rules_for_secrets() -> None:
    code = "import sys, trainform.errors; sys.exit('trainform.console.secrets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
