"""The config of a stack as Pulumi gives it to a program: the table that a STACK of a command is held to."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.engine.project import run
from tests.support.stack_configs import CASES, RUNS, Case
from trainform.local.toolchain.ensure import environment
from trainform.local.toolchain.tools import Toolchain

pytestmark = pytest.mark.proof("`trainform check STACK` reads what `pulumi up` reads")

HEAD = f"runtime: {{name: python, options: {{toolchain: pip, virtualenv: {json.dumps(sys.prefix)}}}}}\n"
KEYS = ("experiment", "environment", "run", "suspend")
PROGRAM = """\
import json
import os

import pulumi

config = pulumi.Config("trainform")
with open(os.environ["FOUND"], "w") as file:
    json.dump({key: config.get(key) for key in os.environ["KEYS"].split()}, file)
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

    def given(case: Case, config: str, keys: Sequence[str]) -> dict[str, str | None] | None:
        """Return what the program reads, or None where Pulumi fails."""
        (tmp_path / "Pulumi.yaml").write_text(case.project_file(HEAD))
        stack.write_text(salts[case.name] + config)
        found.unlink(missing_ok=True)
        words = ["pulumi", "preview", "-s", "s", "--non-interactive"]
        failed = run(words, tmp_path, environ | {"KEYS": " ".join(keys)}).code != 0
        return None if failed else dict(json.loads(found.read_text()))

    salts: dict[str, str] = {}
    for name in {case.name for case in CASES}:
        (tmp_path / "Pulumi.yaml").write_text(f"name: {name}\n{HEAD}main: stacks\nstackConfigDir: stacks\n")
        stack.unlink(missing_ok=True)
        run(["pulumi", "stack", "init", "s", "--non-interactive"], tmp_path, environ).succeeded()
        salts[name] = stack.read_text()
    # values of `run`: all that Pulumi accepts, each under a key of its own, in one preview
    values = {f"run{number}": case for number, case in enumerate(RUNS) if case.pulumi is not None}
    lines = [case.stack[0].replace(":run:", f":{key}:") for key, case in values.items()]
    assert given(RUNS[0], "config:\n" + "".join(f"  {line}\n" for line in lines), [*values]) == {
        key: case.expected["run"] for key, case in values.items()
    }
    for case in CASES:
        if case not in values.values():
            expected = None if case.pulumi is None else case.expected
            assert given(case, case.stack_config(), KEYS) == expected, case
