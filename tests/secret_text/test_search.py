"""What is found in texts, commands and files."""

from __future__ import annotations

import shlex
import time

import pytest

from tests.secret_text.texts import HARMLESS, SECRET
from trainform.secret_text.search import gives_away, masked_line, secret_in, secret_lines, secret_words


def found(name: str, text: str) -> bool:
    return gives_away(name, text) or secret_in(text) is not None


def test_nothing_is_found_by_mistake_and_nothing_is_missed() -> None:
    """0 of the harmless texts, all of the secrets."""
    assert len(HARMLESS) >= 500
    assert len(set(HARMLESS)) == len(HARMLESS)
    assert len(SECRET) >= 230
    mistaken = [entry for entry in HARMLESS if found(*entry)]
    assert mistaken == []
    assert missed() == []


def missed() -> list[str]:
    """The names of the secrets that are not found, and the end of none: nothing secret is printed."""
    return [f"{name}, entry {index}" for index, (name, text) in enumerate(SECRET) if not found(name, text)]


def test_the_words_of_harmless_commands_hold_nothing() -> None:
    of_one_command = [text for name, text in HARMLESS if name == "args" and not {";", "&"} & set(text)]
    assert [text for text in of_one_command if secret_words(shlex_words(text))] == []


def shlex_words(text: str) -> list[str]:
    """The words as a shell hands them over."""
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


SETTINGS_OF_A_FILE = [
    "max_tokens = 4096",
    "password =",
    "password = ${DB_PASS}",
    "; token",
    "# password = none",
    "api_key = EMPTY",
    "pass = /run/pw",
    "user = ada",
]


@pytest.mark.parametrize(
    "file", ["app.ini", "train.cfg", "odbc.conf", "my.cnf", "app.properties", ".env", "credentials"]
)
def test_a_file_of_settings(file: str) -> None:
    """By its name each line is a setting, also where it has no digit; a program's line may look the same."""
    harmless = "\n".join(SETTINGS_OF_A_FILE)
    assert secret_lines(harmless, file) == ()
    assert secret_lines(f"{harmless}\npassword = letters\nhf.token: letters", file) == (
        (9, "password = letters"),
        (10, "hf.token: letters"),
    )
    assert secret_lines("password = letters\n", "train.py") == ()


@pytest.mark.parametrize(
    "text",
    ["wandb login " + "--aa " * 20_000 + "x", "pwd=" * 20_000, "token " + "a-" * 20_000, "token sk-ant-" + "sk-ant-" * 10_000, "--" + "A_" * 20_000 + "1 x token"],
    ids=["switches", "assignments", "dashes", "prefixes", "a long name"],
)  # fmt: skip
def test_a_text_is_read_in_a_time_that_grows_with_its_length_alone(text: str) -> None:
    before = time.process_time()
    secret_in(text)
    assert time.process_time() - before < 2  # it takes less than 0.2 s


@pytest.mark.parametrize(
    "text", ['--password="two words"', "wandb login --relogin --host h -v", '- token: "a b c d e"']
)
def test_dashes_before_a_name_change_nothing(text: str) -> None:
    assert (secret_in(text) is None) == text.startswith("wandb")


@pytest.mark.parametrize(
    "text",
    [
        "git clone https://user:${HF_TOKEN}@git.example.com/a/b",
        "http://$USER:$PASS@proxy:80",
        "login(token=os.environ['HF_TOKEN'])",
        "token=os.environ.get('HF_TOKEN')",
        "python -c \"token=os.getenv('HF_TOKEN', '')\"",
    ],
)
def test_what_reads_a_secret_from_a_variable_is_none(text: str) -> None:
    assert secret_in(text) is None


def test_a_default_beside_a_variable_is_a_secret() -> None:
    assert secret_in("postgres://u:$" + "ecret-of-mine1@h/db") is not None


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("python train.py  --hf-token hunter2 --lr 0.1", "python train.py  --hf-token [secret] --lr 0.1"),
        ("export PASSWORD='hunter2'; run", "export [secret] run"),
        (
            "login to postgres://trainer:" + "hunter2@db.example.com/runs",
            "login to postgres[secret]db.example.com/runs",
        ),
        ("password: hunter2", "[secret]"),
        ("a line without any", "a line without any"),
        ("", ""),
    ],
)
def test_a_line_is_shown_without_its_secrets(line: str, shown: str) -> None:
    assert masked_line(line, "[secret]") == shown
    assert secret_in(shown) is None
