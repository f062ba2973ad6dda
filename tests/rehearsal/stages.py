"""Small stages: pods of a few words that end by themselves."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from trainform.catalog import defaults
from trainform.rehearsal.display import Recorded
from trainform.rehearsal.engine import OWNER_LABEL
from trainform.rehearsal.fields import Place, Sources
from trainform.rehearsal.run import Options, Outcome, Rehearsal, rehearse
from trainform.rehearsal.stage import Stage

NAMESPACE = "team-vision"
SERVICE = "resnet"
PATIENCE = 240.0  # launchers import for many seconds where two cores have other work
PLACE = Place("gpu-node-7", "10.42.0.17")


def pod(name: str, script: str = "true", **spec: Any) -> dict[str, Any]:
    """A pod that runs a shell script; `main` has further fields of its container, all else belongs to the pod's spec."""
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


def full(name: str) -> str:
    """The name of the pod in the cluster."""
    return f"{SERVICE}-1f3a9c-{name}"


def stage(*pods: dict[str, Any], **parts: Any) -> Stage:
    return Stage(**{"experiment": SERVICE, "namespace": NAMESPACE, "pods": pods, **parts})


def sources(asked: dict[str, Any], **parts: Any) -> Sources:
    """What a pod's values come from."""
    return Sources(stage(asked, **parts), asked, PLACE)


def play(asked: Stage, image: str, **options: Any) -> tuple[Outcome, Recorded]:
    """A whole rehearsal, all pods in one image: how it ended, and what was said."""
    display = Recorded()
    return rehearse(asked, Options(**{"image": image, "timeout": 240, **options}), display), display


def played(asked: Stage, image: str, **options: Any) -> Recorded:
    """A rehearsal that must succeed; what was said."""
    outcome, display = play(asked, image, **options)
    assert outcome.succeeded, (outcome.problem, display.lines)
    return display


def state_apart(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Locks of this test alone: what another run of the tests makes is not left over."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


def until(running: Rehearsal, met: Callable[[], bool]) -> None:
    """Wait for something that the pods say or do."""
    assert running.records.wait(lambda _: met(), time.monotonic() + PATIENCE), running.records.all()


def made(**labels: str) -> list[str]:
    """Containers, volumes and networks of Docker's that belong to a rehearsal of this test with these labels."""
    import docker

    # other tests run beside this one, and killed ones leave things
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
