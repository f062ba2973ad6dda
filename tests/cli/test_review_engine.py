"""`trainform review` with a program in the place of Pulumi: what is said where it fails, and what happens beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.reviewing import RECORDED, engine, events, review
from tests.cli.running import run
from tests.cluster.test_client import use
from tests.support import previews
from tests.support.api_objects import ApiObjects
from tests.support.live_objects import node, queue
from tests.support.websites import Answer, website
from trainform.review.model import Review


def test_the_headline_names_the_policy_that_stops_the_preview(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine itself says nothing but that the preview failed."""
    where = previews.urn(previews.CONFIG_MAP, "notes")
    ends = (previews.diagnostic("error", "error: preview failed\n"), previews.summary(result="failed"))
    violated = previews.policy("no-friday", "it is Friday: wait for Monday", where)
    text = previews.stream(*events(), violated, *ends, ended=False)
    (tmp_path / "events.jsonl").write_text(text, encoding="utf-8")
    engine(tmp_path, monkeypatch, f"#!/bin/sh\ncat {tmp_path / 'events.jsonl'}\nexit 255\n")
    code, out, _ = review("hello.dev", "--output", "json")
    assert code == 1
    assert json.loads(out)["stacks"][0]["headline"] == (
        "The preview failed: the policy no-friday refuses notes: it is Friday: wait for Monday"
    )


@pytest.mark.parametrize("told", ["no stack named 'hello.dev' found", "getting secrets manager: incorrect passphrase"])
def test_an_engine_that_fails_before_it_has_a_preview(
    told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine(tmp_path, monkeypatch, f'#!/bin/sh\necho "error: {told}" >&2\nexit 6\n')
    code, out, err = review("hello.dev", "--quiet", "--output", "json")
    assert (code, err) == (1, "")
    [report] = Review.model_validate_json(out).stacks
    assert (report.outcome, report.headline) == ("failed", f"The preview failed: {told}")
    assert (report.failure, report.messages) == ([], [])


WAITING = """#!/bin/sh
for _ in $(seq 600); do [ -e {asked} ] && exec cat {events}; sleep 0.05; done
exit 1
"""


@pytest.mark.parametrize("stacks", [["allreduce.dev"], ["hello.dev", "allreduce.dev"]])
def test_the_cluster_is_read_while_the_engine_works(
    stacks: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine ends when the nodes have been asked for, by each of the stacks."""
    asked = tmp_path / "asked"
    engine(tmp_path, monkeypatch, WAITING.format(asked=asked, events=RECORDED))
    objects = ApiObjects([node("node-0"), queue("default")])
    times = list[str]()

    def answer(path: str) -> Answer:
        if path.startswith("/api/v1/nodes"):
            times.append(path)
            if len(times) == len(stacks):
                asked.touch()
        return objects(path)

    with website(answer) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        code, out, _ = run("review", *stacks, "--output", "json")
    assert code == 0
    for report in Review.model_validate_json(out).stacks:
        assert report.read_at
        assert "cluster" not in {part.what for part in report.not_checked}
