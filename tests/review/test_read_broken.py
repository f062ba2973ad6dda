"""Previews that are cut off, mixed with other text, or none at all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.review.previews_with_a_replacement import CLAIM_URN, JOB, replacement
from tests.support import previews
from tests.support.previews import state, step_event
from tests.support.repository import ROOT
from trainform.errors import InputError
from trainform.review import read
from trainform.review.read import read_preview


def test_a_stream_that_is_cut_off_is_incomplete() -> None:
    preview = read_preview(previews.stream(*replacement("replace"), ended=False))
    assert preview.failed == read.INCOMPLETE
    assert preview.not_checked == (read.INCOMPLETE,)
    assert len(preview.steps) == 1


def test_an_event_that_is_cut_off_is_said() -> None:
    text = previews.stream(*replacement("replace"))
    line = next(line for line in text.splitlines() if "replace" in line)
    preview = read_preview(text.replace(line, line[:200]))
    assert preview.not_checked == ("The preview is incomplete: 1 event or step cannot be read.",)
    assert (preview.failed, preview.incomplete) == ("", True)


ALONE = step_event("same", CLAIM_URN, state({"a": 1}), state({"a": 1}))

CUT = "The preview is incomplete: the engine counts steps that are not in it (1 create, 3 delete)."


@pytest.mark.parametrize(
    "text",
    [
        previews.stream(
            ALONE, previews.summary(resourceChanges={"same": 1, "create": 1, "delete": 3, "x": None}), ended=False
        ),
        previews.digest().replace('"same": 1', '"same": 7, "create": 1, "delete": 3'),
    ],
)
def test_steps_that_the_engine_counts_and_that_are_not_there(text: str) -> None:
    preview = read_preview(text)
    assert preview.incomplete
    assert CUT in preview.not_checked
    assert preview.failed == ""


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests" / "review" / "recorded").glob("replace.*")), ids=lambda path: path.name
)
def test_a_recorded_preview_without_one_of_its_steps(path: Path) -> None:
    text = path.read_text()
    assert not read_preview(text).incomplete
    if path.suffix == ".jsonl":
        less = "\n".join(line for line in text.splitlines() if '"op":"delete"' not in line)
    else:
        whole = json.loads(text)
        less = json.dumps({**whole, "steps": [step for step in whole["steps"] if step["op"] != "delete"]})
    preview = read_preview(less)
    assert preview.incomplete
    assert preview.not_checked[-1].endswith("(1 delete).")


def test_what_a_program_prints_is_not_taken_for_the_digest() -> None:
    digest = previews.digest(*replacement("replace"))
    assert read_preview('{"diagnostics": []}\n' + digest) == read_preview(digest)
    assert read_preview('{"diagnostics": []}').failed == read.INCOMPLETE


@pytest.mark.parametrize("before", ["{ ", 'log {"a":1} {', 'log {"a": {', "log {a} {"])
def test_events_begin_anywhere_in_their_line(before: str) -> None:
    text = previews.stream(*replacement("replace"))
    assert read_preview(text.replace("{", before, 1).replace("\n{", f"\n{before}")) == read_preview(text)


@pytest.mark.parametrize("value", ["NaN", "9" * 5000, '{"a":' * 5000 + "1" + "}" * 5000])
def test_an_event_with_a_value_that_cannot_be_read_is_counted(value: str) -> None:
    text = previews.stream(step_event("delete", JOB, state({"a": "VALUE"}))).replace('"VALUE"', value)
    preview = read_preview(text)
    assert preview.steps == ()
    assert preview.incomplete
    assert preview.not_checked == ("The preview is incomplete: 1 event or step cannot be read.",)


@pytest.mark.parametrize("doubled", ['"op":"delete"', '"metadata":{"op":"delete"'])
def test_an_event_with_a_key_twice_cannot_be_read(doubled: str) -> None:
    """A reader that takes the last one would see another change than one that takes the first."""
    text = previews.stream(step_event("delete", JOB, state({"a": 1})))
    other = '"metadata":{}' if doubled.startswith('"metadata"') else '"op":"same"'
    assert doubled in text
    preview = read_preview(text.replace(doubled, f"{other},{doubled}", 1))
    assert preview.steps == ()
    assert preview.not_checked == ("The preview is incomplete: 1 event or step cannot be read.",)


def test_a_digest_says_what_it_lacks() -> None:
    assert read_preview(previews.digest(*replacement("replace"))).not_checked == read.DIGEST_LACKS


def test_lines_of_other_programs_stand_between_events() -> None:
    lines = previews.stream(*replacement("replace")).splitlines()
    mixed = "\r\n".join(part for line in lines for part in (line, "warning: {'a': 1}", '{"level": "info"}', ""))
    assert read_preview(mixed) == read_preview("\n".join(lines))


def test_events_are_read_in_the_order_of_their_numbers() -> None:
    lines = previews.stream(*replacement("replace"), step_event("create", CLAIM_URN, None, state({}))).splitlines()
    assert read_preview("\n".join(reversed(lines))) == read_preview("\n".join(lines))


SUMMARY = {"result": "succeeded", "resources": [{"urn": JOB, "op": "create"}], "changeSummary": {"create": 1}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("Previewing update (bert.dev):\n", "it has no JSON"),
        (json.dumps(SUMMARY), "it is the output of `--output json`, which has no values"),
        ('{"kind": "Job"}', "it is JSON, but no preview of Pulumi"),
        ("[1]", "it has no JSON"),
        (previews.digest(*replacement("replace"))[:-40], "it is no JSON that can be read to its end, so it may have been cut off"),
        ("[" * 100_000, "it has no JSON"),
        ('{"a":' * 100_000, "it is no JSON that can be read to its end, so it may have been cut off"),
    ],
)  # fmt: skip
def test_what_is_no_preview(text: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        read_preview(text, "preview.json")
    (problem,) = caught.value.problems
    assert (problem.path, problem.reason) == ("preview.json", reason)
    assert "pulumi preview --json" in problem.fix
    assert read.STDIN in str(_refusal(text))


def _refusal(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        read_preview(text)
    return caught.value


def test_a_preview_may_not_be_larger_than_any_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "LARGEST", 1 << 20)
    with pytest.raises(InputError, match="it has more than 1 MiB"):
        read_preview(" " * ((1 << 20) + 1))
