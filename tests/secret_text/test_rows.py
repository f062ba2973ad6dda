"""Each row of the tables of secrets finds its samples, and no other row does."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from tests.secret_text.samples import ANY, COMMANDS, HEX, NAMED, PLAIN, PW, SAMPLES, WANDB, of
from trainform.secret_text import commands, names, search, shapes
from trainform.secret_text.search import gives_away, masked, secret_in, secret_words


def forget() -> None:
    """Forget the answers of other rows."""
    for remembered in (names.named, gives_away, secret_in, search.secret_lines):
        remembered.cache_clear()


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    yield
    forget()


def without(title: str, module: Any, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the row with this title out of a table."""
    monkeypatch.setattr(module, table, tuple(row for row in getattr(module, table) if row.title != title))
    forget()


def test_every_row_has_samples() -> None:
    assert [row.title for row in shapes.SHAPES if row.title not in SAMPLES] == [WANDB]
    assert [row.title for row in names.NAMES if row.title not in NAMED] == []
    assert [row.title for row in commands.COMMANDS if row.title not in COMMANDS] == []
    assert (len({row.title for row in shapes.SHAPES}), len({row.title for row in names.NAMES})) == (
        len(shapes.SHAPES),
        len(names.NAMES),
    )


@pytest.mark.parametrize(("title", "text"), [(title, text) for title, texts in SAMPLES.items() for text in texts])
def test_a_shape(title: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under a name that says nothing, within a sentence, and in the words of a command; without its row it is not found."""
    for around in (text, f"see {text} there", f"a: 1\nb: {text}\n", f"'{text}'"):
        assert gives_away("VALUE", around), around
        assert secret_words(["run", around]).keys() == {1}
        assert text not in masked(around, "[secret]")
    without(title, shapes, "SHAPES", monkeypatch)
    assert not gives_away("VALUE", text)


@pytest.mark.parametrize("end", ["-----END RSA " + "PRIVATE KEY-----", ""], ids=["whole", "cut off"])
@pytest.mark.parametrize("newline", ["\n", "\\n", "\r\n", " "], ids=repr)
def test_no_line_of_a_private_key_is_shown(end: str, newline: str) -> None:
    lines = ["-----BEGIN RSA " + "PRIVATE KEY-----", of(ANY, 64), of(ANY, 64), of(ANY, 22) + "=="]
    key = newline.join([*lines, *([end] if end else [])])
    assert masked(f"env.{key} = 1, see there", "[secret]") == "env.[secret] = 1, see there"


@pytest.mark.parametrize(("title", "text"), [(title, text) for title, texts in SAMPLES.items() for text in texts])
def test_a_shape_in_base64(title: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone or in a text, in both alphabets, with and without padding, and beside bytes that are no text."""
    for inside in (text, f"A=1\nB={text}\n", f"\xff{text}\0"):
        plain = base64.b64encode(inside.encode("latin-1")).decode()
        for word in (plain, plain.rstrip("="), plain.replace("+", "-").replace("/", "_")):
            for around in (word, f"see {word} there", f"a: 1\nb: {word}\n", f"echo '{word}' | base64 -d"):
                assert gives_away("VALUE", around)
                assert secret_in(around) is not None
                assert secret_words(["run", around]).keys() == {1}
                assert word not in masked(around, "[secret]")
    without(title, shapes, "SHAPES", monkeypatch)
    assert not gives_away("VALUE", base64.b64encode(text.encode()).decode())


@pytest.mark.parametrize("around", ["--{}", "/run/keys/{}", "https://h.example.com/keys/{}/a", "--key-{}", "KEY={}"])
def test_a_word_in_base64_is_a_part_of_a_path_or_an_option(around: str) -> None:
    text = around.format(base64.b64encode(SAMPLES["GitHub token"][0].encode()).decode())
    assert gives_away("VALUE", text)
    assert masked(text, "[secret]") == around.format("[secret]")


def test_a_long_text_is_decoded_within_bounds() -> None:
    """The beginning of a long word, and the first words of a text of many; all of what anybody writes."""
    token = SAMPLES["GitHub token"][0]
    word, filler = base64.b64encode(token.encode()).decode(), base64.b64encode(b"0" * 18).decode()
    assert gives_away("VALUE", base64.b64encode(f"{token} {'0' * 10**6}".encode()).decode())
    assert gives_away("VALUE", " ".join([filler] * 1000 + [word]))
    assert shapes.in_base64(" ".join([filler] * shapes.MOST_WORDS + [word])) == ()


@pytest.mark.parametrize(("title", "name"), [(title, name) for title, names in NAMED.items() for name in names])
def test_a_name(title: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert gives_away(name, PLAIN)
    assert not gives_away(name, "$(OTHER)")
    assert not gives_away(name, "/run/secrets/file")
    assert gives_away(name, "20260101") is next(row.chosen for row in names.NAMES if row.title == title)
    without(title, names, "NAMES", monkeypatch)
    assert not gives_away(name, PLAIN)


@pytest.mark.parametrize(("title", "text"), [(title, text) for title, texts in COMMANDS.items() for text in texts])
def test_a_command(title: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As words, as the text of a shell, over several lines, and with quotes; a variable in the place of the password is none."""
    words = text.split()
    place = {index for index, word in enumerate(words) if PW in word}
    quoted = text.replace(PW, f"'{PW}'")
    texts = [text, f"set -e; {text} && train", text.replace(" -", " \\\n  -"), quoted]
    assert secret_words(words).keys() == place
    assert [secret_in(each) for each in texts] == ["PASSWORD"] * len(texts)
    assert secret_words(["sh", "-c", text]).keys() == {2}
    for other in ("$PASSWORD", "$(PASSWORD)", '"$PASSWORD"', "$(cat /run/pw)"):
        assert secret_in(text.replace(PW, other)) is None
        assert secret_words(text.replace(PW, other).split()) == {}
    without(title, commands, "COMMANDS", monkeypatch)
    assert secret_words(words) == {}
    assert [secret_in(each) for each in texts] == [None] * len(texts)


def test_a_key_of_weights_and_biases(monkeypatch: pytest.MonkeyPatch) -> None:
    """40 hexadecimal digits are the hash of a commit too."""
    digits = of(HEX, 40)
    assert gives_away("WANDB", digits)
    assert gives_away("WANDB_LOGIN", digits)
    assert not any(gives_away(name, digits) for name in ("REVISION", "WANDB_GIT_COMMIT", "WANDB_RUN_ID", "WANDB_TAG"))
    without(WANDB, shapes, "SHAPES", monkeypatch)
    assert not gives_away("WANDB", digits)


@pytest.mark.parametrize("title", [title for title in SAMPLES if title not in {"private key", "PuTTY private key"}])
def test_a_shape_has_a_fewest_number_of_characters(title: str) -> None:
    """A prefix is no secret."""
    row = next(row for row in shapes.SHAPES if row.title == title)
    for text in SAMPLES[title]:
        (whole,) = row.matches(text, "")
        begin = whole[: min(12, len(whole) * 3 // 4)]
        assert not [*row.matches(begin, "")]


@pytest.mark.parametrize("prefix", ["hf_", "ghp_", "sk-", "sk-ant-api03-", "npm_", "glpat-", "xoxb-", "AKIA", "AIza", "nvapi-", "gsk_"])  # fmt: skip
def test_what_stands_for_a_token_in_a_text_is_none(prefix: str) -> None:
    assert not gives_away("VALUE", prefix + "x" * 60)
    assert not gives_away("VALUE", prefix + "…")
