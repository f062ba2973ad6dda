"""The repository as it is committed: files for tests, without what `pulumi` and the demo have changed in the clone."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
# The keys that define a stack. Salts, secrets and settings such as `trainform:run` belong to the user of this clone.
STACK_KEYS = ("trainform:experiment", "trainform:environment", "trainform:release")


def tracked(pattern: str, repository: Path = ROOT) -> list[Path]:
    """Return the files below `stacks/` that belong to the repository; in a source archive, which is no clone, all of
    them.

    `trainform new`, typed in the clone, makes files of the user's, for which there is nothing to compare with.
    """
    found = {path for path in (repository / "stacks").glob(pattern) if path.is_file()}
    git = subprocess.run(
        ["git", "ls-files", "-z", "stacks"], cwd=repository, capture_output=True, text=True, check=False
    )
    known = {repository / name for name in git.stdout.split("\0") if name}
    return sorted(found & known if known else found)


def names(folder: str) -> list[str]:
    """Return the teaching `experiments` or `environments`."""
    return [path.stem for path in tracked(f"{folder}/*.yaml")]


def read(folder: str, name: str) -> dict[str, Any]:
    """Return one of them as data."""
    data: dict[str, Any] = yaml.safe_load((ROOT / "stacks" / folder / f"{name}.yaml").read_text())
    return data


def stack_config(path: Path) -> dict[str, Any]:
    """Return the config of a stack's file, without other keys."""
    config = yaml.safe_load(path.read_text())["config"]
    return {key: config[key] for key in STACK_KEYS if key in config}


def copy_stacks(target: Path, pattern: str = "**/*", repository: Path = ROOT) -> None:
    """Copy what the pattern finds below `stacks/` to the folder `target`, as fresh as from `git clone`."""
    stacks = repository / "stacks"
    for path in tracked(pattern, repository):
        copy = target / path.relative_to(stacks)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if path.match("stacks/Pulumi.*.yaml"):
            copy.write_text(yaml.safe_dump({"config": stack_config(path)}))
        else:
            shutil.copy(path, copy)


def committed_copy(folder: Path) -> None:
    """A git repository with one commit of the project as it is here, edits included, its stack files as fresh as from
    `git clone`."""
    ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines()]
    others = shutil.ignore_patterns(".git", *ignored)

    def left_out(place: str, names: list[str]) -> set[str]:
        return others(place, names) | ({"stacks"} if Path(place) == ROOT else set())

    shutil.copytree(ROOT, folder, symlinks=True, ignore=left_out)
    copy_stacks(folder / "stacks")
    commit_all(folder)


def commit_all(folder: Path) -> None:
    """Commit all that is in a folder, which becomes a git repository if it is none."""
    for words in (["init", "--initial-branch", "main"], ["add", "--all"], ["commit", "--message", "everything"]):
        git(folder, *words)


def git(folder: Path, *words: str) -> str:
    """Run git with an author; the text that it prints."""
    author = ["-c", "user.name=tests", "-c", "user.email=tests@example.com"]
    ran = subprocess.run(["git", *author, *words], cwd=folder, capture_output=True, text=True, check=True)
    return ran.stdout.strip()
