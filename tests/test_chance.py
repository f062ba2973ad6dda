"""The same examples in every run: what a process has imported does not change them."""

from __future__ import annotations

import subprocess
import sys

from tests.support.repository import ROOT

DRAW = """
import {modules}
from hypothesis import given, settings
from tests import conftest
from tests.support.generators import experiments

@settings(max_examples=30)
@given(experiments())
def draw(data):
    print(data)

draw()
"""


def drawn(modules: str) -> str:
    code = DRAW.format(modules=modules)
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, check=True).stdout


def test_imported_modules_change_no_example() -> None:
    examples = drawn("trainform.spec.names")
    assert len(examples.splitlines()) > 20
    assert drawn("trainform.render, trainform.drift, trainform.policy_pack") == examples
