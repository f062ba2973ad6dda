"""`trainform destroy`."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trainform import defaults
from trainform.cli import candidates
from trainform.errors import CommandLineError, InputError, Problem
from trainform.project import project_root, require_project
from trainform.terminal.lines import flush_or_discard, note

if TYPE_CHECKING:
    from trainform.cluster.api import ClusterApi
    from trainform.deployed.state import StateCluster, StateJob, StateNamespace

SECONDS = 2.0 * defaults.CONNECT_SECONDS
# Another stack, or another project's: alone, with a value, or in a group of short options, such as `-ys STACK`. The
# letters that are left out take a value.
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

    `pulumi destroy` runs no program and deletes on whichever cluster the kubeconfig leads to. This command compares
    that cluster with the one in the stack's state, or else in its environment, first, and then runs `pulumi destroy` in
    its place: its questions, its output and its exit code are Pulumi's. The namespace of an environment stays in the
    cluster, and the command says how to delete it.
    """
    from trainform.deployed.engine import exported, pulumi
    from trainform.deployed.state import clusters_of, namespaces_of
    from trainform.spec.stack import STACK_ARGUMENT, require_stack

    given = [] if options is None else options
    _refuse_elsewhere(given)
    root = project_root()
    require_project(root)
    require_stack(stack, root, STACK_ARGUMENT)
    program = pulumi()
    state = exported(stack, root)
    _compare(stack, state, root)
    contexts = {cluster.name: cluster.context for cluster in clusters_of(state)}
    for namespace in namespaces_of(state):
        context = contexts.get(namespace.cluster)
        words = shlex.join([namespace.name, *([] if context is None else ["--context", context])])
        note(
            f"note: the namespace {namespace.name} stays in the cluster, with its jobs and kept claims; to delete "
            f"it with everything in it: kubectl delete namespace {words}",
            err=True,
        )
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


def _compare(stack: str, exported: Mapping[str, Any], root: Path) -> None:
    """InputError with every provider of the state whose cluster is not the one that answers. One that the state binds
    to none is bound by the environment: whoever has written its UID there means every stack in it, and the next `pulumi
    up` would write it into the state."""
    from trainform.cluster.api import ClusterApi
    from trainform.cluster.identity import identity_problem
    from trainform.deployed.state import clusters_of, jobs_of, namespaces_of

    problems = [_would_be_deleted(stack, each) for each in namespaces_of(exported) if not each.kept]
    for cluster in clusters_of(exported):
        if cluster.own_kubeconfig:
            note(f"note: not compared: the provider {cluster.name} has a kubeconfig of its own in the state", err=True)
            continue
        bound = _bound(stack, cluster, root)
        jobs = [job for job in jobs_of(exported) if job.cluster == cluster.name]
        if bound is None:
            note(
                f"note: not compared: the stack {stack} is bound to no cluster (provider {cluster.name}); with "
                "`cluster.uid` in its environment the next `pulumi up` binds it",
                err=True,
            )
        if bound is not None or jobs:
            with contextlib.closing(ClusterApi(cluster.context, SECONDS)) as api:
                other = None if bound is None else identity_problem(api, *bound)
                problems += [] if other is None else [other]
                problems += [] if problems else _of_others(stack, api, jobs, root)
    if problems:
        raise InputError(problems)


def _would_be_deleted(stack: str, namespace: StateNamespace) -> Problem:
    """Return the problem of a namespace in a state that an earlier trainform has written."""
    from trainform.spec.stack import STACK_ARGUMENT

    reason = (
        f"`pulumi destroy` would delete the namespace {namespace.name} with everything in it, jobs and kept claims "
        "of other stacks too: the state is from an earlier trainform, which did not keep namespaces"
    )
    fix = f"run `pulumi up -s {stack}` first, which writes into the state that the namespace is kept"
    return Problem(STACK_ARGUMENT, stack, reason, fix)


def _of_others(stack: str, api: ClusterApi, jobs: Sequence[StateJob], root: Path) -> Iterator[Problem]:
    """Yield a problem for each job that another stack has deployed since, by the mark on its record: the objects of
    this stack are those of the other one."""
    from trainform.deployed.records import deployed
    from trainform.plan.record import unmark
    from trainform.spec.stack import STACK_ARGUMENT, project_name

    own = f"{project_name(root)}/{stack.rpartition('/')[2]}"
    for job in jobs:
        found = deployed(api, job.experiment, job.namespace)
        theirs = "" if found is None else found.stack
        if theirs not in ("", own):
            reason = (
                f"{job.experiment} in the namespace {job.namespace} is deployed by the stack {theirs} by now, "
                "and the objects of this stack have the same names"
            )
            fix = (
                f"`pulumi stack rm --force {stack}` forgets them; if that stack is this one under an earlier "
                f"name, or is gone without a destroy: {unmark(job.experiment, job.namespace)}"
            )
            yield Problem(STACK_ARGUMENT, stack, reason, fix)


def _bound(stack: str, cluster: StateCluster, root: Path) -> tuple[str, str, str] | None:
    """Return the UID of the cluster, what is bound to it, and what to do if it no longer exists; None if nothing binds
    the provider. InputError for an environment that cannot be read: it may name another cluster."""
    from trainform.check_files import check_environment
    from trainform.spec.stack import named_environment

    if cluster.uid is not None:
        return cluster.uid, f"the stack {stack}", f"`pulumi stack rm --force {stack}` forgets its objects"
    named = named_environment(stack, root)
    environment = None if named is None else check_environment(named, root).checked()
    if environment is None or environment.cluster.uid is None:
        return None
    gone = f"write the UID of the new one, and `pulumi stack rm --force {stack}` forgets the objects of the old one"
    return environment.cluster.uid, f"the environment {environment.name}", gone
