"""The status of a job after each change, from a server that answers as an API server does."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_client import use
from tests.deployed.test_overview import environment, job, of_job, recorded
from tests.support.api_objects import ApiObjects
from tests.support.websites import website
from trainform.errors import ClusterError
from trainform.running import watch
from trainform.running.snapshot import Target
from trainform.running.status import status_of_target
from trainform.running.watch import after_changes

PATIENCE = 60.0


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    monkeypatch.setattr(watch, "REFRESH_SECONDS", 0.5)  # this server has no watches
    return Target("bert", environment())


def test_a_server_that_goes_away_is_reported_and_read_again(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = ApiObjects([recorded("bert"), job("bert"), of_job("bert", 0), of_job("bert", 1)])
    is_away = threading.Event()

    def answering(path: str) -> Any:
        return (503, "text/plain", b"away") if is_away.is_set() else objects(path)

    async def watch() -> None:
        seen = after_changes(target, status_of_target)

        async def until(phase: str, away: bool) -> None:
            async for found, error in seen:
                if (found.phase, error != "") == (phase, away):
                    return

        await until("running", away=False)
        is_away.set()
        await until("running", away=True)
        is_away.clear()
        await until("running", away=False)
        objects.bodies = [recorded("bert"), job("bert", "Completed")]
        await until("succeeded", away=False)

    with website(answering) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        asyncio.run(asyncio.wait_for(watch(), PATIENCE))


@pytest.mark.parametrize(
    ("phase", "state", "not_read"), [("Running", "running", set()), ("Failed", "failed", {"events"})]
)
def test_events_are_read_of_a_job_that_may_have_been_preempted(
    phase: str, state: str, not_read: set[str], target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    objects = [recorded("bert", 1), job("bert", phase), *([of_job("bert", 0)] if phase == "Running" else [])]
    with website(ApiObjects(objects, forbidden=frozenset({"events"}))) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        found = status_of_target(target)
    assert found.phase == state
    assert {*found.not_read} == not_read


def test_without_a_first_result_there_is_nothing_to_watch(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(tmp_path / "kubeconfig", monkeypatch, "http://127.0.0.1:9", {"token": "t0ken"})
    with pytest.raises(ClusterError, match="cannot reach the cluster"):
        asyncio.run(anext(after_changes(target, status_of_target)))  # type: ignore[arg-type]
