"""The release of a stack is set in its file, and no other character of the file changes."""

from __future__ import annotations

import errno
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.support.releases import PROMOTED, follow, project, release
from trainform.deployed.releases.release import Release
from trainform.deployed.releases.release_files import releases_of
from trainform.deployed.releases.stack_file import follow_all, insert_release
from trainform.errors import TrainformError
from trainform.spec.stack import load_stack, pinned_release

NAME = "12e45678901234567890"  # a number, where no quotes stand
PATH = "stacks/Pulumi.a.prod.yaml"
NO_PROJECT = Path("no folder")
RICH = (
    (
        "# the platform team's\nencryptionsalt: v1:L3jw4eYLX50=:v1:x:y==\nconfig:\n   # what runs\n   "
        "trainform:experiment: 'a' # ours\n"
    ),
    '   # only here\n   trainform:environment: "prod"   # the large one\n   trainform:sshSecret:\n      secure: '
    "v1:abc:def==\n"
    f"   vision:teams:\n   - one   # and\n   -   two\n   vision:text: {'word ' * 60}end\n\n# the end",
)
BLOCKS = {
    "short": ("config:\n  trainform:experiment: a\n", "  trainform:environment: prod\n"),
    "comments, quotes, a secret, lists and a long line": RICH,
    "lines of Windows": ("config:\r\n  trainform:experiment: a\r\n", "  trainform:environment: prod\r\n"),
}


@pytest.mark.parametrize("file", BLOCKS)
def test_only_the_release_is_added(file: str) -> None:
    start, rest = BLOCKS[file]
    newline = "\r\n" if "\r" in rest else "\n"
    indent = " " * (len(rest) - len(rest.lstrip()))
    assert (
        insert_release(start + rest, NAME, PATH, NO_PROJECT)
        == f'{start}{indent}trainform:release: "{NAME}"{newline}{rest}'
    )


@pytest.mark.parametrize("key", ["trainform:release", "trainform:config:release"])
@pytest.mark.parametrize("old", ['"0123456789abcdef0123"', "0123456789abcdef0123", "''"])
def test_a_release_that_is_set_gets_the_new_name(key: str, old: str) -> None:
    start, rest = RICH
    before = f"{start}   {key}: {old} # approved\n{rest}"
    assert insert_release(before, NAME, PATH, NO_PROJECT) == f'{start}   {key}: "{NAME}" # approved\n{rest}'


@pytest.mark.parametrize(
    "text",
    [
        "config:\n  trainform:environment: prod\n",
        "encryptionsalt: v1:x\n",
        "config:\n\ttrainform:experiment: a\n",
        "config: {trainform:experiment: a}\n",
    ],
)
def test_a_file_that_nobody_can_change_so(text: str) -> None:
    with pytest.raises(TrainformError, match="cannot be changed") as raised:
        insert_release(text, NAME, PATH, NO_PROJECT)
    assert f'write `trainform:release: "{NAME}"`' in raised.value.fix


def test_the_program_reads_what_is_written(tmp_path: Path) -> None:
    project(tmp_path)
    path = tmp_path / "stacks" / "Pulumi.sdxl-lora.prod.yaml"
    path.chmod(0o640)
    name = follow(release(), "sdxl-lora.prod", tmp_path)
    assert pinned_release("sdxl-lora.prod", tmp_path) == load_stack("sdxl-lora.prod", tmp_path).release == name
    assert path.stat().st_mode & 0o777 == 0o640
    before = path.stat().st_ino
    follow(release(), "sdxl-lora.prod", tmp_path)
    assert path.stat().st_ino == before, "a file that is right is not written"


def test_of_two_that_write_at_the_same_moment_one_is_refused(tmp_path: Path) -> None:
    """Each has seen that the stack follows its file."""
    names = [f"2026-11-24T08:00:0{number}Z" for number in range(8)]
    made = [release(PROMOTED.model_copy(update={"at": at})) for at in names]

    def write(each: Release) -> str:
        begin.wait()
        try:
            return follow(each, "sdxl-lora.prod", root)
        except TrainformError as error:
            return error.message

    for attempt in range(5):
        root = tmp_path / str(attempt)
        project(root)
        begin = threading.Barrier(len(made))
        with ThreadPoolExecutor(len(made)) as threads:
            told = [*threads.map(write, made)]
        (won,) = [each for each in told if each in {one.name for one in made}]
        assert (pinned_release("sdxl-lora.prod", root), [*releases_of("sdxl-lora", root)]) == (won, [won])
        assert sum("and no longer the experiment's file" in each for each in told) == len(made) - 1


def test_a_stack_that_cannot_be_written_says_that_the_release_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk may be full, or the file one that nobody can replace."""
    project(tmp_path)
    before = (tmp_path / "stacks" / "Pulumi.sdxl-lora.prod.yaml").read_text()

    def full(self: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", full)
        with pytest.raises(TrainformError) as raised:
            follow(release(), "sdxl-lora.prod", tmp_path)
    assert raised.value.lines() == [
        (
            "stacks/Pulumi.sdxl-lora.prod.yaml cannot be written: no space left on device; its release is written, and "
            "no stack names it yet"
        ),
        "  fix: make room, or correct the permissions, and run the same command again",
    ]
    assert (tmp_path / "stacks" / "Pulumi.sdxl-lora.prod.yaml").read_text() == before
    assert follow(release(), "sdxl-lora.prod", tmp_path) == release().name


def test_several_stacks_follow_their_releases_or_none_does(tmp_path: Path) -> None:
    project(tmp_path)
    other = tmp_path / "stacks" / "Pulumi.bert.prod.yaml"
    other.write_text("config:\n  trainform:environment: prod\n")
    bert = release(name="bert")
    releases = {"sdxl-lora.prod": release(), "bert.prod": bert}
    with pytest.raises(TrainformError, match=r"Pulumi\.bert\.prod\.yaml cannot be changed"):
        follow_all(releases, tmp_path)
    assert pinned_release("sdxl-lora.prod", tmp_path) is None
    assert not (tmp_path / "stacks" / "releases").exists()
    other.write_text("config:\n  trainform:experiment: bert\n  trainform:environment: prod\n")
    follow_all(releases, tmp_path)
    assert {name: pinned_release(name, tmp_path) for name in releases} == {
        name: each.name for name, each in releases.items()
    }


OTHER = "0123456789abcdef0123"
DECLARED = [
    f'release: {{default: "{OTHER}"}}',
    f'trainform:release: {{value: "{OTHER}"}}',
    f'trainform:release: "{OTHER}"',
]


@pytest.mark.parametrize("own", [f'  release: "{OTHER}" # ours', f'  trainform:release: "{OTHER}" # ours', ""])
@pytest.mark.parametrize("declared", DECLARED)
def test_what_a_stack_follows_has_one_answer(own: str, declared: str, tmp_path: Path) -> None:
    """In a project of the name trainform the keys of a stack need no namespace, and any project may have a value for
    all of its stacks."""
    project(tmp_path)
    ours = own.startswith("  release") or declared.startswith("release")
    name = "trainform" if ours else "vision"
    (tmp_path / "Pulumi.yaml").write_text(f"name: {name}\nruntime: python\nconfig:\n  {declared}\n")
    path = tmp_path / "stacks" / "Pulumi.sdxl-lora.prod.yaml"
    path.write_text(f"config:\n  trainform:experiment: sdxl-lora\n{own}\n  trainform:environment: prod\n")
    assert load_stack("sdxl-lora.prod", tmp_path).release == pinned_release("sdxl-lora.prod", tmp_path) == OTHER
    made = release(PROMOTED.model_copy(update={"replaces": OTHER}))
    assert follow(made, "sdxl-lora.prod", tmp_path) == made.name
    assert load_stack("sdxl-lora.prod", tmp_path).release == pinned_release("sdxl-lora.prod", tmp_path) == made.name
    assert [line for line in path.read_text().splitlines() if "release" in line] == [
        own.replace(OTHER, made.name) if own else f'  trainform:release: "{made.name}"'
    ]


def test_what_was_set_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    """Two people promote at once, or one rolls the stack back while the other is asked."""
    before = project(tmp_path, release())
    second, late = (
        release(PROMOTED.model_copy(update={"at": at, "replaces": before}))
        for at in ("2026-11-24T08:00:00Z", "2026-11-24T08:00:01Z")
    )
    assert follow(second, "sdxl-lora.prod", tmp_path) == follow(second, "sdxl-lora.prod", tmp_path)
    with pytest.raises(TrainformError, match=f"follows release {second.name} by now, and no longer release {before}"):
        follow(late, "sdxl-lora.prod", tmp_path)
    assert pinned_release("sdxl-lora.prod", tmp_path) == second.name
    assert late.name not in releases_of("sdxl-lora", tmp_path)
