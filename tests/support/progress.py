"""Progress of a long test run: the number of finished tests, the elapsed time, and the test that runs longest at the moment.

For runs with several processes (`-n auto`), in place of pytest's dots: on a terminal one line that is rewritten, else a line every half
minute. Failures are shown as they come, as pytest shows them.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TextIO

import pytest

from trainform.cli.progress import spell_duration

INTERVAL_SECONDS = 30.0
REWRITE_SECONDS = 1.0
WIDTH = 118


class Progress:
    """Counts tests as the processes report them."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._rewrites = out.isatty()
        self._lock = threading.Lock()
        self._started = time.monotonic()
        self._running: dict[str, float] = {}
        self._done = 0
        self._total = 0
        self._finished = threading.Event()
        self._thread = threading.Thread(target=self._show_until_the_end, daemon=True)

    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Every process collects all tests."""
        with self._lock:
            self._total = len(ids)
        if not self._thread.is_alive() and not self._finished.is_set():
            self._thread.start()

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        with self._lock:
            self._running[nodeid] = time.monotonic()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        with self._lock:
            self._running.pop(nodeid, None)
            self._done += 1

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: pytest.TestReport | pytest.CollectReport) -> tuple[str, str, str] | None:
        """Count a test that passed, without printing a dot."""
        if report.when == "call" and report.passed and not hasattr(report, "wasxfail"):
            return "passed", "", ""
        return None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._finished.set()
        if self._thread.is_alive():
            self._thread.join()

    def _show_until_the_end(self) -> None:
        while not self._finished.wait(REWRITE_SECONDS if self._rewrites else INTERVAL_SECONDS):
            self._write(self.line())
        self._write(self.line(), last=True)

    def line(self) -> str:
        """`1234 of 1500 tests, 3 min 20 s; running longest: tests/engine/test_demo.py::test_it (55 s)`."""
        now = time.monotonic()
        with self._lock:
            longest = min(self._running.items(), key=lambda item: item[1], default=None)
            counted = f"{self._done} of {self._total} tests, {spell_duration(now - self._started)}"
        if longest is None or now - longest[1] < 1:
            return counted
        return f"{counted}; running longest: {longest[0]} ({spell_duration(now - longest[1])})"

    def _write(self, line: str, last: bool = False) -> None:
        if self._rewrites:
            self._out.write(f"\r\x1b[K{line[:WIDTH]}{chr(10) if last else ''}")
        else:
            self._out.write(f"{line}\n")
        self._out.flush()


def register(config: pytest.Config) -> None:
    """Install the display in the process that distributes the tests."""
    if getattr(config.option, "numprocesses", None) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Progress(sys.__stderr__ or sys.stderr), "trainform-progress")
