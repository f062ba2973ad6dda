"""`trainform destroy`."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trainform import defaults
from trainform.cli import candidates
from trainform.errors import CommandLineError, InputError, Problem
from trainform.project import project_root, require_project, require_stack
from trainform.terminal.lines import flush_or_discard, note

if TYPE_CHECKING:
    from trainform.deployed.state import StateCluster

SECONDS = 2.0 * defaults.CONNECT_SECONDS
# Another stack, or another project's: alone, with a value, or in a group of short options, such as `-ys STACK`. The letters that are left out take a value.
ELSEWHERE = re.compile("--(stack|cwd)(=|$)|-[^-=cmptvx]*[sC]")

StackArgument = Annotated[
    str, typer.Argument(metavar="STACK", help="A stack of the project.", autocompletion=candidates.stacks)
]
OptionsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="OPTION", help="Options of `pulumi destroy`, after `--`: -- --yes", show_default=False),
]


def command(stack: StackArgument, options: OptionsArgument = None) -> None:
    """Delete what a stack has made, on its own cluster and on no other one.

    `pulumi destroy` runs no program and deletes on whichever cluster the kubeconfig leads to. This command compares that cluster with the
    one in the stack's state first, and then runs `pulumi destroy` in its place: its questions, its output and its exit code are Pulumi's.
    """
    from trainform.deployed.engine import exported, pulumi

    given = [] if options is None else options
    _refuse_elsewhere(given)
    root = project_root()
    require_project(root)
    require_stack(stack, root)
    program = pulumi()
    _compare(stack, exported(stack, root))
    os.chdir(root)
    flush_or_discard()
    os.execv(program, [program, "destroy", "-s", stack, *given])  # noqa: S606 - the user's pulumi


def _refuse_elsewhere(options: Sequence[str]) -> None:
    """Raise `CommandLineError` for an option by which Pulumi would take another stack than the one that is compared."""
    found = next((option for option in options if ELSEWHERE.match(option)), None)
    if found is not None:
        raise CommandLineError(
            f"{found} leads Pulumi to another stack", "name the stack before `--`, in its own project"
        )


def _compare(stack: str, exported: Mapping[str, Any]) -> None:
    """InputError with every provider of the state whose cluster is not the one that answers."""
    from trainform.deployed.state import clusters_of

    problems = list[Problem]()
    for cluster in clusters_of(exported):
        if cluster.own_kubeconfig:
            note(f"note: not compared: the provider {cluster.name} has a kubeconfig of its own in the state", err=True)
        elif cluster.uid is None:
            note(f"note: not compared: {_unbound(stack, cluster)}", err=True)
        else:
            problems += _problems(stack, cluster, cluster.uid)
    if problems:
        raise InputError(problems)


def _unbound(stack: str, cluster: StateCluster) -> str:
    return f"the stack {stack} is bound to no cluster (provider {cluster.name}); with `cluster.uid` in its environment the next `pulumi up` binds it"


def _problems(stack: str, cluster: StateCluster, uid: str) -> Sequence[Problem]:
    from trainform.cluster.api import ClusterApi
    from trainform.cluster.identity import identity_problem

    gone = f"`pulumi stack rm --force {stack}` forgets its objects"
    with contextlib.closing(ClusterApi(cluster.context, SECONDS)) as api:
        problem = identity_problem(api, uid, f"the stack {stack}", gone)
    return [] if problem is None else [problem]
