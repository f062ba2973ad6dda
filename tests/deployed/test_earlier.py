"""What a stack had deployed before, from a folder of states. The engine that writes one runs in
`tests/engine/test_history.py`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.deployed.test_state import RECORD, config_map, exported
from tests.deployed.test_updates import UP
from trainform.deployed.earlier import _folder, _state_next_to, earlier_deployments, history_files
from trainform.deployed.state import record_in
from trainform.errors import TrainformError

STATE = {"version": 3, "checkpoint": {"latest": exported(config_map("bert-deployed", **RECORD.data()))["deployment"]}}


@pytest.fixture
def history(tmp_path: Path) -> Path:
    folder = tmp_path / ".pulumi" / "history" / "vision" / "bert.prod"
    folder.mkdir(parents=True)
    return folder


def test_updates_that_are_compressed_by_zstd_have_their_places(tmp_path: Path, history: Path, pulumi: Path) -> None:
    """PULUMI_DIY_BACKEND_ZSTD: without such a file in the list each update would have the state of an older one."""
    (history / "bert.prod-1.history.json").write_text("{}")
    (history / "bert.prod-1.checkpoint.json").write_text(json.dumps(STATE))
    for kind in ("history", "checkpoint"):
        (history / f"bert.prod-2.{kind}.json.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    assert [path.name for path in history_files(tmp_path, "vision", "bert.prod")] == [
        "bert.prod-2.history.json.zst",
        "bert.prod-1.history.json",
    ]
    (tmp_path / "Pulumi.yaml").write_text("name: vision\n")
    answers(pulumi, f"file://{tmp_path}")  # of which the newest has failed
    assert [each.record for each in earlier_deployments("bert", "bert.prod", tmp_path)] == [RECORD]
    with pytest.raises(TrainformError) as raised:
        _state_next_to(history / "bert.prod-2.history.json.zst")
    assert raised.value.message.endswith("is compressed by zstd, which is not read")


@pytest.mark.parametrize("compressed", [False, True])
def test_the_state_is_beside_the_update(history: Path, compressed: bool) -> None:
    content, end = json.dumps(STATE).encode(), ".gz" if compressed else ""
    (history / f"bert.prod-1.checkpoint.json{end}").write_bytes(gzip.compress(content) if compressed else content)
    assert record_in(_state_next_to(history / f"bert.prod-1.history.json{end}"), "bert") == RECORD


@pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b"\x1f\x8b"])
@pytest.mark.parametrize("end", ["", ".gz"])
def test_a_state_that_cannot_be_read_is_empty(history: Path, content: bytes | None, end: str) -> None:
    if content is not None:
        (history / f"bert.prod-1.checkpoint.json{end}").write_bytes(content)
    assert _state_next_to(history / f"bert.prod-1.history.json{end}") == {}


@pytest.mark.parametrize(
    ("url", "folder"),
    [
        ("file:///srv/state", "/srv/state"),
        ("file:///srv/state?no_tmp_dir=true", "/srv/state"),
        ("file://~", str(Path.home())),
        ("file://~/states", str(Path.home() / "states")),
        ("file://./state", "/project/state"),
    ],
)
def test_the_folder_of_a_backend(url: str, folder: str) -> None:
    assert _folder(url, Path("/project")) == Path(folder)


def answers(pulumi: Path, url: str) -> None:
    """The program says what a backend at this address would: two updates, of which the second has failed."""
    updates = json.dumps([{**UP, "version": 8, "result": "failed"}, {**UP, "version": 7}])
    state = json.dumps(exported(config_map("bert-deployed", **RECORD.data())))
    lines = [
        "#!/bin/sh",
        'case "$*" in',
        f"whoami*) printf '%s' '{json.dumps({'url': url})}' ;;",
        f"'stack history'*) printf '%s' '{updates}' ;;",
        f"*'--version 7'*) printf '%s' '{state}' ;;",
        "*) exit 1 ;;",
        "esac",
    ]
    pulumi.write_text("\n".join(lines) + "\n")


def test_a_service_gives_out_the_state_after_each_update(pulumi: Path, tmp_path: Path) -> None:
    answers(pulumi, "https://app.pulumi.com/ada")
    (found,) = earlier_deployments("bert", "bert.prod", tmp_path)
    assert (found.update.number, found.record) == (7, RECORD)


def test_a_bucket_gives_out_none(pulumi: Path, tmp_path: Path) -> None:
    answers(pulumi, "s3://states?region=eu-central-1")
    with pytest.raises(TrainformError) as raised:
        [*earlier_deployments("bert", "bert.prod", tmp_path)]
    assert (
        raised.value.message
        == "the backend s3://states?region=eu-central-1 does not give out what was deployed earlier"
    )
    assert "name a release with --to" in raised.value.fix
