"""The marker of a comment: what is written is read again, and nothing in it ends the HTML comment."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainform.github.marker import Marker, Run, read_marker, scope_of

RUN = Run(12_345_678_901, 2, "2026-11-23T12:00:00Z")
MARKER = Marker(scope_of("training", "dev"), "training", ("dev",), "4f1c0d2e9b7a6583c1d0e2f3a4b5c6d7e8f90123", RUN)
names = st.one_of(
    st.text(max_size=90),
    st.sampled_from(["-->", "--!>", "--", ">", "<!--", "a--b", "\n", "\r\n-->", "\\", '"', "\u2028"]),
)


@given(names, st.lists(names, max_size=20))
def test_what_is_written_is_read(project: str, stacks: list[str]) -> None:
    marker = Marker(scope_of(project, None), project, tuple(stacks), MARKER.commit, RUN)
    line = marker.render()
    assert read_marker(f"{line}\n## Review\n") == marker
    assert read_marker(f"{line}\r\n## Review\r\n") == marker
    inside = line.removeprefix("<!-- ").removesuffix(" -->")
    assert line.isascii()
    assert re.search(r"-->|--!>|[<>\n\r]|--", inside.replace("trainform-review", "")) is None


def test_a_marker_of_any_names_is_short() -> None:
    marker = Marker(MARKER.scope, "🚀" * 10_000, ("🚀" * 10_000,) * 200, MARKER.commit, RUN)
    assert len(marker.render()) < 30_000
    assert read_marker(marker.render()) is not None


@pytest.mark.parametrize(
    "body",
    [
        "",
        "## Review",
        f"> {MARKER.render()}",
        f"\n{MARKER.render()}",
        f" {MARKER.render()}",
        MARKER.render().replace('"version": 1', '"version": 2'),
        MARKER.render().replace('"version": 1', '"version": true'),
        MARKER.render().replace('"run": 12345678901', '"run": "1"'),
        MARKER.render().replace('"run": 12345678901', '"run": null'),
        MARKER.render().replace('"time": "2026', '"time": "later'),
        MARKER.render().replace('"scope"', '"scope2"'),
        MARKER.render().replace('["dev"]', "7"),
        "<!-- trainform-review {} -->",
        "<!-- trainform-review [] -->",
        "<!-- trainform-review null -->",
        f"<!-- trainform-review {'[' * 100_000} -->",
        "<!-- trainform-review -->",
    ],
)
def test_what_is_no_marker(body: str) -> None:
    assert read_marker(body) is None


def test_the_order_of_runs() -> None:
    runs = [
        Run(9, 3, "2026-11-23T12:00:00Z"),
        Run(10, 1, "2026-11-23T11:00:00Z"),
        Run(10, 2, "2026-11-23T10:00:00Z"),
        Run(10, 2, "2026-11-23T10:00:01Z"),
        Run(100, 1, "2026-11-22T10:00:00Z"),
    ]
    assert sorted({*runs}, key=lambda run: run.order) == runs
