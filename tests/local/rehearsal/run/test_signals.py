"""Signals while a rehearsal runs and while it cleans up; without Docker."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from trainform.local.rehearsal.run.rehearse import ENDING, endings_as_interrupts


@pytest.fixture(autouse=True)
def handlers(default_signals: None) -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in ENDING}
    yield
    assert {number: signal.getsignal(number) for number in ENDING} == before


@pytest.mark.parametrize("number", ENDING)
def test_the_first_signal_interrupts_and_later_ones_are_ignored(number: signal.Signals) -> None:
    cleaned = False
    with pytest.raises(KeyboardInterrupt), endings_as_interrupts():
        try:
            os.kill(os.getpid(), number)
        finally:
            for other in ENDING:
                os.kill(os.getpid(), other)
            cleaned = True
    assert cleaned
