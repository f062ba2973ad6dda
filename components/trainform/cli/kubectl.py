"""kubectl on one pod of a job, for `exec` and `port-forward`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Annotated

from trainform import defaults
from trainform.cli.arguments import argument, option
from trainform.cli.jobs import target_of
from trainform.console.lines import flush_or_discard
from trainform.errors import CommandLineError, ToolchainError

SECONDS = 2.0 * defaults.CONNECT_SECONDS
POD = "ROLE[/INDEX]"
PodArgument = Annotated[str | None, argument(POD, "The pod; ROLE alone if it has one pod.")]
RankOption = Annotated[int | None, option("N", "The pod with this rank.", "--rank", min=0)]


def run_on_pod(
    word: str, environment: str | None, pod: str | None, rank: int | None, words: Callable[[str, str], list[str]]
) -> None:
    """Replace this process by kubectl. words: its arguments, for the names of the pod and its main container."""
    from trainform.running.pods import containers_of, only_pod
    from trainform.running.read import read, require_pods

    program = shutil.which("kubectl")
    if program is None:
        raise ToolchainError("kubectl is not on PATH", "install it: https://kubernetes.io/docs/tasks/tools")
    if pod is None and rank is None:
        raise CommandLineError(f"Missing argument '{POD}'", "name a pod, or its rank with --rank")
    snapshot = read(target_of(word, environment), SECONDS)
    require_pods(snapshot)
    body = only_pod(snapshot, pod, rank)
    context = snapshot.target.environment.cluster.context
    place = [*([] if context is None else ["--context", context]), "-n", snapshot.target.namespace]
    flush_or_discard()
    os.execv(program, [program, *place, *words(body["metadata"]["name"], containers_of(body)[0])])  # noqa: S606
