"""Addresses of repositories: what could be an option, a program, a local folder or several lines is refused; the real
git gets the rest."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.plan.launch.repositories import Volume
from tests.support.samples import JOB
from trainform.spec.experiment import Experiment
from trainform.spec.load import parse
from trainform.spec.names import REPOSITORY, matches

ACCEPTED = [
    "https://git.example.com/ai/resnet.git", "http://git.example.com:8080/a", "https://trainer@git.example.com/a",
    "https://trainer:$(TOKEN)@git.example.com/a",
    "https://[2001:db8::1]:8443/a", "ssh://git@git.example.com:2222/a/b.git", "git://git.example.com/a",
    "git@git.example.com:a/b.git", "$(REPOSITORY)",
    "git@git.example.com:/srv/sdxl.git", "ssh://git@[2001:db8::1]:22/a", "https://bücher.example/a", "https://git_1/a",
    "https://$(USER):$(TOKEN)@$(HOST):$(PORT)/a", "$(BASE)/a.git", "https://$(HOST)/a",
    "https://git.example.com/a%20b", "https://git.example.com/~ada/a@v1",
]  # fmt: skip
REFUSED = [
    "", "-", "--upload-pack=touch", "-oProxyCommand=touch", "-oProxyCommand=touch:a", "ext::sh -c touch", "ext::touch",
    "fd::1", "file:///mnt/a", "file://host/a",
    "file:a", "/mnt/a", "./a", "../a", "a", "~/a", "C:\\a", "C:/a", "ftp://h/a", "sftp://h/a", "rsync://h/a",
    "svn://h/a", "HTTPS://h/a", "transport::https://h/a",
    "ssh://-oProxyCommand=touch/a", "ssh://git@-oProxyCommand=touch/a", "git@-oProxyCommand=touch:a",
    "git@host:-oProxyCommand=touch", "-a@host:b",
    "ssh://git:hunter2@h/a", "git://u:p@h/a", "https://h", "https:///a", "https:h/a", "https//h/a", "//h/a",
    "https://h/a b", "https://h/a\n", "https://h/a\nb",
    "https://h/a\r", "https://h/a\x00", "https://h/a\x1b[2J", "https://h/a\x7f", "https://h/a\u2028b", "https://h/\ta",
    "git.example.com/a", "git.example.com:a", "https://git.example.com:x/a", "https://a:b/c@host/a", "$(A;B)",
    "https://a:b@c@host/a", "https://host/a\x9b", "$()", "https://$(>made)/a", "git+ssh://git@host/a", "ssh://`a`/b",
    " https://h/a", "https://h /a", "$(A",
    "$(A)\n", "$(A) -o", "${A}", "`touch`", ";touch", "git@host:a b", "git@host:\na", "https://u\n:p@h/a",
    "https://u:p\r@h/a", "https://h:99999999/a",
]  # fmt: skip


def problems(repository: str) -> list[str]:
    git = {"repository": repository, "commit": "0" * 40, "path": "/code"}
    return [problem.path for problem in parse(Experiment, {**JOB, "prepare": [{"name": "a", "git": git}]}).problems]


@pytest.mark.parametrize("repository", ACCEPTED)
def test_addresses_of_servers(repository: str) -> None:
    assert problems(repository) == []


@pytest.mark.parametrize("repository", REFUSED)
def test_what_is_refused(repository: str) -> None:
    assert problems(repository) == ["prepare[0].git.repository"]


# In the place of ssh: it writes down its words, one per line, and no program starts.
SSH = '#!/bin/sh\nprintf "%s\\n" "$@" >>{asked}\nexit 1\n'
FRAGMENTS = [
    "ssh://", "git@", "git://", "127.0.0.1", ":", ":1", "/", "a", "-", "--", "-oProxyCommand=", ">made", "$(", ")",
    "touch${IFS}made", "`>made`", ";>made;", "'", '"',
    "\\", "@", "::", "ext::", "%", "~", "?", "#", "[", "]", "{a,b}", "*", "|", "&", "日本",
]  # fmt: skip
ADDRESSES = st.lists(st.sampled_from(FRAGMENTS), min_size=1, max_size=6).map("".join)
SERVERS = st.tuples(st.sampled_from(["ssh://127.0.0.1/", "git@127.0.0.1:", "ssh://git@127.0.0.1:1/"]),
    ADDRESSES).map("".join)  # fmt: skip


@given(repository=ADDRESSES | SERVERS)
def test_git_takes_no_accepted_address_for_an_option_or_a_program(
    repository: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if not matches(REPOSITORY, repository):
        return
    folder = tmp_path_factory.mktemp("pod")
    (folder / "code").mkdir()
    (folder / "bin").mkdir()
    ssh, asked = folder / "bin" / "ssh", folder / "asked"
    ssh.write_text(SSH.format(asked=asked))
    ssh.chmod(0o755)
    variables = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "GIT_TERMINAL_PROMPT": "0"}
    done = Volume(folder / "code", folder).run(repository, "0" * 40, **variables)
    assert done.returncode == 1
    assert not list(folder.rglob("made"))
    assert "usage" not in done.stderr
    words = asked.read_text().splitlines() if asked.exists() else []
    assert not [word for word in words if word.startswith("-oProxy")]
