"""Signals while a rehearsal runs and while it cleans up; without Docker."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from trainform.rehearsal.run.run import ENDING, endings_as_interrupts, uninterrupted


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


def test_cleaning_up_is_not_interrupted() -> None:
    with endings_as_interrupts(), uninterrupted():
        for number in ENDING:
            os.kill(os.getpid(), number)


def test_ignored_signals_stay_ignored() -> None:
    """`nohup trainform rehearse …` must outlive its terminal."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with endings_as_interrupts():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_threads_do_not_change_signals() -> None:
    entered: list[bool] = []

    def enter() -> None:
        with endings_as_interrupts(), uninterrupted():
            entered.append(True)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert entered == [True]
