"""What all verbs have in common: help, words that are wrong, and errors for programs."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.cli.running import error_of, run
from tests.support.repository import ROOT
from trainform.cli.app import SUGGESTIONS, suggestion
from trainform.cli.main import VERBS
from trainform.errors import CommandLineError

SUB_VERBS = [["sandbox", name] for name in ("up", "down", "status", "env")] + [["toolchain", "ensure"]]  # fmt: skip
COMMANDS = [[], *([verb] for verb in VERBS), *SUB_VERBS]
WITH_JSON = ["init", "check", "plan", "render", "rehearse", "new", "schema", "doctor", "suspend",
    "resume", "rerun", "stacks",
    *(" ".join(words) for words in SUB_VERBS[:4])]  # fmt: skip
REPORTS = ["drift", "diff", "apply", "promote", "rollback", "history", "events", "status"]


def help_of(words: list[str]) -> str:
    code, out, err = run(*words, "--help")
    assert (code, err) == (0, "")
    return out


# --- help


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_fits_80_columns(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = help_of(words)
    assert text.startswith(f"Usage: {' '.join(['trainform', *words])} ")
    assert max(map(len, text.splitlines())) <= 80
    assert not re.search("[{}<>]", text.replace("> ~/.config", "")), "braces or types of Python"
    assert "…" not in text


def test_help_groups_the_verbs() -> None:
    text = help_of([])
    titles = re.findall(r"^(\w.*):\n", text, re.MULTILINE)
    assert titles == ["Projects and jobs", "This machine", "Editors and shells", "Options"]
    assert re.findall(r"^  (\w[\w-]*)  ", text, re.MULTILINE) == list(VERBS)


@pytest.mark.parametrize("verb", [*VERBS, "sandbox", "toolchain"])
def test_the_line_of_a_command_is_the_first_of_its_help(verb: str) -> None:
    """The line stands in the table of verbs, so that the others need not be imported."""
    first = " ".join(help_of([verb]).split("\n\n")[1].split())
    assert first == f"{VERBS[verb]}."


@pytest.mark.parametrize(
    "words", [words for words in COMMANDS if words and words not in ([["sandbox"], ["toolchain"]])], ids=" ".join
)
def test_which_verb_has_which_options(words: list[str]) -> None:
    text, name = help_of(words), " ".join(words)
    assert "-q, --quiet" in text
    assert ("--output text|json " in text) == (name in WITH_JSON)
    assert ("--output text|json|markdown " in text) == (name in REPORTS)
    assert ("-o FILE" in text) == ("--output" in text)


def test_without_arguments_the_help_is_printed() -> None:
    for words in ([], ["sandbox"], ["toolchain"]):
        assert run(*words) == (2, help_of(words), "")


# --- words that are wrong


def test_suggestions_name_existing_commands() -> None:
    assert not SUGGESTIONS.keys() & VERBS.keys()
    for text in SUGGESTIONS.values():
        for verb in re.findall(r"`trainform ([a-z]+)", text):
            assert verb in VERBS


@pytest.mark.parametrize(
    ("words", "fix"),
    [
        (["chekc"], "did you mean `trainform check`?"),
        (["sandbxo"], "did you mean `trainform sandbox`?"),
        (["destory"], "did you mean `trainform destroy`?"),
        (["xyzzy"], "`trainform --help` lists the commands"),
        (["check", "--outptu"], "did you mean --output?"),
        (["check", "-s", "hello.dev"], "`trainform check --help` shows its arguments"),
        (["plan", "--enviroment", "dev"], "did you mean --environment?"),
        (["sandbox", "statsu"], "did you mean `trainform sandbox status`?"),
        (["toolchain", "ensur"], "did you mean `trainform toolchain ensure`?"),
        (["sandbox", "stop"], "`trainform sandbox --help` lists the commands"),
        (["sandbox", "xyzzy"], "`trainform sandbox --help` lists the commands"),
    ],
)
def test_misspelt_commands_get_a_suggestion(words: list[str], fix: str) -> None:
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert f"  fix: {fix}" in err
    assert len(err.splitlines()) == 2


# --- errors for programs


def test_wrong_arguments_as_json() -> None:
    assert (
        error_of("chekc", code=2)
        == CommandLineError("No such command 'chekc'", "did you mean `trainform check`?").as_dict()
    )
    assert error_of("rehearse", "-e", "dev", code=2)["message"] == "Missing argument 'JOB'."
    assert (
        error_of("plan", "tests/spec/bad/secret-in-env.yaml", code=2)["message"]
        == "Missing option '--environment' / '-e'"
    )
    assert (
        error_of("plan", "hello", "-e", "dev", "--outptu", code=2)["fix"]
        == "did you mean --output? `trainform plan --help` shows its arguments"
    )
    assert error_of("demo", code=2)["message"] == "No such option: --output"


@pytest.mark.parametrize("verb", ["plan", "render", "rehearse"])
def test_wrong_files_as_json(verb: str) -> None:
    """Masked as everywhere, with the same keys as in `check --output json`."""
    error = error_of(verb, "tests/spec/bad/secret-in-env.yaml", "-e", "dev", code=2)
    assert error["message"] == "4 problems"
    code, out, _ = run("check", "tests/spec/bad/secret-in-env.yaml", "-e", "dev", "--output", "json")
    answer = json.loads(out)
    assert (code, answer["error"]) == (2, error)
    assert answer["experiments"][0]["problems"] == error["problems"]
    assert {problem["value"] for problem in error["problems"]} == {"[secret]"}


def test_other_errors_as_json(tmp_path: Path) -> None:
    error = error_of("sandbox", "env", "--folder", str(tmp_path), code=1)
    assert error["fix"] == f"run `trainform sandbox up -e dev --folder {tmp_path}`"
    assert error_of("new", "Hello", "-e", "dev", code=2)["problems"][0]["path"] == "EXPERIMENT"
    assert error_of("schema", "--folder", "/dev/null/x", code=1)["message"].startswith("[Errno")
    assert error_of("doctor", "--for", "upp", code=2)["problems"][0]["path"] == "--for"


def test_the_error_in_the_documents() -> None:
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    shown = json.loads(page.split("```json\n")[1].split("```")[0])
    assert shown == {"ok": False, "error": error_of("plan", "resnte", "-e", "dev", code=2)}


def test_the_documents_have_every_document() -> None:
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    table = page.split("| with `--output json` |")[1].split("\n\n")[0]
    assert {name for row in table.splitlines()[2:] for name in re.findall("`([^`]+)`", row.split("|")[1])} == set(
        WITH_JSON
    )


# --- results for programs


def test_a_sandbox_that_is_not_there_as_json(tmp_path: Path) -> None:
    assert json.loads(run("sandbox", "down", "--folder", str(tmp_path / "no"), "--output", "json")[1]) == {
        "ok": True, "folder": str(tmp_path / "no"), "was_running": False, "left": [],
    }  # fmt: skip
    code, out, _ = run("sandbox", "status", "--folder", str(tmp_path / "no"), "--output", "json")
    assert (code, json.loads(out)["running"]) == (1, False)


# --- quiet


def test_quiet_leaves_out_notes_and_nothing_else() -> None:
    _, loud, _ = run("check", "elastic", "-e", "dev")
    code, out, err = run("check", "elastic", "-e", "dev", "-q")
    assert (code, err) == (0, "")
    assert out.splitlines() == [line for line in loud.splitlines() if not line.startswith("  note: ")]
    assert out != loud
    _, out, _ = run("plan", "elastic", "-e", "dev", "--quiet")
    assert "Note " not in out
    assert "pulumi preview" not in out
    assert run("render", "hello", "-e", "dev", "-q") == run("render", "hello", "-e", "dev")


@pytest.mark.parametrize("word", ["release", "restart", "rerun", "retry", "resume", "scale", "rollback"])
def test_what_keeps_a_job_is_never_answered_with_its_deletion(word: str) -> None:
    """`promote` is near to `remove`."""
    assert "destroy" not in suggestion("trainform", word, [*VERBS])
