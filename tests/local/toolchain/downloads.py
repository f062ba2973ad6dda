"""What tests of downloads share: the machine, its pins, and files of a simulated internet that are changed."""

from __future__ import annotations

import dataclasses
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.local.toolchain import official
from tests.local.toolchain.internet import Answer, Internet, sha256
from trainform.local.toolchain.parts import CONTROL_PLANE_PARTS
from trainform.local.toolchain.releases import RELEASES
from trainform.local.toolchain.web import Limits

QUICK = Limits(first_answer=60.0, stall=60.0, pause=0.0)
CONTROL_PLANE = {part.folder: RELEASES[part.folder] for part in CONTROL_PLANE_PARTS}
# In a process of its own, on the machine for which the releases are made.
MACHINE = """
import platform, sys
from pathlib import Path
platform.system, platform.machine = lambda: "Linux", lambda: "x86_64"
"""
ENSURE = (
    MACHINE
    + """
from trainform.local.toolchain.ensure import ensure_control_plane
ensure_control_plane(pins=Path(sys.argv[1]))
"""
)
COMMAND = (
    MACHINE
    + """
from trainform.cli.main import main
sys.argv[1:] = ["toolchain", "ensure", "--pulumi-only"]
sys.exit(main())
"""
)


@pytest.fixture
def copy(tmp_path: Path, internet: Internet, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Pins that fit the published modules, on a machine for which everything is published. It has no Go: nothing can be
    built."""
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setenv("TRAINFORM_TOOLCHAIN", "download")
    pins = official.copy_of_pins(tmp_path / "copy")
    official.publish(internet, pins)
    return pins


def output_of(binary: Path) -> str:
    return subprocess.run([binary], capture_output=True, text=True, check=True).stdout.strip()


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


FINAL = {
    "sdk": official.SDK_ARCHIVE,
    "plugin": f"{official.GITHUB_STORAGE}/{sha256(official.PLUGIN_ARCHIVE.encode())}?sig=x",
    "etcd": f"{official.GITHUB_STORAGE}/{sha256(official.ETCD_ARCHIVE.encode())}?sig=x",
    "kube-apiserver": f"{official.KUBERNETES}/kube-apiserver".replace("dl.", "cdn.dl."),
    "volcano": official.VOLCANO_ZIP,
}


def change_file(internet: Internet, url: str, change: Callable[[bytes], bytes]) -> None:
    answer = internet.sites[url]
    assert isinstance(answer, Answer)
    internet.sites[url] = dataclasses.replace(answer, body=change(answer.body))
