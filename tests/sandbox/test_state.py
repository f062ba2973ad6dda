"""What a sandbox remembers, also where somebody has edited it or a disk has lost parts of it."""

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


def test_what_is_written_is_read(layout: Layout, state: State) -> None:
    write_state(layout, state)
    assert read_state(layout) == state


def places(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value below the top."""
    items = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def test_damage_at_any_place_is_survived(layout: Layout, state: State) -> None:
    """`up` then begins anew and `down` ends what it still knows of; neither ends in a traceback."""
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
