"""The public names."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys

import pytest

import trainform
from tests.conftest import ROOT
from tests.test_layers import LIBRARY, trees


def test_public_names_are_sorted_and_few() -> None:
    assert trainform.__all__ == sorted(set(trainform.__all__))
    assert len(trainform.__all__) < 25


@pytest.mark.parametrize("name", trainform.__all__)
def test_each_public_name_can_be_imported(name: str) -> None:
    found = getattr(trainform, name)
    assert found.__doc__, "a public name says what it is"


def test_the_documents_name_what_is_public_and_programs_import_nothing_else() -> None:
    page = (ROOT / "docs" / "reference" / "components.md").read_text()
    components = re.findall(r"^## (\w+)$", page, re.MULTILINE)
    others = re.findall(r"`(\w+)`", page.partition("## Other names\n")[2].partition("\n## ")[0])
    assert sorted(components + others) == trainform.__all__
    texts = "\n".join(path.read_text() for path in (ROOT / "docs").rglob("*.md"))
    imports = re.findall(r"^from (trainform\S*) import (.+)$", texts, re.MULTILINE)
    names = {name.strip() for module, listed in imports for name in listed.split(",")}
    assert {module for module, _ in imports} == {"trainform"}, "a program imports from no room"
    assert names <= {*trainform.__all__}


def test_a_room_imports_from_another_one_what_that_offers() -> None:
    """`__all__` of a room lists the modules and folders that other rooms use; all else is its own."""
    rooms = {path.parent.name for path in LIBRARY.glob("*/__init__.py")}
    used: dict[str, set[str]] = {room: set() for room in rooms}
    for path, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Import | ast.ImportFrom):
                before = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
                for words in (f"{before}{alias.name}".split(".") for alias in node.names):
                    if words[0] == "trainform" and words[1:2] != [path.parts[0]] and words[1] in rooms:
                        used[words[1]].add(words[2])
    offered = {room: importlib.import_module(f"trainform.{room}").__all__ for room in rooms}
    assert offered == {room: sorted(names) for room, names in used.items()}


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="'trainform' has no attribute 'TrainingJobs'"):
        _ = trainform.TrainingJobs


def test_models_and_plans_work_without_pulumi() -> None:
    script = (
        "import sys, trainform\nassert 'pydantic' not in sys.modules, 'errors alone need no models'\n"
        "trainform.Experiment, trainform.Environment, trainform.check_experiment, trainform.render_job, "
        "trainform.Plan\nassert not {'pulumi', 'lightkube'} & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
