"""How a need is provided: finished, downloaded or built; and the notes and errors about that."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from msgspec import structs

from tests.local.toolchain import official
from tests.local.toolchain.conftest import TINY
from tests.local.toolchain.internet import Answer, Internet
from tests.local.toolchain.recording import Recording
from trainform.console.progress import SILENT
from trainform.errors import ToolchainError
from trainform.local.toolchain.addons import ADDON_PARTS, KUBE_SCHEDULER
from trainform.local.toolchain.ensure import control_plane_needs
from trainform.local.toolchain.needs import BUILD, DOWNLOAD, Need, part_need, part_origins, provide
from trainform.local.toolchain.releases import FILE, Release

URL = "https://releases.example.com/v1.0.0/tiny"
RELEASE = Release("tiny", FILE, "1.0.0", URL, (("tiny", "bin/tiny"),), f"{URL}.sha256", systems=("linux", "darwin"))
BOTH = (DOWNLOAD, BUILD)


def _publish(internet: Internet) -> None:
    official.put_file(internet, URL, official.program("downloaded"))


def _need(*origins: str) -> Need:
    return Need("tiny", (TINY,), (RELEASE,), origins)


def _output(folder: Path) -> str:
    answer = subprocess.run([folder / "bin" / "tiny"], capture_output=True, text=True, check=True)
    return (answer.stdout + answer.stderr).strip()


def test_a_download_is_preferred_and_reported(internet: Internet, cache: Path, pins: Path) -> None:
    _publish(internet)
    progress = Recording()
    provide([_need(*BOTH)], cache, progress, pins)
    assert _output(cache / "tiny-download") == "downloaded"
    assert "tiny: downloaded, hashes verified" in progress.lines
    assert "building" not in progress.text
    assert {path.name for path in cache.iterdir()} == {"lock", "tiny-download"}
    again = Recording()
    provide([_need(*BOTH)], cache, again, pins)
    assert again.lines == []


def test_a_need_that_cannot_be_downloaded_is_built_with_a_note(internet: Internet, cache: Path, pins: Path) -> None:
    progress = Recording()
    second = structs.replace(TINY, folder="second")
    shutil.copytree(pins / "tiny", pins / "second")
    needs = [
        _need(*BOTH),
        Need("second", (second,), (structs.replace(RELEASE, url="https://other.example.com/x"),), BOTH),
    ]
    provide(needs, cache, progress, pins)
    assert _output(cache / "tiny") == "hello"
    [line] = [line for line in progress.lines if "releases.example.com" in line]
    reason = "502 Bad Gateway"
    assert (
        line == f"built instead of downloaded: tiny (releases.example.com: {reason}), second (releases.example.com: "
        f"{reason})"
    )
    assert any(line.startswith("building 2 of 2 parts") for line in progress.lines)


def test_a_built_need_is_not_downloaded(internet: Internet, cache: Path, pins: Path) -> None:
    _publish(internet)
    provide([_need(BUILD)], cache, SILENT, pins)
    provide([_need(*BOTH)], cache, SILENT, pins)
    assert internet.requests == []
    assert _need(*BOTH).finished(cache) == (BUILD, cache / "tiny")


def test_if_only_downloads_are_allowed_their_error_is_raised(internet: Internet, cache: Path, pins: Path) -> None:
    progress = Recording()
    with pytest.raises(ToolchainError, match=r"^releases\.example\.com: 502 Bad Gateway") as caught:
        provide([_need(DOWNLOAD)], cache, progress, pins)
    assert "TRAINFORM_TOOLCHAIN=build" in caught.value.fix
    assert any(line.startswith("not downloaded: tiny (releases.example.com") for line in progress.lines)


def test_a_failed_download_leaves_no_files(internet: Internet, cache: Path, pins: Path) -> None:
    _publish(internet)
    internet.sites[f"{URL}.sha256"] = Answer(b"0" * 64)
    provide([_need(*BOTH)], cache, SILENT, pins)
    assert {path.name for path in cache.iterdir()} == {"lock", "logs", "tiny"}


@pytest.mark.parametrize(
    ("mode", "origins"), [("auto", BOTH), ("download", (DOWNLOAD,)), ("build", (BUILD,)), ("system", BOTH)]
)
def test_the_control_plane_is_never_that_of_the_system(
    monkeypatch: pytest.MonkeyPatch, mode: str, origins: tuple[str, ...]
) -> None:
    monkeypatch.setenv("TRAINFORM_TOOLCHAIN", mode)
    assert part_origins() == origins
    assert {need.origins for need in (*control_plane_needs(), part_need(KUBE_SCHEDULER))} == {origins}
    others = [part_need(part) for part in ADDON_PARTS if part is not KUBE_SCHEDULER]
    assert {need.origins for need in others} == {(BUILD,)}
