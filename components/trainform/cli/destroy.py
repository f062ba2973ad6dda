"""`trainform destroy`."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from trainform import defaults
from trainform.cli.arguments import StackEnvironmentOption, StackJobArgument, argument
from trainform.cli.jobs import stack_of
from trainform.console.lines import flush_or_discard, note, terminal_width, wrapped
from trainform.errors import CommandLineError, InputError, Problem
from trainform.project import require_project

if TYPE_CHECKING:
    from trainform.cluster.api import ClusterApi
    from trainform.deployed.state import StateCluster, StateJob, StateNamespace

SECONDS = 2.0 * defaults.CONNECT_SECONDS
# Options that select another stack or project: alone, with a value, or in a group of short options (`-ys STACK`). The
# excluded letters are options with a value.
ELSEWHERE = re.compile("--(stack|cwd)(=|$)|-[^-=cmptvx]*[sC]")


class Bound(NamedTuple):
    """The cluster to which a stack or an environment is bound."""

    uid: str
    what: str  # the stack or the environment, in words
    gone: str  # the fix if the cluster no longer exists


OptionsArgument = Annotated[list[str] | None, argument("OPTION", "Options of `pulumi destroy`, after `--`: -- --yes")]


def command(
    word: StackJobArgument, options: OptionsArgument = None, environment: StackEnvironmentOption = None
) -> None:
    """Delete the resources of a stack.

    `pulumi destroy` alone deletes on the cluster of the kubeconfig, whichever that is. This command first compares that
    cluster with the one in the stack's state, or else in its environment, and refuses another cluster. It names the
    claims that stay and those that are deleted, then runs `pulumi destroy`: the questions, the output and the exit code
    are Pulumi's. The namespace of an environment stays in the cluster: the command shows how to delete it.
    """
    from trainform.deployed.engine import exported, pulumi

    given = [] if options is None else options
    _refuse_elsewhere(given)
    root = require_project()
    stack = stack_of(word, environment, root)
    program = pulumi()
    state = exported(stack, root)
    _compare(stack, state, root)
    _show_what_stays(state)
    os.chdir(root)
    flush_or_discard()
    os.execv(program, [program, "destroy", "-s", stack, *given])  # noqa: S606 - the user's pulumi


def _refuse_elsewhere(options: Sequence[str]) -> None:
    """Raise `CommandLineError` for an option that selects another stack than the one that is compared."""
    found = next((option for option in options if ELSEWHERE.match(option)), None)
    if found is not None:
        raise CommandLineError(
            f"{found} leads Pulumi to another stack", "name the stack before `--`, in its own project"
        )


def _compare(stack: str, exported: Mapping[str, Any], root: Path) -> None:
    """Raise `InputError` with every provider of the state whose cluster is not the one that answers.

    A provider without a cluster in the state is bound by the environment: its `cluster.uid` holds for every stack in
    it, and the next `pulumi up` writes it into the state."""
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
        if bound is None and not jobs:
            continue
        with contextlib.closing(ClusterApi(cluster.context, SECONDS)) as api:
            another = None if bound is None else identity_problem(api, *bound)
            problems += [] if another is None else [another]
            problems += [] if problems else _other_stacks(stack, api, jobs, root)
    if problems:
        raise InputError(problems)


def _would_be_deleted(stack: str, namespace: StateNamespace) -> Problem:
    """Return the problem with a namespace in a state that an earlier version of trainform wrote."""
    from trainform.spec.stack import STACK

    reason = (
        f"`pulumi destroy` would delete the namespace {namespace.name} with everything in it, jobs and kept claims "
        "of other stacks too: the state is from an earlier trainform, which did not keep namespaces"
    )
    fix = f"run `pulumi up -s {stack}` first, which writes into the state that the namespace is kept"
    return Problem(STACK, stack, reason, fix)


def _show_what_stays(exported: Mapping[str, Any]) -> None:
    """Print the claims that stay or are deleted, and how to delete the namespaces of the stack, which stay."""
    from trainform.deployed.state import claims_of, clusters_of, namespaces_of

    for kept, fate in ((True, "stay in the cluster"), (False, "are deleted, with their data")):
        claims = ", ".join(claims_of(exported, kept=kept))
        if claims:
            note(*wrapped(f"note: claims that {fate}: {claims}", terminal_width()), err=True)
    contexts = {cluster.name: cluster.context for cluster in clusters_of(exported)}
    for namespace in namespaces_of(exported):
        context = contexts.get(namespace.cluster)
        on = "" if context is None else f" --context {shlex.quote(context)}"
        note(
            f"note: the namespace {namespace.name} stays in the cluster, with what others have created in it",
            f"  to delete all of it: kubectl delete namespace {namespace.name}{on}",
            err=True,
        )


def _other_stacks(stack: str, api: ClusterApi, jobs: Sequence[StateJob], root: Path) -> Iterator[Problem]:
    """Yield a problem for each job that another stack has deployed since, by the mark on its record: both stacks have
    the same objects."""
    from trainform.deployed.records import deployed
    from trainform.plan.record import unmark
    from trainform.spec.stack import STACK, project_name

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
            yield Problem(STACK, stack, reason, fix)


def _bound(stack: str, cluster: StateCluster, root: Path) -> Bound | None:
    """Return the cluster of the provider, or None if it is not bound. Raises `InputError` if the environment cannot be
    read, since it may name another cluster."""
    from trainform.job.check import check_environment
    from trainform.spec.stack import named_environment

    if cluster.uid is not None:
        return Bound(cluster.uid, f"the stack {stack}", f"`pulumi stack rm --force {stack}` forgets its objects")
    named = named_environment(stack, root)
    environment = None if named is None else check_environment(named, root).or_raise()
    if environment is None or environment.cluster.uid is None:
        return None
    gone = f"write the UID of the new one, and `pulumi stack rm --force {stack}` forgets the objects of the old one"
    return Bound(environment.cluster.uid, f"the environment {environment.name}", gone)
