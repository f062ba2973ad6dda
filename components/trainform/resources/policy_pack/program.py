"""The program of `policy/__main__.py` in a project: it serves the pack if the policy SDK is installed."""

from __future__ import annotations

import gc
import sys

from trainform import defaults
from trainform.errors import CommandLineError

SDK = "pulumi_policy"


def run(program: str) -> None:
    """Serve the policies to the engine. program: the file of the pack, in the project with the environments."""
    gc.set_threshold(defaults.NEW_OBJECTS)
    try:
        from trainform.resources.policy_pack.policies import serve
    except ModuleNotFoundError as error:
        if error.name != SDK:
            raise
        missing = CommandLineError(
            f"the policy pack needs the policy SDK, which this Python lacks ({sys.executable})",
            "install `trainform[policy]` there, next to what the program of the stack needs",
        )
        sys.exit("\n".join(missing.lines()))
    serve(program)
