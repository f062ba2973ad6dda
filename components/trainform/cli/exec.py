"""`trainform exec`."""

from __future__ import annotations

from typing import Annotated

from trainform.cli.arguments import StackEnvironmentOption, StackJobArgument, argument
from trainform.cli.kubectl import PodArgument, RankOption, run_on_pod
from trainform.console.lines import stdin_is_terminal
from trainform.errors import CommandLineError

CommandArgument = Annotated[list[str] | None, argument("COMMAND", "The command and its arguments, after `--`.")]


def command(
    word: StackJobArgument,
    pod: PodArgument = None,
    program: CommandArgument = None,
    environment: StackEnvironmentOption = None,
    rank: RankOption = None,
) -> None:
    """Run a command in a pod of a job.

    It runs `kubectl exec` in the main container, with the context and the namespace of the environment; on a terminal
    with `-it`. With --rank, leave out ROLE[/INDEX]. The exit code is that of the command.

    Example: trainform exec resnet.dev worker/0 -- nvidia-smi
    """
    words = [] if program is None else program
    if rank is not None and pod is not None:  # no pod is named: the first word is that of the command
        words, pod = [pod, *words], None
    if not words:
        raise CommandLineError("Missing argument 'COMMAND'", "write the command after `--`: -- sh")
    terminal = ["-it"] if stdin_is_terminal() else ["-i"]
    run_on_pod(
        word, environment, pod, rank, lambda name, container: ["exec", *terminal, name, "-c", container, "--", *words]
    )
