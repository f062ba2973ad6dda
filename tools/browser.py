"""A browser without a window for the tests of pages: this machine's own, or Debian's Chromium in the user's cache
folder.

About 100 MB are fetched once and unpacked to 300 MB; nothing is installed. `python -m tools.browser` fetches it, and
prints where it is.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from msgspec import Struct

from tools.debian import NotHereError, program, unpack, unpack_all
from trainform.cli.progress import display
from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.errors import TrainformError
from trainform.local.toolchain.cache import cache_folder, partial_folder, remove_partials

PROGRAMS = ("chromium", "chromium-headless-shell", "google-chrome")
PACKAGE = "chromium-headless-shell"  # Chromium without windows: a fifth smaller, and it needs no GTK
FONTS = "fonts-dejavu-core"  # fetched in any case, so that a page looks the same on each machine
BINARY, FONT_SETTINGS = Path("usr/lib/chromium/chromium-headless-shell"), Path("fonts.conf")
ANSWER_SECONDS = 60
ARGUMENTS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
"""It runs as root, in a container and without a network."""


class Browser(Struct, frozen=True):
    """A program, with its variables in addition to those of this process."""

    program: Path
    variables: Mapping[str, str] = {}

    @property
    def environment(self) -> dict[str, str]:
        """All of its variables."""
        return {**os.environ, **self.variables}


def browser(progress: Progress) -> Browser:
    """Return the browser. Raises `NotHereError` if this machine has none and cannot fetch one."""
    for name in PROGRAMS:
        found = program(name)
        if found is not None:
            return Browser(found)
    folder = cache_folder() / "browser" / PACKAGE
    with hold(folder.parent / "lock", "fetching Chromium", progress):
        # what it needs of the system's libraries can have gone since then
        if not starts(unpacked(folder)):
            _fetch(folder, progress)
    return unpacked(folder)


def unpacked(folder: Path) -> Browser:
    """Return the browser in this folder, with the libraries and fonts next to it."""
    libraries = sorted({str(found.parent) for found in folder.rglob("lib*.so*")})  # some have a folder of their own
    own = {"LD_LIBRARY_PATH": os.pathsep.join(libraries), "FONTCONFIG_FILE": str(folder / FONT_SETTINGS)}
    return Browser(folder / BINARY, own)


def starts(browser: Browser) -> bool:
    """Return True if the program is there and finds all its libraries."""
    try:
        words = [str(browser.program), "--version"]
        done = subprocess.run(words, env=browser.environment, capture_output=True, timeout=ANSWER_SECONDS, check=False)
    except OSError:
        return False
    return done.returncode == 0


def _fetch(folder: Path, progress: Progress) -> None:
    remove_partials(folder.parent)
    partial, log = partial_folder(folder), folder.parent / "apt.log"
    try:
        with progress.step("fetching Chromium from Debian, 100 MB"):
            unpack_all(PACKAGE, partial, log)
            unpack(FONTS, partial, log)
    except NotHereError:
        raise
    except TrainformError as error:
        raise NotHereError(
            f"this machine has no browser, and Debian's packages cannot be fetched: {error.message}",
            f"install one ({', '.join(PROGRAMS)}), or see what apt says: {log}",
        ) from error
    (partial / FONT_SETTINGS).write_text("\n".join(_font_settings(folder)) + "\n", encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    partial.replace(folder)
    if not starts(unpacked(folder)):
        raise NotHereError(
            f"the Chromium of Debian's packages does not start on this machine: {folder / BINARY}",
            f"install one of these: {', '.join(PROGRAMS)}",
        )


def _font_settings(folder: Path) -> Iterator[str]:
    """Write settings for the fonts next to the browser only: a screenshot is the same on each machine."""
    yield '<?xml version="1.0"?>'
    yield "<fontconfig>"
    yield f"<dir>{escape(str(folder / 'usr/share/fonts'))}</dir>"
    yield f"<cachedir>{escape(str(folder / 'font-cache'))}</cachedir>"
    for family, font in (
        ("sans-serif", "DejaVu Sans"),
        ("system-ui", "DejaVu Sans"),
        ("monospace", "DejaVu Sans Mono"),
        ("ui-monospace", "DejaVu Sans Mono"),
    ):
        yield f"<alias><family>{family}</family><prefer><family>{font}</family></prefer></alias>"
    yield "</fontconfig>"


if __name__ == "__main__":
    try:
        print(browser(display()).program)
    except TrainformError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
