from __future__ import annotations

import json
from pathlib import Path

from trainform.local.sandbox.folder import Layout
from trainform.local.sandbox.processes import Process
from trainform.local.sandbox.state import read_processes

ETCD = {"name": "etcd", "pid": 4711, "started": 1.5, "binary": "/cache/etcd", "log": "etcd.log"}


def test_a_damaged_row_hides_no_other_process(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.make()
    layout.state.write_text(json.dumps({"processes": [{"name": "kwok"}, ETCD, 7]}))
    assert read_processes(layout) == [Process("etcd", 4711, 1.5, "/cache/etcd", "etcd.log")]
