"""`trainform exec`, and kubectl on one pod of a job."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Annotated

from trainform.cli.arguments import StackEnvironmentOption, StackJobArgument, argument
from trainform.cli.jobs import target_of
from trainform.console.lines import flush_or_discard, stdin_is_terminal
from trainform.errors import ClusterError, CommandLineError, ToolchainError

OnePodArgument = Annotated[str, argument("ROLE[/INDEX]", "The pod; ROLE alone if it has one pod.")]
CommandArgument = Annotated[list[str] | None, argument("COMMAND", "After `--`. Default: sh.")]


def command(
    word: StackJobArgument, pod: OnePodArgument, run: CommandArgument = None, environment: StackEnvironmentOption = None
) -> None:
    """Run a command in a pod of a job.

    It runs `kubectl exec` in the main container, with the context and the namespace of the environment; on a terminal
    with `-it`. The exit code is that of the command.

    Example: trainform exec resnet.dev worker/0 -- nvidia-smi
    """
    how, words = "-it" if stdin_is_terminal() else "-i", run or ["sh"]
    run_on_pod(word, environment, pod, lambda name, container: ["exec", how, name, "-c", container, "--", *words])


def run_on_pod(word: str, environment: str | None, pod: str, words: Callable[[str, str], list[str]]) -> None:
    """Replace this process by kubectl. words: its arguments, for the names of the pod and its main container."""
    from trainform.running.pods import chosen, containers_of, first_ranks, known_places, place_of
    from trainform.running.read import read, refuse_simulated, require_pods

    program = shutil.which("kubectl")
    if program is None:
        raise ToolchainError("kubectl is not on PATH", "install it: https://kubernetes.io/docs/tasks/tools")
    snapshot = read(target_of(word, environment))
    require_pods(snapshot)
    ranks, places = first_ranks(snapshot.record), chosen(pod, None, known_places(snapshot))
    if len(places) > 1:
        raise CommandLineError(f"{pod} has {len(places)} pods", f"name one of them: {places[0].name}")
    bodies = [body for body in snapshot.pods if place_of(body, ranks) in places]
    if not bodies:
        raise ClusterError(f"the pod {pod} does not exist", "`trainform status` shows why")
    body = max(bodies, key=lambda body: str(body["metadata"].get("creationTimestamp")))
    refuse_simulated(snapshot.target, str(body["spec"].get("nodeName", "")))
    context = snapshot.target.environment.cluster.context
    place = [*([] if context is None else ["--context", context]), "-n", snapshot.target.namespace]
    flush_or_discard()
    os.execv(program, [program, *place, *words(body["metadata"]["name"], containers_of(body)[0])])  # noqa: S606
