"""The kubeconfig of a live cluster, as several threads read it at the same time."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from trainform.cluster import connection
from trainform.errors import ClusterError


def test_one_thread_at_a_time_decodes_a_kubeconfig(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that do so for the first time may crash the process."""
    free = threading.Lock()
    met: list[bool] = []

    def decode(context: str | None) -> Any:
        met.append(free.acquire(blocking=False))
        time.sleep(0.02)
        if met[-1]:
            free.release()
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(connection, "_kubeconfig", decode)
    with ThreadPoolExecutor(4) as pool:
        reads = [pool.submit(connection.choose_config, None) for _ in range(4)]
        assert [isinstance(read.exception(60), ClusterError) for read in reads] == [True] * 4
    assert met == [True] * 4
