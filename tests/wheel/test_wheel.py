"""trainform without this repository: the wheel, installed elsewhere, and what `trainform init` makes there."""

from __future__ import annotations

import os
import subprocess
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support.repository import ROOT
from tests.wheel.conftest import UV, Installed, registry
from trainform.local.toolchain.cache import toolchain_folder
from trainform.local.toolchain.parts import PLUGIN_VERSION
from trainform.local.toolchain.tools import Toolchain

SOURCE = "components/"


def commands(printed: str) -> list[str]:
    """Return what `trainform init` says to type next, in order."""
    return [line.strip() for line in printed.partition("next:\n")[2].splitlines() if line.startswith("  ")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return an empty folder, with a name that is no name of a project."""
    folder = tmp_path / "my vision"
    folder.mkdir()
    return folder


def test_every_file_of_the_package_is_in_it(installed: Installed) -> None:
    """Pins, stages and sources in Go are data; what .gitignore names would be left out silently."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "components/trainform"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    tracked = {name.removeprefix(SOURCE) for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()}
    with zipfile.ZipFile(installed.wheel) as wheel:
        held = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert "trainform/local/toolchain/pins/controlplane/go.sum" in tracked
    assert tracked <= held
    assert {name.partition("/")[0] for name in held} == {"trainform"}


def test_a_project_in_an_empty_folder(installed: Installed, folder: Path) -> None:
    printed = installed.shell(
        "trainform --version; trainform init; trainform check hello -e dev; trainform plan hello -e dev", folder
    ).succeeded()
    assert printed.startswith(f"trainform {version('trainform')}\n")
    assert "hello: ok, 2 pods, 0 accelerators, revision " in printed
    assert "name: my-vision\n" in (folder / "Pulumi.yaml").read_text()
    assert str(ROOT) not in printed


def test_the_tool_chain_is_the_same(installed: Installed, folder: Path) -> None:
    """Its folder is named by the hash of the pins: the same hash, the same pins."""
    program = "from trainform.local.toolchain.cache import toolchain_folder; print(toolchain_folder())"
    assert str(toolchain_folder()) in installed.shell(f"python -c '{program}'", folder).output


@pytest.mark.proof("a sandbox of its own, by the commands that `trainform init` prints")
def test_what_init_says_to_type_next(installed_by_a_user: Installed, folder: Path, toolchain: Toolchain) -> None:
    """Pasted at once into a shell that stops at the first failure. The newest provider is installed; the sandbox has
    another one."""
    installed = installed_by_a_user
    printed = installed.shell("trainform init", folder).succeeded()
    typed = commands(printed)
    newest = installed.shell("pip show pulumi-kubernetes", folder).succeeded()
    assert f"Version: {PLUGIN_VERSION}\n" not in newest, "pip would take what the sandbox has: nothing is shown here"
    assert [part.split(" -s ")[0] for line in typed for part in line.removesuffix(" &&").split(" && ")] == [
        "python3 -m pip install -r requirements.txt",
        "trainform check hello -e dev",
        "trainform plan hello -e dev",
        "trainform sandbox up -e dev",
        'eval "$(trainform sandbox env)"',
        "pulumi stack select --create dev",
        "pulumi up",
        "pulumi stack select --create hello.dev",
        "pulumi up",
        "trainform review hello.dev",
        "pulumi destroy",
        "pulumi destroy",
        "trainform sandbox down",
    ]
    try:
        answers = installed.shell("\n".join(typed), folder).succeeded()
    finally:
        installed.shell("trainform sandbox down --purge", folder).succeeded()
    for result in ("+  kubernetes:batch.volcano.sh/v1alpha1:Job hello-job created", "- 9 deleted", "sandbox down: "):
        assert result in answers, answers


@pytest.mark.proof("the policy pack's SDK, with packages from the registry")
def test_the_policy_pack_after_its_line_is_taken_in(installed_by_a_user: Installed, folder: Path) -> None:
    """The engine starts the pack so, and waits for the port that it prints. Nothing else is needed than the line that
    `init` has written."""
    installed = installed_by_a_user
    installed.shell("trainform init", folder).succeeded()
    pack = "TRAINFORM_ENVIRONMENT=dev timeout 15 python3 policy 127.0.0.1:1 | head -1"
    assert "fix: install `trainform[policy]` there" in installed.shell(f"{pack} 2>&1", folder).output
    installed.shell(
        f"""sed -i 's/^# trainform\\[/trainform[/' requirements.txt
        python3 -m pip install --quiet --find-links {installed.wheel.parent} -r requirements.txt""",
        folder,
    ).succeeded()
    assert installed.shell(pack, folder).succeeded().strip().isdigit()


@pytest.mark.proof("an environment of uv's own, with packages from the registry")
def test_init_by_uvx(wheel: Path, folder: Path) -> None:
    """Its environment is on PATH, and lives in a cache."""
    made = subprocess.run(
        [*UV, "tool", "run", "--quiet", "--from", str(wheel), "trainform", "init"],
        cwd=folder, env={**os.environ, **registry()}, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    assert commands(made.stdout)[:3] == [
        "python3 -m venv .venv",
        ".venv/bin/python -m pip install -r requirements.txt",
        "source .venv/bin/activate",
    ]
    assert "    virtualenv: .venv\n" in (folder / "Pulumi.yaml").read_text()
