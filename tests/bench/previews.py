"""`pulumi preview` of the job, beside the same objects by hand, beside itself with 1,024 nodes, and beside kubectl."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.aims import judge_at_most
from tests.bench.cluster import COPIES, EMPTY, LARGE, LARGE_EXPERIMENT, Cluster, cluster
from tests.bench.commands import Command, run
from tests.bench.peers import find_kubectl, kubectl_diff, kubectl_version
from tests.bench.registered import refuse_difference
from tests.bench.rounds import commands_in_turn
from tests.bench.samples import compare
from tests.bench.sections import Section
from tests.bench.shapes import PODS
from tests.bench.workplace import Workplace

TIMES_BY_HAND = 1.10
TIMES_FOR_NODES = 1.2
OURS = "trainform"
NAMES = {
    "by-hand": "by hand (pulumi_kubernetes)",
    "by-token": "by hand (tokens, no core.v1)",
    EMPTY: "an empty program",
}


def measure(workplace: Workplace) -> list[Section]:
    """All of it on one sandbox: what is not there yet first."""
    with cluster(workplace) as running:
        return [*_sections(workplace, running)]


def _sections(workplace: Workplace, running: Cluster) -> Iterator[Section]:
    yield _beside_copies(workplace, running, "First preview", "nothing of it exists")
    yield _nodes(workplace, running)
    _apply(workplace, running)
    yield _beside_copies(workplace, running, "Preview without a change", "after `pulumi up`", "--expect-no-changes")
    yield _kubectl(workplace, running)


def _beside_copies(workplace: Workplace, running: Cluster, title: str, when: str, *options: str) -> Section:
    commands = [running.ours(OURS, "preview", *options)]
    commands += [running.other(name, key, "preview", *options) for key, name in NAMES.items()]
    ours, typed, tokens, empty = commands_in_turn(title.lower(), commands, workplace.runs, workplace.progress)
    ratios = compare(ours, typed), compare(ours, tokens)
    judged = judge_at_most(ratios[0], TIMES_BY_HAND, f"{title.lower()}: ")
    return Section(f"{title} ({when})", (ours, typed, tokens, empty), ratios, (judged,))


def _nodes(workplace: Workplace, running: Cluster) -> Section:
    commands = [
        running.ours(f"{LARGE:,} nodes", "preview", experiment=LARGE_EXPERIMENT),
        running.ours(f"{PODS} nodes", "preview"),
    ]
    large, small = commands_in_turn("preview by size", commands, workplace.runs, workplace.progress)
    ratio = compare(large, small)
    judged = judge_at_most(ratio, TIMES_FOR_NODES, "first preview: ")
    return Section("First preview by size", (large, small), (ratio,), (judged,))


def _apply(workplace: Workplace, running: Cluster) -> None:
    words = ("up", "--yes", "--skip-preview")
    commands = [running.ours(OURS, *words), *(running.other(name, key, *words) for key, name in NAMES.items())]
    for command in commands:
        with workplace.progress.step(f"pulumi up, {command.name}"):
            run(command)
    for key in COPIES:
        refuse_difference(running.ours(OURS, "stack", "export"), running.other(NAMES[key], key, "stack", "export"))


def _kubectl(workplace: Workplace, running: Cluster) -> Section:
    title = "Preview beside `kubectl diff --server-side`"
    kubectl = find_kubectl()
    if kubectl is None:
        return Section(title, notes=("Left out: there is no kubectl on PATH of this machine.",))
    commands: list[Command] = [
        running.ours("`pulumi preview`", "preview"),
        kubectl_diff(kubectl, running.rendered, running.context, workplace.folder, running.project.environ),
    ]
    ours, theirs = commands_in_turn("preview and kubectl", commands, workplace.runs, workplace.progress)
    return Section(
        title,
        (ours, theirs),
        (compare(ours, theirs),),
        notes=(
            f"kubectl {kubectl_version(kubectl)}, on the manifests that were rendered before. It compares these four objects; what else "
            "was there, what must go first, and what would be replaced it does not know.",
        ),
    )
