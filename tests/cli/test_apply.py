"""`trainform apply` and `trainform review --save` as they are typed: wrong words and wrong files. What they do is shown
by the engine's tests."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.stacks.saved.samples import KEY, facts, saved
from trainform.cli import apply, review_saving
from trainform.cli.arguments import Form
from trainform.errors import TrainformError
from trainform.stacks.saved.changed_facts import changed_facts
from trainform.stacks.saved.file import text_of
from trainform.stacks.saved.saved_review import SavedFile, Verdict


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["hello.dev", "resnet.dev"], "--save takes the review of one stack, and 2 are named"),
        (["--all", "-e", "dev"], "--save cannot be used with --all"),
        (["--changed-since", "main"], "--save cannot be used with --changed-since"),
        (["--preview-json", "preview.json"], "--save cannot be used with --preview-json"),
        (["--review-json", "review.json"], "--save cannot be used with --review-json"),
        (["hello.dev", "--no-cluster"], "--save cannot be used with --no-cluster"),
    ],
)
def test_words_that_do_not_go_with_save(words: list[str], shown: str, tmp_path: Path) -> None:
    code, out, err = run("review", *words, "--save", str(tmp_path / "hello.json"))
    assert (code, out) == (2, "")
    assert shown in err
    assert [*tmp_path.iterdir()] == []


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    code, _, err = run("review", "hello.dev", "--save", str(tmp_path / "nowhere" / "hello.json"))
    assert code == 2
    assert "--save = " in err
    assert "its folder does not exist" in err


def test_what_cannot_be_gathered_beside_the_preview_is_told_when_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_key(stack: str, root: Path) -> review_saving.Gathered:
        raise TrainformError(f"the secrets of {stack} cannot be read", "log in")

    monkeypatch.setattr(review_saving, "_gather", no_key)
    saving = review_saving.Saving(str(tmp_path / "hello.json"), "hello.dev", tmp_path)
    with saving.gathering():
        pass
    with pytest.raises(TrainformError, match="cannot be read"):
        saving.write([])
    assert [*tmp_path.iterdir()] == []


def test_apply_of_what_is_no_saved_review(tmp_path: Path) -> None:
    code, out, err = run("apply", "resnet.dev")
    assert (code, out) == (2, "")
    assert "FILE = resnet.dev" in err
    assert "`pulumi up -s STACK` applies" in err


def test_apply_of_a_stack_of_another_project(tmp_path: Path) -> None:
    file = tmp_path / "resnet.json"
    file.write_text(text_of(saved("research/vision/resnet.prod"), KEY, {}))
    code, out, err = run("apply", str(file))
    assert (code, out) == (2, "")
    assert f"{file}: review.stack = research/vision/resnet.prod" in err
    assert "this stack is of the project vision, and this project is trainform" in err


# --- forms


def verdict(**more: object) -> Verdict:
    return Verdict.model_validate(
        {"stack": "resnet.prod", "reviewed": "2026-11-23T09:20:00Z", "result": "unmoved", **more}
    )


def shown(found: Verdict) -> list[str]:
    with contextlib.redirect_stdout(io.StringIO()) as out:
        apply._show(found, Form.TEXT)
    return out.getvalue().splitlines()


def moved() -> Verdict:
    found = changed_facts(facts(), facts(versions={"pulumi": "v3.260.0", "trainform": "0.1.0"}, variable={}, step={}))
    return verdict(
        result="moved", moved=found, not_compared=["Job bert is not compared: no permission."], fix="Look at it."
    )


def test_a_file_that_was_applied_already_is_no_reason_to_review_again() -> None:
    """Most of those whose file is stale have applied it."""
    file = SavedFile.model_validate_json(text_of(saved(), KEY, {}), strict=True)
    fix = apply._verdict(file, "resnet.json", moved().moved, []).fix
    assert fix.startswith(
        "Nothing was done. A file is applied once: if this one was, nothing is left to do. If not, save the review "
        "again: "
    )
    assert fix.endswith("`git diff 0123456789ab` shows how the files have changed.")


def test_what_either_side_could_not_read_is_reported_once() -> None:
    job, claim = (f"{each} is not compared: no permission." for each in ("Job bert", "PersistentVolumeClaim data"))
    review = saved().model_copy(update={"not_compared": [job]})
    file = SavedFile.model_validate_json(text_of(review, KEY, {}), strict=True)
    assert apply._verdict(file, "resnet.json", [], [job, claim]).not_compared == [job, claim]


def test_what_moved_in_a_terminal() -> None:
    assert shown(moved()) == [
        "Apply of resnet.prod",
        "  Something has changed since the review of 2026-11-23T09:20:00Z, so nothing was",
        "  applied.",
        "",
        "Changed since",
        "  Another version of Pulumi or of trainform runs.",
        '    pulumi: "v3.259.0" -> "v3.260.0"',
        "  A variable of the shell for Pulumi's Kubernetes provider has changed.",
        "    PULUMI_K8S_AWAIT_ALL",
        "  `pulumi up` would do something else.",
        '    TrainingJob resnet: "present" -> not set',
        "",
        "Not compared",
        "  Job bert is not compared: no permission.",
        "",
        "What to do",
        "  Look at it.",
    ]
