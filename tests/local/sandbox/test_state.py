"""The stored state of a sandbox, also after it was edited or damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainform.local.sandbox.folder import Layout
from trainform.local.sandbox.processes import Process
from trainform.local.sandbox.settings import NodePool, SandboxSettings, Taint
from trainform.local.sandbox.state import State, read_state, write_state
from trainform.local.toolchain.tools import PulumiTools


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path)


@pytest.fixture
def state(tmp_path: Path) -> State:
    nodes = NodePool("a800", 8, {"cpu": "96"}, {"zone": "a"}, (Taint("gpu", "yes", "NoSchedule"),))
    settings = SandboxSettings(tmp_path, (nodes,), ("cephfs-ssd",), ("dev-cluster",), ("jobset",))
    tools = PulumiTools(tmp_path / "bin", tmp_path / "home", "built")
    return State(settings, tools, {"etcd": 2379}, (Process("etcd", 4711, 17.5, "/bin/etcd", "etcd.log"),), True)


def test_state_is_read_as_it_was_written(layout: Layout, state: State) -> None:
    write_state(layout, state)
    assert read_state(layout) == state
