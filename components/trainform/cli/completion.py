"""`trainform completion`, and the candidates for the shells that use its scripts."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Annotated, Any, Literal

import typer
from typer._completion_classes import completion_init
from typer._completion_shared import get_completion_script

from trainform.console.lines import echo

PROGRAM = "trainform"
VARIABLE = "_TRAINFORM_COMPLETE"


def command(
    shell: Annotated[
        Literal["bash", "zsh", "fish"], typer.Argument(metavar="bash|zsh|fish", help="Shell of the script.")
    ],
) -> None:
    """Print the script that completes commands in a shell.

    With it the Tab key completes verbs, options, experiments, environments and stacks.

    bash, in ~/.bashrc: eval "$(trainform completion bash)"

    zsh, in ~/.zshrc after compinit: eval "$(trainform completion zsh)"

    fish, in ~/.config/fish/config.fish: trainform completion fish | source
    """
    echo(*get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell).strip().split("\n"))


def complete(build_app: Callable[[list[str]], Any]) -> int:
    """Print the candidates for the word at the cursor, and return the exit code. Errors are silent, since a user is
    typing."""
    completion_init()
    try:
        words = os.environ.get("COMP_WORDS", os.environ.get("_TYPER_COMPLETE_ARGS", "")).split()
        build_app(words[1:])(args=[], prog_name=PROGRAM, complete_var=VARIABLE)
    except (OSError, ValueError, KeyError):
        return 1
    return 0
