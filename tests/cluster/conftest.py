"""Reads the facts of a cluster that answers as an API server does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cluster.live_cluster import PLENTY
from tests.cluster.test_client import use
from tests.support.live_objects import NAMESPACE
from tests.support.websites import website
from trainform.cluster.facts import LiveFacts
from trainform.cluster.live import LiveReads


@pytest.fixture
def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def reading(answers: Any, /, seconds: float = PLENTY, *, kueue: bool = False, **wanted: Any) -> LiveFacts:
        with website(answers) as server:
            use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
            with LiveReads(None, NAMESPACE, seconds, kueue=kueue) as reads:
                return reads.facts(**wanted)

    return reading
