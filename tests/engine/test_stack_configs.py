"""What Pulumi itself gives a program of a stack's config: the table that a STACK of a command is held to."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.engine.project import run
from tests.support.stack_configs import CASES
from trainform.local.toolchain.ensure import environment
from trainform.local.toolchain.tools import Toolchain

pytestmark = pytest.mark.proof("`trainform check STACK` reads what `pulumi up` reads")

HEAD = f"runtime: {{name: python, options: {{toolchain: pip, virtualenv: {json.dumps(sys.prefix)}}}}}\n"
PROGRAM = """\
import json
import os

import pulumi

config = pulumi.Config("trainform")
with open(os.environ["FOUND"], "w") as file:
    json.dump({key: config.get(key) for key in ("experiment", "environment", "run")}, file)
"""


def test_pulumi_gives_the_program_what_the_table_says(tmp_path: Path, toolchain: Toolchain) -> None:
    """One test, so that a stack of each project is made once."""
    found, stack = tmp_path / "found.json", tmp_path / "stacks" / "Pulumi.s.yaml"
    (tmp_path / "state").mkdir()
    stack.parent.mkdir()
    (stack.parent / "__main__.py").write_text(PROGRAM)
    environ = {
        **os.environ,
        **environment(toolchain.pulumi),
        "PULUMI_BACKEND_URL": f"file://{tmp_path / 'state'}",
        "PULUMI_CONFIG_PASSPHRASE": "correct horse battery staple",
        "FOUND": str(found),
    }
    environ.pop("PULUMI_CONFIG_PASSPHRASE_FILE", None)
    salts: dict[str, str] = {}
    for case in CASES:
        (tmp_path / "Pulumi.yaml").write_text(f"name: {case.name}\n{HEAD}main: stacks\nstackConfigDir: stacks\n")
        if case.name not in salts:
            stack.unlink(missing_ok=True)
            run(["pulumi", "stack", "init", "s", "--non-interactive"], tmp_path, environ).succeeded()
            salts[case.name] = stack.read_text()
        (tmp_path / "Pulumi.yaml").write_text(case.project_file(HEAD))
        stack.write_text(salts[case.name] + case.stack_config())
        found.unlink(missing_ok=True)
        ran = run(["pulumi", "preview", "-s", "s", "--non-interactive"], tmp_path, environ)
        if case.pulumi is None:
            assert ran.code != 0, case
        else:
            ran.succeeded()
            assert json.loads(found.read_text()) == case.expected, case
