"""The part of a test: `make test` or `make proof`.

`make test` (`--part test`) runs every test that needs nothing but Python, and of those on real parts (engine, control
plane, containers) the ones that show that a kind of thing works: `@pytest.mark.shows("what")`. `make proof` (`--part
proof`) runs the rest: `@pytest.mark.proof("why make test does without it")`. The mark that is closest to a test counts:
of its parameters, its function, its file. `@pytest.mark.rehearsal("why")` leaves a test to `make rehearse`. A test on
real parts without a mark is an error of the collection, so that
each has its place and a reason for it.
"""

from __future__ import annotations

import pytest

from tests.support.scheduling import misplaced

# Fixtures that start real parts and take seconds to minutes: a test with one of these needs a mark.
REAL_PARTS = frozenset(["toolchain", "sandbox", "addons", "real_sandbox", "image", "docker_daemon", "browser"])
SHOWS, PROOF, REHEARSAL = "shows", "proof", "rehearsal"
MARKERS = (
    f"{SHOWS}(what): a test on real parts that `make test` runs: it shows that this kind of thing works.",
    f"{PROOF}(why): a test of `make proof`, and why `make test` does without it.",
    f"{REHEARSAL}(why): a test of `make rehearse` alone, and why the others do without it.",
    "needs(addon, …): the add-ons that a test needs on the sandbox with real nodes.",
)


def place(item: pytest.Item) -> str:
    """`test`, `proof` or `rehearsal`."""
    mark = _closest(item)
    return "test" if mark is None or mark.name == SHOWS else mark.name


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the chosen part. Raises `UsageError` with every test that has no mark, or has the wrong place
    in the order."""
    wrong = [f"{item.nodeid} {sentence}" for item in items for sentence in (_wrong(item), misplaced(item)) if sentence]
    if wrong:
        raise pytest.UsageError("\n".join(wrong))
    part = config.getoption("--part")
    if part is not None:
        left_out = [item for item in items if place(item) != part]
        items[:] = [item for item in items if place(item) == part]
        config.hook.pytest_deselected(items=left_out)


def _closest(item: pytest.Item) -> pytest.Mark | None:
    marks = [mark for node in item.listchain() for mark in node.own_markers if mark.name in (SHOWS, PROOF, REHEARSAL)]
    return marks[-1] if marks else None


def _wrong(item: pytest.Item) -> str | None:
    mark = _closest(item)
    if mark is None:
        if not REAL_PARTS & set(getattr(item, "fixturenames", ())):
            return None
        return f"runs on real parts: mark it with `{SHOWS}` (make test) or with `{PROOF}` (make proof) and say why"
    if len(mark.args) != 1 or not isinstance(mark.args[0], str):
        return f"has the mark `{mark.name}` without a reason: write it as its argument"
    return None
