"""Previews that are cut off, mixed with other text, or none at all."""

from __future__ import annotations

import json

import pytest

from tests.review.previews_with_a_replacement import JOB, replacement
from tests.support import previews
from tests.support.previews import state, step_event
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


def test_a_digest_without_steps_is_not_complete() -> None:
    assert read_preview('{"diagnostics": []}').failed == read.INCOMPLETE


def test_an_event_that_is_nested_too_deep_is_counted() -> None:
    deep = '{"a":' * 5000 + "1" + "}" * 5000
    text = previews.stream(step_event("delete", JOB, state({"a": "VALUE"}))).replace('"VALUE"', deep)
    preview = read_preview(text)
    assert preview.steps == ()
    assert preview.incomplete
    assert preview.not_checked == ("The preview is incomplete: 1 event or step cannot be read.",)


def test_a_digest_says_what_it_lacks() -> None:
    assert read_preview(previews.digest(*replacement("replace"))).not_checked == read.DIGEST_LACKS


SUMMARY = {"result": "succeeded", "resources": [{"urn": JOB, "op": "create"}], "changeSummary": {"create": 1}}
NO_PREVIEW = "it has no preview of Pulumi in JSON that can be read to its end"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it is empty"),
        ("Previewing update (bert.dev):\n", NO_PREVIEW),
        (json.dumps(SUMMARY), NO_PREVIEW),  # the output of `--output json`, which has no values
        (previews.digest(*replacement("replace"))[:-40], NO_PREVIEW),
        ('{"a":' * 100_000, NO_PREVIEW),
    ],
)
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
