"""Estimates of the remaining time: never negative, lower with all work that is done, corrected by the speed of this machine."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainform.toolchain.download import Size
from trainform.toolchain.estimate import Forecast, estimate_left
from trainform.toolchain.parts import Part

seconds = st.floats(0, 1e5)
shares = st.floats(0, 1)
FIRST, SECOND = Part("first", (), minutes=10, packages=1000), Part("second", (), minutes=5, packages=500)


@given(st.floats(0, 1e12), st.floats(0, 1e12), st.floats(-1, 1e6), seconds)
def test_estimate_is_never_negative(total: float, done: float, spent: float, trust: float) -> None:
    left = estimate_left(total, done, spent, trust)
    assert left is None or left >= 0


@given(st.floats(1, 1e6), shares, shares, seconds, st.floats(1, 1e3))
def test_estimate_falls_as_work_is_done(total: float, share: float, more: float, spent: float, trust: float) -> None:
    done, later = sorted((share * total, more * total))
    before, after = estimate_left(total, done, spent, trust), estimate_left(total, later, spent, trust)
    assert before is not None
    assert after is not None
    assert after <= before
    assert after < before or later - done < 1e-6 * total or spent + trust < 1e-6
    assert estimate_left(total, total, spent, trust) == 0


def test_estimate_uses_the_speed_so_far() -> None:
    assert estimate_left(100, 25, 10) == 30
    assert estimate_left(100, 25, 20) == 60
    assert estimate_left(100, 0, 10) is None, "nothing says how fast it goes"
    assert estimate_left(100, 0, 0, trust=30) == 100, "the table says it"
    assert estimate_left(100, 130, 10) == 0, "more than was expected"


class Clock:
    """A clock that the test sets."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_forecast_covers_all_parts_at_the_speed_of_this_machine() -> None:
    clock = Clock()
    forecast = Forecast([FIRST, SECOND], clock)
    assert forecast.reach(FIRST, 0) == 900
    clock.now = 1200  # twice the table's time for the first part
    forecast.finish(FIRST)
    left = forecast.reach(SECOND, 0)
    assert left is not None
    assert 560 < left < 600


def test_forecast_leaves_out_packages_in_the_compilers_cache() -> None:
    clock = Clock()
    forecast = Forecast([FIRST, SECOND], clock)
    forecast.expect(FIRST, 0)
    left = forecast.reach(FIRST, 0)
    assert left is not None
    assert 300 < left < 360, "the second part, and linking the first"
    forecast.expect(FIRST, 500)
    left = forecast.reach(FIRST, 0)
    assert left is not None
    assert 600 < left < 660, "half of the first"
    forecast.expect(FIRST, 2000)
    left = forecast.reach(FIRST, 0)
    assert left is not None
    assert left > 1200, "what the table takes for compiled is missing too"


@given(st.lists(shares, min_size=1), st.integers(0, 5000), st.floats(0, 1e4))
def test_forecast_falls_while_packages_are_compiled(steps: list[float], packages: int, spent: float) -> None:
    clock = Clock()
    forecast = Forecast([FIRST, SECOND], clock)
    clock.now = spent
    forecast.expect(FIRST, packages)
    before = forecast.reach(FIRST, 0)
    for reached in sorted(steps):
        left = forecast.reach(FIRST, reached)
        assert left is not None
        assert before is not None
        assert 0 <= left <= before
        before = left


@given(st.integers(1, 10**12), shares, shares, st.floats(0, 1e5))
def test_download_speed_ignores_bytes_of_an_earlier_run(
    known: int, found: float, received: float, spent: float
) -> None:
    there = int(known * found)
    left = Size(known, complete=True).seconds_left(there + int((known - there) * received), there, spent)
    assert left is None or left >= 0


def test_remaining_time_of_a_download() -> None:
    size = Size.of([300, 100])
    assert str(Size.of([300_000_000, 112_000_000])) == "up to 412 MB"
    assert size.seconds_left(100, 0, 10) == 30
    assert size.seconds_left(200, 100, 10) == 20, "100 were there before"
    assert size.seconds_left(100, 100, 10) is None, "nothing has come yet"
    assert size.seconds_left(100, 0, 0.5) is None, "too early"
    assert size.seconds_left(500, 0, 10) == 0


@pytest.mark.parametrize("sizes", [[None], [300, None]])
def test_a_download_of_unknown_size_has_no_estimate(sizes: list[int | None]) -> None:
    size = Size.of(sizes)
    assert str(size).startswith("more than")
    assert size.seconds_left(100, 0, 10) is None
