"""Read and write releases: files that are written whole and never changed."""

from __future__ import annotations

import getpass
import subprocess
from collections.abc import Iterable
from pathlib import Path

import yaml

from trainform import defaults
from trainform.console.files import create_files
from trainform.console.lines import strip_invisible
from trainform.console.secrets import masked_line
from trainform.deployed.releases.release import Release, release_of
from trainform.errors import InputError, Problem, TrainformError, each_result
from trainform.manifests.manifest import ReadableDumper
from trainform.project import RELEASES, release_path
from trainform.spec.release import ReleasedExperiment, read_release_file

HEAD = """\
# A release, written by trainform. Do not edit it: its name is the hash of its content.
"""


def read_release(experiment: str, name: str, root: Path) -> Release:
    """Return the release; InputError if its file is not there or has been changed."""
    content = read_release_file(experiment, name, root)
    return release_of(content.data, content.source)


def releases_of(experiment: str, root: Path) -> dict[str, Release]:
    """Return the releases of the experiment by name, the oldest first. InputError with each that cannot be read."""
    names = [path.stem for path in (root / "stacks" / RELEASES / experiment).glob("[!.]*.yaml")]
    found = each_result(lambda name: read_release(experiment, name, root), names)
    return dict(sorted(zip(names, found, strict=True), key=lambda item: (item[1].promoted.at, item[0])))


def write_releases(releases: Iterable[Release], root: Path) -> None:
    """Write the files of releases, all of them or none. A file that exists has the same content, and stays."""
    texts = dict[str, str]()
    for release in releases:
        experiment, name = str(release.experiment["name"]), release.name
        path = release_path(experiment, name)
        if (root / path).exists():
            read_release(experiment, name, root)
            continue
        texts[path] = as_text(release)
        if len(texts[path].encode()) > defaults.LARGEST_FILE:
            reason = f"the release would have more than {defaults.LARGEST_FILE} bytes, and could not be read again"
            raise TrainformError(reason, "make the experiment smaller: move long texts into the image")
    create_files(root, texts)


def as_text(release: Release) -> str:
    """Return the text of the file, for people to read too."""
    return HEAD + str(yaml.dump(release.data(), Dumper=ReadableDumper, sort_keys=False, width=1000, allow_unicode=True))


FIX = "`trainform history EXPERIMENT` shows the releases of an experiment"


def released(name: str, root: Path) -> ReleasedExperiment:
    """Return the release of any experiment; InputError if there is none of this name."""
    found = sorted(root.glob(release_path("*", name)))
    if not found:
        raise InputError([Problem("release", name, f"no file of stacks/{RELEASES}/ has this name", FIX)])
    return ReleasedExperiment(found[0].parent.name, name)


def author(root: Path) -> str:
    """Return `NAME <EMAIL>` as git has it here, or the name of the account."""
    found = (git_line(root, "config", "--get", f"user.{part}") for part in ("name", "email"))
    name, email = (" ".join(strip_invisible(text).split()) for text in found)
    return masked_line((f"{name} <{email}>" if name and email else name or email) or _account())


def git_line(root: Path, *words: str) -> str:
    """Return what git prints, on one line; "" if it fails, or if there is no git."""
    try:
        ran = subprocess.run(
            ["git", *words],
            cwd=root,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return " ".join(ran.stdout.split())


def _account() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name, as in some containers
        raise TrainformError("your name is unknown", "`git config user.name NAME`") from None
