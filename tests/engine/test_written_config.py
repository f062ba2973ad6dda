"""What `trainform new` and `init` write, as Pulumi's own reader of YAML takes it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml

from tests.engine.project import Project
from tests.scaffold.test_yaml_text import MISTAKEN
from trainform.spec.names import is_label
from trainform.toolchain.ensure import environment
from trainform.toolchain.model import Toolchain

pytestmark = pytest.mark.proof("Pulumi's reader of stacks and projects, for names that could be numbers")

TRAINFORM = (sys.executable, "-m", "trainform")
NAMES = sorted({name for name in (*MISTAKEN, "e5", "9") if is_label(name)})


@pytest.fixture
def project(tmp_path: Path, toolchain: Toolchain) -> Project:
    """A project without a cluster."""
    project = Project(tmp_path / "project", environment(toolchain.pulumi), "training")
    project.environment()
    return project


def test_the_stacks_of_environments_with_names_like_numbers(project: Project) -> None:
    assert {"08", "1e3", "0o17", "0e0", "0x10", "no"} <= set(NAMES)
    for name in NAMES:
        project.run(*TRAINFORM, "new", "-e", name).succeeded()
        project.run(*TRAINFORM, "new", f"bert-{name}", "-e", name).succeeded()
        for stack in (name, f"bert-{name}.{name}"):
            project.pulumi("stack", "init", stack).succeeded()
            found = project.pulumi("config", "get", "trainform:environment", "-s", stack).succeeded()
            assert found.strip() == name


@pytest.mark.parametrize("folder", ["08", "1e3", "0x10"])
def test_a_project_in_a_folder_with_a_name_like_a_number(folder: str, project: Project) -> None:
    made = project.folder / folder
    made.mkdir()
    project.folder = made
    project.run(*TRAINFORM, "init").succeeded()
    project.pulumi("stack", "init", "dev").succeeded()
    listed = json.loads(project.pulumi("stack", "ls", "--project", folder, "--json").succeeded())
    assert [stack["name"] for stack in listed] == ["dev"]
    assert yaml.safe_load((made / "Pulumi.yaml").read_text())["name"] == folder
