"""Small workloads for tests: pods with short shell scripts that end by themselves."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from tests.support.samples import experiment, plan
from trainform import defaults
from trainform.local.rehearsal.docker.engine import OWNER_LABEL
from trainform.local.rehearsal.kubelet.env import Place, Sources
from trainform.local.rehearsal.probe import probed
from trainform.local.rehearsal.run.display import ConsoleDisplay, Rows
from trainform.local.rehearsal.run.rehearse import Options, Rehearsal, rehearse
from trainform.local.rehearsal.run.report import Outcome
from trainform.local.rehearsal.sources import workload_of_plan
from trainform.local.rehearsal.workload import Workload
from trainform.plan.model import Plan
from trainform.spec.environment import Environment

NAMESPACE = "team-vision"
SERVICE = "resnet"
PATIENCE = 240.0  # seconds; on a busy machine a launcher's imports take long
PLACE = Place("gpu-node-7", "10.42.0.17")


def pod(name: str, script: str = "true", **spec: Any) -> dict[str, Any]:
    """Return a pod that runs a shell script. `main` has further fields of its container; the other arguments are fields
    of the pod's spec."""
    main = {
        "name": "main",
        "image": "registry.example.com/ai/resnet:1",
        "command": ["sh", "-ec", script],
        **spec.pop("main", {}),
    }
    role = name.rpartition("-")[0]
    return {
        "metadata": {"name": f"{SERVICE}-1f3a9c-{name}", "namespace": NAMESPACE, "labels": {defaults.ROLE_LABEL: role}},
        "spec": {
            "hostname": f"{SERVICE}-1f3a9c-{name}",
            "subdomain": SERVICE,
            "restartPolicy": "Never",
            "containers": [main],
            **spec,
        },
    }


def full_name(name: str) -> str:
    """Return the full name of the pod with this short name."""
    return f"{SERVICE}-1f3a9c-{name}"


def workload(*pods: dict[str, Any], **parts: Any) -> Workload:
    return Workload(**{"experiment": SERVICE, "namespace": NAMESPACE, "pods": pods, **parts})


def with_probe(seconds: float = 150, cluster: Environment | None = None, **parts: Any) -> tuple[Plan, Workload]:
    """Return the plan of an experiment, and its pods with the launcher's probe."""
    made = plan(cluster=cluster, **parts)
    return made, probed(workload_of_plan(made), made, experiment(**parts).launcher, seconds)


def changed(asked: Workload, place: int, *command: str, **env: str) -> Workload:
    """Return the workload with another command, or further variables, in the pod at this place."""
    pods = copy.deepcopy(asked.pods)
    main = pods[place]["spec"]["containers"][0]
    main["env"] += [{"name": name, "value": value} for name, value in env.items()]
    if command:
        main["command"], main["args"] = list(command), []
    return dataclasses.replace(asked, pods=pods)


def sources(asked: dict[str, Any], **parts: Any) -> Sources:
    """Return the sources of a pod's values."""
    return Sources(workload(asked, **parts), asked, PLACE)


class Recorded(ConsoleDisplay):
    """A display that keeps what a rehearsal shows: (pod, line) in `lines`, and the notes in `notes`."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []
        self.notes: list[str] = []

    @contextlib.contextmanager
    def watch(self, names: Sequence[tuple[str, str]], rows: Rows) -> Iterator[None]:
        yield

    def line(self, pod: str, text: str) -> None:
        self.lines.append((pod, text))

    def note(self, text: str) -> None:
        self.notes.append(text)

    def of(self, pod: str) -> list[str]:
        """Return the lines that one pod wrote."""
        return [text for name, text in self.lines if name == pod]

    def probes(self, pod: str) -> list[str]:
        """Return the lines that the probe of one pod wrote."""
        return [line.partition("probe: ")[2] for line in self.of(pod) if "probe: " in line]


def run_rehearsal(asked: Workload, image: str, **options: Any) -> tuple[Outcome, Recorded]:
    """Run a whole rehearsal with all pods in one image; its outcome, and everything that it showed."""
    display = Recorded()
    return rehearse(asked, Options(**{"image": image, "timeout": 240, **options}), display), display


def run_to_success(asked: Workload, image: str, **options: Any) -> Recorded:
    """Run a rehearsal that has to succeed; everything that it showed."""
    outcome, display = run_rehearsal(asked, image, **options)
    assert outcome.succeeded, (outcome.problem, display.lines)
    return display


def own_state_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set a folder with locks of this test alone, so that no rehearsal of another run of the tests counts as a killed
    one."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


def wait_until(running: Rehearsal, met: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    assert running.records.wait(lambda _: met(), time.monotonic() + PATIENCE), running.records.all()


def docker_objects(**labels: str) -> list[str]:
    """Return the names of Docker's containers, volumes and networks that a rehearsal of this test has made, with these
    labels."""
    import docker

    # other tests run at the same time, and killed ones leave objects behind
    ours = str(platformdirs.user_state_path("trainform"))
    filters = {
        "label": ["trainform.rehearsal", *(f"trainform.rehearsal.{key}={value}" for key, value in labels.items())]
    }
    client = docker.APIClient()
    try:
        volumes = client.volumes(filters=filters)["Volumes"]
        found = [
            *client.containers(all=True, filters=filters),
            *(volumes if volumes is not None else []),
            *client.networks(filters=filters),
        ]
        return [str(each.get("Name", each.get("Names"))) for each in found if ours in each["Labels"][OWNER_LABEL]]
    finally:
        client.close()
