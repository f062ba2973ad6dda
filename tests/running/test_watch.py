"""The status of a job after each change, from a server that answers as an API server does."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_client import use
from tests.deployed.test_overview import environment, job, of_job, recorded
from tests.support.api_objects import ApiObjects
from tests.support.websites import website
from trainform.errors import ClusterError
from trainform.running import watch
from trainform.running.model import JobStatus
from trainform.running.snapshot import Target
from trainform.running.watch import watch_status

PATIENCE = 60.0


@dataclasses.dataclass
class Watched:
    """A watch in a thread, and what it has shown."""

    target: Target
    shown: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    news: threading.Condition = dataclasses.field(default_factory=threading.Condition)

    def show(self, found: JobStatus, error: str) -> None:
        with self.news:
            self.shown.append((found.phase, error))
            self.news.notify_all()

    def until(self, condition: Callable[[str, str], bool]) -> None:
        with self.news:
            assert self.news.wait_for(lambda: bool(self.shown) and condition(*self.shown[-1]), PATIENCE), self.shown

    def start(self) -> threading.Thread:
        thread = threading.Thread(target=watch_status, args=(self.target, self.show), daemon=True)
        thread.start()
        return thread


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    monkeypatch.setattr(watch, "REFRESH_SECONDS", 0.5)  # this server has no watches
    return Target("bert", environment())


def test_a_server_that_goes_away_is_reported_and_read_again_until_the_job_ends(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = ApiObjects([recorded("bert"), job("bert"), of_job("bert", 0), of_job("bert", 1)])
    is_away = threading.Event()

    def answering(path: str) -> Any:
        return (503, "text/plain", b"away") if is_away.is_set() else objects(path)

    with website(answering) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        watched = Watched(target)
        thread = watched.start()
        watched.until(lambda phase, error: phase == "running" and not error)
        is_away.set()
        watched.until(lambda phase, error: phase == "running" and error != "")
        is_away.clear()
        watched.until(lambda phase, error: not error)
        objects.bodies = [recorded("bert"), job("bert", "Completed")]
        thread.join(PATIENCE)
        assert not thread.is_alive(), "the watch ends with the job"
    assert watched.shown[-1] == ("succeeded", "")


def test_without_a_first_status_there_is_nothing_to_watch(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(tmp_path / "kubeconfig", monkeypatch, "http://127.0.0.1:9", {"token": "t0ken"})
    with pytest.raises(ClusterError, match="cannot reach the cluster"):
        watch_status(target, lambda found, error: None)
