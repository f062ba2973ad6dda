"""Addresses of repositories: none is an option or a program, and a repository is on a server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plan.launch.repositories import Repository, Volume


@pytest.mark.parametrize("end", ["\n", " ", "\t", "\r"])
def test_an_address_that_ends_with_a_line_break(end: str, shell: Path, volume: Volume) -> None:
    """As the value of a Secret that was made with `echo`."""
    volume.shell = shell
    done = volume.run(f"https://git.example.com/sdxl.git{end}", "0" * 40)
    reason = "the address of the repository holds a space or a line break; does the value of a Secret end with one?"
    assert (done.returncode, done.stderr) == (1, f"trainform: {reason}\n")


# What a program on the way could take for an option, a command or a program of its own; `made` is the file of one that
# ran.
HOSTILE = [
    "--upload-pack=>made;",
    "--upload-pack=touch${IFS}made;",
    "-ftouch",
    "--help",
    "-",
    "ext::touch made",
    "ext::sh -c >made",
    "fd::1",
    "ssh://-oProxyCommand=touch${IFS}made/sdxl.git",
    "ssh://git@-oProxyCommand=touch${IFS}made/sdxl.git",
    "-oProxyCommand=touch${IFS}made:sdxl.git",
    "git@127.0.0.1:-oProxyCommand=touch${IFS}made",
    "$(touch${IFS}made)",
    "`touch${IFS}made`",
    ";>made;",
    "git://127.0.0.1:1/$(touch${IFS}made)",
    "git://127.0.0.1:1/';>made;'",
    "git://127.0.0.1:1/\n>made",
    "",
]


@pytest.mark.parametrize("hostile", HOSTILE)
def test_an_address_is_no_option_and_no_program(hostile: str, shell: Path, volume: Volume, tmp_path: Path) -> None:
    """Whatever a variable in the place of the address holds, and whatever the image's git allows."""
    volume.shell = shell
    anything = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "protocol.allow", "GIT_CONFIG_VALUE_0": "always"}
    done = volume.run(hostile, "0" * 40, **anything)
    assert not list(tmp_path.rglob("made"))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("trainform: ")
    assert "usage" not in done.stderr


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_a_repository_is_on_a_server(scheme: str, repository: Repository, volume: Volume) -> None:
    done = volume.run(f"{scheme}{repository.path}", repository.first)
    assert (done.returncode, done.stdout) == (1, "")
    assert "fatal: transport 'file' not allowed" in done.stderr
    allowed = volume.run(f"{scheme}{repository.path}", repository.first, GIT_ALLOW_PROTOCOL="file")
    assert (allowed.returncode, allowed.stderr) == (0, ""), "what the user says in git's own words holds"
