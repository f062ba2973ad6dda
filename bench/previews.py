"""`pulumi preview` of the job, compared with the same objects by hand, with 1,024 nodes, and with kubectl."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator

import yaml

from bench.aims import judge_at_most
from bench.cluster import COPIES, EMPTY, LARGE, LARGE_EXPERIMENT, MOST_ROLES_EXPERIMENT, Cluster, cluster
from bench.commands import REPOSITORY, Command, run
from bench.peers import find_kubectl, kubectl_diff, kubectl_version
from bench.registered import refuse_difference, refuse_other_than_role_groups
from bench.rounds import commands_in_turn
from bench.samples import compare
from bench.sections import Section
from bench.shapes import PODS
from bench.workplace import Workplace
from trainform import defaults

TIMES_BY_HAND = 1.10
TIMES_FOR_NODES = 1.2
TIMES_FOR_REVIEW = 1.15
OURS = "trainform"
NAMES = {
    "by-hand": "by hand (pulumi_kubernetes)",
    "by-token": "by hand (tokens, no core.v1)",
    EMPTY: "an empty program",
}


def measure(workplace: Workplace) -> list[Section]:
    """Measure all previews on one sandbox, those of new objects first."""
    with cluster(workplace) as running:
        return [*_sections(workplace, running)]


def _sections(workplace: Workplace, running: Cluster) -> Iterator[Section]:
    yield _beside_copies(workplace, running, "First preview", "nothing of it exists")
    yield _nodes(workplace, running)
    yield _roles(workplace, running)
    _apply(workplace, running)
    yield _beside_copies(workplace, running, "Preview without a change", "after `pulumi up`", "--expect-no-changes")
    yield _policy_pack(workplace, running)
    yield _review(workplace, running)
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


def _roles(workplace: Workplace, running: Cluster) -> Section:
    """Measure an experiment with the most roles, each a component, then without these components, and one with two
    roles."""
    name = f"{defaults.MOST_ROLES} roles"
    most = running.ours(name, "preview", experiment=MOST_ROLES_EXPERIMENT)
    without = running.without_role_groups(f"{name} without their components", most)
    refuse_other_than_role_groups(most, without, defaults.MOST_ROLES)
    commands = [most, without, running.ours("2 roles", "preview")]
    many, bare, few = commands_in_turn("preview by roles", commands, workplace.runs, workplace.progress)
    ratios = compare(many, bare), compare(bare, few), compare(many, few)
    return Section("First preview by roles", (many, bare, few), ratios)


def _policy_pack(workplace: Workplace, running: Cluster) -> Section:
    """Measure the same preview with the policy pack of the repository, in the Python that measures."""
    folder = running.project.folder / "policy"
    shutil.copytree(REPOSITORY / "policy", folder, ignore=shutil.ignore_patterns("__pycache__"))
    definition = yaml.safe_load((folder / "PulumiPolicy.yaml").read_text())
    definition["runtime"]["options"]["virtualenv"] = sys.prefix
    (folder / "PulumiPolicy.yaml").write_text(yaml.safe_dump(definition))
    commands = [
        running.ours("with the policy pack", "preview", "--policy-pack", str(folder)),
        running.ours("without", "preview"),
    ]
    judged, plain = commands_in_turn("preview and policy pack", commands, workplace.runs, workplace.progress)
    return Section("Preview with the policy pack", (judged, plain), (compare(judged, plain),))


def _review(workplace: Workplace, running: Cluster) -> Section:
    """Measure the review of a stack without a change as a whole process, with its live reads, and the preview that it
    runs."""
    commands = [running.review("`trainform review`"), running.ours("`pulumi preview`", "preview")]
    review, preview = commands_in_turn("review and preview", commands, workplace.runs, workplace.progress)
    ratio = compare(review, preview)
    return Section("Review", (review, preview), (ratio,), (judge_at_most(ratio, TIMES_FOR_REVIEW),))


def _apply(workplace: Workplace, running: Cluster) -> None:
    words = ("up", "--yes", "--skip-preview")
    commands = [running.ours(OURS, *words), *(running.other(name, key, *words) for key, name in NAMES.items())]
    for command in commands:
        with workplace.progress.step(f"pulumi up, {command.name}"):
            run(command)
    for key in COPIES:
        refuse_difference(running.ours(OURS, "stack", "export"), running.other(NAMES[key], key, "stack", "export"))


def _kubectl(workplace: Workplace, running: Cluster) -> Section:
    title = "Preview and `kubectl diff --server-side`"
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
            f"kubectl {kubectl_version(kubectl)}, on the manifests that were rendered before. It compares these four "
            "objects; what else was there, what must go first, and what would be replaced it does not know.",
        ),
    )
