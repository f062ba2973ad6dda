"""`trainform demo`, which is what `make demo` runs after the set-up, and what may come between it and `make test` in
one clone."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.live import until
from tests.engine.project import SSH_SECRET, Project, Ran, run
from tests.support.repository import committed_copy, copy_stacks
from trainform.local.sandbox.folder import FOLDER_VARIABLE
from trainform.local.toolchain.ensure import environment
from trainform.local.toolchain.tools import Toolchain

pytestmark = pytest.mark.proof("several demos one after the other, each with a sandbox of its own")

TRAINFORM = (sys.executable, "-m", "trainform")
IN_SANDBOX = 'set -e; eval "$(trainform sandbox env)"'
SALT = "encryptionsalt"
USERS_STACK = "stacks/Pulumi.resnet.dev.yaml"
EXPERIMENT = "stacks/experiments/sdxl-lora.yaml"


class Clone:
    """A clone of the repository, and a user's shell in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.copy = folder / ".trainform" / "sandbox-demo"
        foreign = ("PULUMI_", "KUBECONFIG", FOLDER_VARIABLE)
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        self.environ["PATH"] = f"{Path(sys.prefix) / 'bin'}:{os.environ['PATH']}"
        committed_copy(folder)
        (folder / ".venv").symlink_to(sys.prefix)  # as `make venv` makes it, but for the kind
        self.shell("echo .venv >> .git/info/exclude")

    def shell(self, script: str) -> str:
        """Return what a script prints that must succeed."""
        return self.run("bash", "-c", script).succeeded()

    def run(self, *words: str) -> Ran:
        """Run a command in the clone."""
        return run(words, self.folder, self.environ)

    def demo(self) -> str:
        """`make demo` after its set-up."""
        return self.run(*TRAINFORM, "demo").succeeded()

    def changed(self) -> str:
        """Return what git sees."""
        return self.shell("git status --porcelain")


@pytest.fixture
def clone(tmp_path: Path, toolchain: Toolchain) -> Iterator[Clone]:
    """Yield a clone, whose sandbox ends with the test."""
    clone = Clone(tmp_path / "clone")
    yield clone
    clone.run(*TRAINFORM, "sandbox", "down", "--purge").succeeded()


def pasted(clone: Clone, demo: str) -> str:
    """Return what the commands print that the demo offers at its end, typed into a new shell elsewhere."""
    _, _, text = demo.partition("Now try it yourself")
    lines = [line.strip() for line in text.splitlines()]
    first = [line for line in lines if line.startswith(("cd ", "source "))]
    parts = [part for line in lines for part in re.split(r" {2,}", line)]
    commands = [part for part in parts if re.match(r"(trainform|pulumi) ", part)]
    assert len(commands) == 6, commands
    asked = [re.sub(r"^pulumi (up|destroy)", r"pulumi \1 --yes", command) for command in commands]
    return run(["bash", "-c", "\n".join(["set -e", *first, *asked])], clone.folder.parent, clone.environ).succeeded()


def interrupted_demo(clone: Clone, log: Path) -> str:
    """Return what a demo prints that is interrupted in the middle of the experiment's `up`."""
    with log.open("w") as output:
        demo = subprocess.Popen(
            [*TRAINFORM, "demo"],
            cwd=clone.folder,
            env=clone.environ,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    until(lambda: "sdxl-lora-service creat" in log.read_text().partition("$ pulumi up -s sdxl-lora.dev")[2], "up", 400)
    os.killpg(demo.pid, signal.SIGINT)  # as a terminal does: to all of the foreground
    assert demo.wait(timeout=180) == 130
    return log.read_text()


def test_the_demo_changes_nothing_in_the_clone_whatever_comes_before_it(
    clone: Clone, tmp_path: Path, toolchain: Toolchain
) -> None:
    """Begin with a demo that is interrupted; test_pasted_documents has one that is not."""
    interrupted = interrupted_demo(clone, tmp_path / "demo.log")
    assert "+ 12 to create" in interrupted
    assert "interrupted; run the same command again to continue" in interrupted
    assert "Traceback" not in interrupted
    first = clone.demo()
    assert first.count("Running") == 4
    assert {"a800-0", "a800-1", "a800-2", "a800-3", "a800-4", "a800-5", "a800-6", "a800-7"} & set(first.split())
    assert clone.changed() == ""
    assert SALT in (clone.copy / "stacks" / "Pulumi.sdxl-lora.dev.yaml").read_text()

    edited = clone.copy / EXPERIMENT
    edited.write_text(edited.read_text().replace("pytorch-training", "own-training"))
    answers = pasted(clone, first)
    assert re.search(r'image *: ".*pytorch-training.*" => ".*own-training', answers)
    assert "sandbox down: " in answers
    assert "its logs and the passphrase of its stacks stay" in answers
    assert f"the demo's copy of the project stays: {clone.copy}" in answers

    again = clone.demo()
    assert f"the demo uses {EXPERIMENT} of {clone.copy}, which differ" in again
    assert again.count("Running") == 4
    assert "own-training" in edited.read_text()
    assert clone.changed() == ""

    a_users_own_up(clone)
    assert clone.changed() == f" M {USERS_STACK}\n", "which pulumi changed that the user called"
    stacks_can_be_copied(clone, tmp_path, toolchain)

    clone.run(*TRAINFORM, "sandbox", "down", "--purge").succeeded()
    clone.run(*TRAINFORM, "sandbox", "up", "-e", "dev").succeeded()
    the_way_out_of_an_incorrect_passphrase(clone)


def a_users_own_up(clone: Clone) -> None:
    """Of a teaching stack, in the clone itself."""
    clone.shell(
        f"{IN_SANDBOX}; pulumi stack init resnet.dev; pulumi config set --secret trainform:sshSecret '{SSH_SECRET}' -s "
        "resnet.dev; pulumi up -s resnet.dev --yes --skip-preview --non-interactive"
    )
    assert SALT in (clone.folder / USERS_STACK).read_text()


def stacks_can_be_copied(clone: Clone, tmp_path: Path, toolchain: Toolchain) -> None:
    """What the tests of this folder begin with; it failed where a stack's file brought its salt."""
    project = Project(tmp_path / "project", environment(toolchain.pulumi), "ai-namespace")
    copy_stacks(project.folder / "stacks", repository=clone.folder)
    for stack in ("dev", "sdxl-lora.dev", "resnet.dev"):
        project.pulumi("stack", "init", stack).succeeded()


def the_way_out_of_an_incorrect_passphrase(clone: Clone) -> None:
    """After `sandbox down --purge` the salt in the clone belongs to a passphrase that no longer exists."""
    init = ("bash", "-c", f"{IN_SANDBOX}; pulumi stack init resnet.dev --non-interactive")
    assert "incorrect passphrase" in clone.run(*init).failed()
    clone.shell(f"sed -i.old /^{SALT}:/d {USERS_STACK}")
    clone.run(*init).succeeded()
    clone.shell(f"{IN_SANDBOX}; pulumi config set --secret trainform:sshSecret '{SSH_SECRET}' -s resnet.dev")
    assert clone.shell(f"{IN_SANDBOX}; pulumi config get trainform:sshSecret -s resnet.dev") == f"{SSH_SECRET}\n"


def test_the_demo_outside_a_clone_says_so(tmp_path: Path) -> None:
    output = run([*TRAINFORM, "demo"], tmp_path, os.environ).failed()
    assert "there is no experiment sdxl-lora here" in output
    assert "or run `trainform init` in an empty folder" in output
