"""The stored state of a sandbox, also after it was edited or damaged."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from trainform.sandbox.folder import Layout
from trainform.sandbox.processes import Process
from trainform.sandbox.settings import NodePool, SandboxSettings, Taint
from trainform.sandbox.state import State, read_processes, read_state, write_state
from trainform.toolchain.model import PulumiTools

OTHER_KINDS: tuple[Any, ...] = (None, 3, 1e999, "text", [], {}, [3], {"text": 3})


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


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value below the top."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def test_a_state_that_is_damaged_at_any_place_raises_nothing(layout: Layout, state: State) -> None:
    """`up` then starts again, and `down` stops the processes whose rows are intact; neither shows a traceback."""
    write_state(layout, state)
    whole = json.loads(layout.state.read_text())
    damaged = 0
    for *above, last in places(whole):
        for replacement in ("removed", *OTHER_KINDS):
            content = copy.deepcopy(whole)
            parent = content
            for key in above:
                parent = parent[key]
            if replacement == "removed":
                del parent[last]
            else:
                parent[last] = replacement
            layout.state.write_text(json.dumps(content))
            damaged += read_state(layout) is None
            assert set(read_processes(layout)) <= set(state.processes) or "processes" in (*above, last)
    assert damaged > len(whole)
