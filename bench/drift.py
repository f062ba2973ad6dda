"""`trainform drift` of one stack and `kubectl diff --server-side`, and of many stacks in one table; `trainform
stacks` of as many."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import yaml

from bench.aims import judge_at_most, judge_seconds
from bench.cluster import Cluster, cluster
from bench.commands import Command, run
from bench.peers import find_kubectl, kubectl_diff
from bench.rounds import commands_in_turn
from bench.samples import compare
from bench.sections import Section
from bench.shapes import ENVIRONMENT, EXPERIMENT
from bench.workplace import Workplace
from trainform.job.check import check_experiment
from trainform.manifests.manifest import Manifest
from trainform.stacks.drift.compare import MANAGER

TITLE = "Drift"
STACKS = 200
SECONDS_FOR_ONE, SECONDS_FOR_ALL, SECONDS_FOR_TABLE = 0.5, 10.0, 3.0
TIMES_KUBECTL = 4.0
SMALL = {
    "image": "registry.example.com/ai/pytorch-training:1",
    "launcher": {"torchrun": {"script": "/app/train.py"}},
    "roles": {"worker": {"replicas": 1}},
}
KEYS = ("experiment", "environment")


def measure(workplace: Workplace) -> list[Section]:
    """Measure both on one sandbox. Without kubectl nothing is measured: it also makes the many stacks, for which the
    engine would take minutes."""
    kubectl = find_kubectl()
    if kubectl is None:
        return [Section(TITLE, notes=("Left out: there is no kubectl on PATH of this machine.",))]
    with cluster(workplace) as running:
        with workplace.progress.step("drift: pulumi up"):
            run(running.ours("pulumi up", "up", "--yes", "--skip-preview"))
        return [_one(workplace, running, kubectl), _many(workplace, running, kubectl)]


def _one(workplace: Workplace, running: Cluster, kubectl: Path) -> Section:
    commands = [
        running.verb("`trainform drift`", "drift", f"{EXPERIMENT}.{ENVIRONMENT}"),
        kubectl_diff(kubectl, running.rendered, running.context, workplace.folder, running.project.environ),
    ]
    ours, theirs = commands_in_turn("drift and kubectl", commands, workplace.runs, workplace.progress)
    ratio = compare(ours, theirs)
    judged = judge_at_most(ratio, TIMES_KUBECTL), judge_seconds("`trainform drift`", ours.median, SECONDS_FOR_ONE)
    return Section(TITLE, judged=judged)


def _many(workplace: Workplace, running: Cluster, kubectl: Path) -> Section:
    names = [f"small-{number}" for number in range(STACKS)]
    with workplace.progress.step(f"drift: {STACKS} stacks"):
        run(_applied(workplace.folder / "many.json", running, kubectl, names))
    stacks = [f"{name}.{ENVIRONMENT}" for name in names]
    table = ("stacks", "-e", ENVIRONMENT)
    commands = [
        running.verb(f"`trainform drift` of {STACKS} stacks", "drift", *stacks),
        running.verb(f"`trainform stacks` of {STACKS} stacks", *table),
        running.verb("`trainform stacks --drift` of them", *table, "--drift"),
    ]
    aims = (SECONDS_FOR_ALL, SECONDS_FOR_TABLE, SECONDS_FOR_ALL)
    measured = commands_in_turn("many stacks", commands, workplace.runs, workplace.progress)
    judged = tuple(judge_seconds(each.name, each.median, aim) for each, aim in zip(measured, aims, strict=True))
    return Section("Many stacks", judged=judged)


def _applied(file: Path, running: Cluster, kubectl: Path, names: list[str]) -> Command:
    """The command that makes the objects as `pulumi up` would, of stacks whose files are written here."""
    project = running.project
    bodies = []
    for name in names:
        project.experiment(name, SMALL)
        config = {f"trainform:{key}": value for key, value in zip(KEYS, (name, ENVIRONMENT), strict=True)}
        (project.folder / "stacks" / f"Pulumi.{name}.{ENVIRONMENT}.yaml").write_text(yaml.safe_dump({"config": config}))
        bodies += [
            _body(manifest)
            for manifest in check_experiment(name, ENVIRONMENT, root=project.folder).or_raise().manifests
        ]
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": bodies}))
    words = [str(kubectl), "apply", "--server-side", "--field-manager", MANAGER, "--context", running.context]
    words += ["--cache-dir", str(file.parent / "kubectl-cache"), "-f", str(file)]
    return Command("kubectl apply", tuple(words), project.folder, project.environ)


def _body(manifest: Manifest) -> dict[str, object]:
    if not manifest.is_record:
        return manifest.body
    return {**manifest.body, "data": {**manifest.body["data"], "version": version("trainform")}}
