"""`trainform drift` of one stack and `kubectl diff --server-side`, and of many stacks in one table; `trainform
stacks` of as many; `trainform status` of a small and a large job, and `kubectl get pods`."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from bench.aims import Judged, judge_at_most, judge_seconds
from bench.cluster import Cluster, cluster
from bench.commands import Command, run
from bench.peers import find_kubectl, kubectl_diff
from bench.rounds import commands_in_turn
from bench.samples import Ratio, compare
from bench.sections import Section
from bench.shapes import ENVIRONMENT, EXPERIMENT
from bench.workplace import Workplace
from trainform.cluster.phases import Phase
from trainform.defaults import NAME_LABEL
from trainform.errors import TrainformError
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
PODS = 1024
LARGE = {**SMALL, "roles": {"worker": {"replicas": PODS}}}
SECONDS_FOR_STATUS, SECONDS_FOR_LARGE, SECONDS_FOR_START = 0.5, 1.0, 300.0
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
        sections = [_one(workplace, running, kubectl), _many(workplace, running, kubectl)]
        return [*sections, _status(workplace, running, kubectl)]


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
        run(_applied(workplace.folder / "many.json", running, kubectl, dict.fromkeys(names, SMALL)))
    stacks = [f"{name}.{ENVIRONMENT}" for name in names]
    commands = [
        running.verb(f"`trainform drift` of {STACKS} stacks", "drift", *stacks),
        running.verb(f"`trainform stacks` of {STACKS} stacks", "stacks", "-e", ENVIRONMENT),
    ]
    aims = (SECONDS_FOR_ALL, SECONDS_FOR_TABLE)
    measured = commands_in_turn("many stacks", commands, workplace.runs, workplace.progress)
    judged = tuple(judge_seconds(each.name, each.median, aim) for each, aim in zip(measured, aims, strict=True))
    return Section("Many stacks", judged=judged)


def _status(workplace: Workplace, running: Cluster, kubectl: Path) -> Section:
    with workplace.progress.step(f"status: a job of {PODS} pods"):
        run(_applied(workplace.folder / "large.json", running, kubectl, {"large": LARGE}))
        _wait_for_pods(running)
    judged, ratios = list[Judged](), list[Ratio]()
    for name, pods, seconds in (
        (EXPERIMENT, "a job", SECONDS_FOR_STATUS),
        ("large", f"{PODS} pods", SECONDS_FOR_LARGE),
    ):
        words = [str(kubectl), "get", "pods", "-n", running.project.namespace, "-l", f"{NAME_LABEL}={name}"]
        words += ["--context", running.context, "--cache-dir", str(workplace.folder / "kubectl-cache")]
        commands = [
            running.verb(f"`trainform status` of {pods}", "status", f"{name}.{ENVIRONMENT}"),
            Command("`kubectl get pods`", tuple(words), running.project.folder, running.project.environ),
        ]
        ours, theirs = commands_in_turn(f"status of {pods}", commands, workplace.runs, workplace.progress)
        judged.append(judge_seconds(ours.name, ours.median, seconds))
        ratios.append(compare(ours, theirs))
    return Section("Status", ratios=tuple(ratios), judged=tuple(judged))


def _wait_for_pods(running: Cluster) -> None:
    """Return when all pods of the large job run. Raises `TrainformError` if that takes too long."""
    end = time.monotonic() + SECONDS_FOR_START
    command = running.verb("status", "status", f"large.{ENVIRONMENT}", "--output", "json")
    while json.loads(run(command)[1])["phase"] != Phase.RUNNING:
        if time.monotonic() > end:
            raise TrainformError(
                f"{PODS} pods do not run within {SECONDS_FOR_START:.0f} s", "run it on an idle machine"
            )
        time.sleep(2.0)


def _applied(file: Path, running: Cluster, kubectl: Path, experiments: Mapping[str, dict[str, Any]]) -> Command:
    """The command that makes the objects as `pulumi up` would, of stacks whose files are written here."""
    project = running.project
    bodies = []
    for name, data in experiments.items():
        project.experiment(name, data)
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
