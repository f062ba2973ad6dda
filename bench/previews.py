"""`pulumi preview` of the job, compared with the same objects by hand, with 1,024 nodes, and with kubectl."""

from __future__ import annotations

import shutil
import sys

import yaml
from msgspec import Struct

from bench.aims import Judged, judge_at_most
from bench.cluster import COPIES, EMPTY, LARGE, LARGE_EXPERIMENT, MOST_ROLES_EXPERIMENT, Cluster, cluster
from bench.commands import REPOSITORY, Command, run
from bench.peers import find_kubectl, kubectl_diff, kubectl_version
from bench.registered import refuse_difference, refuse_other_than_role_groups
from bench.rounds import commands_in_turn
from bench.samples import Ratio, Series, compare
from bench.sections import Section, Table
from bench.shapes import PODS
from bench.spelling import spell_megabytes, spell_seconds
from bench.workplace import Workplace
from trainform import defaults

TIMES_BY_HAND = 1.10
TIMES_LEANEST = {"first preview": 1.20, "preview without a change": 1.25}
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
        first = _compare_with_copies(workplace, running, "first preview")
        sizes = _sizes(workplace, running)
        _apply(workplace, running)
        again = _compare_with_copies(workplace, running, "preview without a change", "--expect-no-changes")
        return [
            _previews(first, again),
            sizes,
            _policy_pack(workplace, running),
            _review(workplace, running),
            _kubectl(workplace, running),
        ]


class Compared(Struct, frozen=True):
    """Previews of the job, of its copies, and of an empty program."""

    title: str
    series: tuple[Series, ...]

    @property
    def judged(self) -> tuple[Judged, Judged]:
        """The comparisons with the usual program by hand, and with the leanest one."""
        ours, typed, tokens, _ = self.series
        when = f"{self.title}: "
        usual = judge_at_most(compare(ours, typed), TIMES_BY_HAND, when)
        return usual, judge_at_most(compare(ours, tokens), TIMES_LEANEST[self.title], when)


def _compare_with_copies(workplace: Workplace, running: Cluster, title: str, *options: str) -> Compared:
    commands = [running.ours(OURS, "preview", *options)]
    commands += [running.other(name, key, "preview", *options) for key, name in NAMES.items()]
    return Compared(title, commands_in_turn(title, commands, workplace.runs, workplace.progress))


def _previews(first: Compared, again: Compared) -> Section:
    rows = tuple(
        (one.name, spell_seconds(one.median), spell_seconds(other.median), spell_megabytes(other.peak))
        for one, other in zip(first.series, again.series, strict=True)
    )
    table = Table("Preview", ("program", first.title, again.title, "peak memory"), rows)
    return Section(table.title, (), (), (*first.judged, *again.judged), (table,))


def _sizes(workplace: Workplace, running: Cluster) -> Section:
    nodes, judged = _nodes(workplace, running)
    roles, ratio = _roles(workplace, running)
    return Section("First preview by size", (*nodes, *roles), (ratio,), (judged,))


def _nodes(workplace: Workplace, running: Cluster) -> tuple[tuple[Series, ...], Judged]:
    commands = [
        running.ours(f"{LARGE:,} nodes", "preview", experiment=LARGE_EXPERIMENT),
        running.ours(f"{PODS} nodes", "preview"),
    ]
    large, small = commands_in_turn("preview by size", commands, workplace.runs, workplace.progress)
    return (large, small), judge_at_most(compare(large, small), TIMES_FOR_NODES, "first preview: ")


def _roles(workplace: Workplace, running: Cluster) -> tuple[tuple[Series, ...], Ratio]:
    """Measure an experiment with the most roles, each a component, then without these components, and one with two
    roles."""
    name = f"{defaults.MOST_ROLES} roles"
    most = running.ours(name, "preview", experiment=MOST_ROLES_EXPERIMENT)
    without = running.without_role_groups(f"{name} without their components", most)
    refuse_other_than_role_groups(most, without, defaults.MOST_ROLES)
    commands = [most, without, running.ours("2 roles", "preview")]
    many, bare, few = commands_in_turn("preview by roles", commands, workplace.runs, workplace.progress)
    return (many, bare, few), compare(many, few)


def _policy_pack(workplace: Workplace, running: Cluster) -> Section:
    """Measure the same preview with the policy pack of the repository, in the Python that measures."""
    folder = running.project.folder / "policy"
    shutil.copytree(REPOSITORY / "policy", folder, ignore=shutil.ignore_patterns("__pycache__"))
    definition = yaml.safe_load((folder / "PulumiPolicy.yaml").read_text())
    definition["runtime"]["options"]["virtualenv"] = sys.prefix
    (folder / "PulumiPolicy.yaml").write_text(yaml.safe_dump(definition))
    commands = [
        running.ours("preview with the policy pack", "preview", "--policy-pack", str(folder)),
        running.ours("without", "preview"),
    ]
    judged, plain = commands_in_turn("preview and policy pack", commands, workplace.runs, workplace.progress)
    return Section("Policy pack", ratios=(compare(judged, plain),))


def _review(workplace: Workplace, running: Cluster) -> Section:
    """Measure the review of a stack without a change as a whole process, with its live reads, and the preview that it
    runs."""
    commands = [running.review("`trainform review`"), running.ours("`pulumi preview`", "preview")]
    review, preview = commands_in_turn("review and preview", commands, workplace.runs, workplace.progress)
    ratio = compare(review, preview)
    return Section("Review", judged=(judge_at_most(ratio, TIMES_FOR_REVIEW),))


def _apply(workplace: Workplace, running: Cluster) -> None:
    words = ("up", "--yes", "--skip-preview")
    commands = [running.ours(OURS, *words), *(running.other(name, key, *words) for key, name in NAMES.items())]
    for command in commands:
        with workplace.progress.step(f"pulumi up, {command.name}"):
            run(command)
    for key in COPIES:
        refuse_difference(running.ours(OURS, "stack", "export"), running.other(NAMES[key], key, "stack", "export"))


def _kubectl(workplace: Workplace, running: Cluster) -> Section:
    kubectl = find_kubectl()
    if kubectl is None:
        return Section("kubectl", notes=("Left out: there is no kubectl on PATH of this machine.",))
    commands: list[Command] = [
        running.ours("`pulumi preview`", "preview"),
        kubectl_diff(kubectl, running.rendered, running.context, workplace.folder, running.project.environ),
    ]
    ours, theirs = commands_in_turn("preview and kubectl", commands, workplace.runs, workplace.progress)
    note = f"kubectl {kubectl_version(kubectl)}, on manifests that were rendered before."
    return Section("kubectl", ratios=(compare(ours, theirs),), notes=(note,))
