"""What to do about a queue that the live cluster does not have: the command that makes it, where there is one."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_read import use
from tests.websites import website
from trainform.cluster.api import ClusterApi
from trainform.cluster.preflight import check_job
from trainform.cluster.read import Cluster
from trainform.doctor.environment import NAMED
from trainform.doctor.model import Asked, Finding, State
from trainform.errors import ClusterError
from trainform.plan.build import build_plan
from trainform.spec import Environment, Experiment

MISSING = (404, "application/json", b'{"kind": "Status", "apiVersion": "v1", "code": 404, "message": "not found"}')
MADE, THERE, SCHEDULER = "pulumi up -s prod", "kubectl get queues.scheduling.volcano.sh", "volcano-scheduler"
QUEUES: dict[str, Any] = {"ours": {}, "theirs": {"create": False}}
CASES = pytest.mark.parametrize(("queue", "fix"), [("ours", MADE), ("theirs", THERE), ("default", SCHEDULER)])


def environment() -> Environment:
    return Environment.model_validate({"name": "prod", "namespace": {"name": "team"}, "queues": QUEUES})


@CASES
def test_doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queue: str, fix: str) -> None:
    asked = Asked(tmp_path, environment(), 60.0)
    only = dataclasses.replace(NAMED["queues"], names=lambda environment: [queue])
    with website(MISSING) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        with contextlib.closing(ClusterApi(None, 60.0)) as api:
            found = only.look(asked, {"kubeconfig": Finding(State.OK, "", value=api)})
    assert found.text == f"{queue}: not there"
    assert [words in found.fix for words in (MADE, THERE, SCHEDULER)] == [
        words == fix for words in (MADE, THERE, SCHEDULER)
    ]


@CASES
def test_before_anything_is_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queue: str, fix: str) -> None:
    experiment = {
        "name": "bert",
        "image": "registry.example.com/a:1",
        "launcher": {"command": ["true"]},
        "roles": {"worker": {}},
        "queue": queue,
    }
    plan = build_plan(Experiment.model_validate(experiment), environment())
    with website(MISSING) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        with pytest.raises(ClusterError, match=f"the queue {queue} does not exist") as caught:
            check_job(Cluster(None), plan, [], ())
    (found,) = (fixes for reason, fixes in caught.value.findings if reason.startswith("the queue"))
    assert [words in found for words in (MADE, THERE, SCHEDULER)] == [
        words == fix for words in (MADE, THERE, SCHEDULER)
    ]


def test_a_queue_whose_status_is_something_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked(tmp_path, environment(), 60.0)
    refused = pytest.raises(ClusterError, match=r"does not answer as a Kubernetes API .its answer to /apis/scheduling")
    with website((200, "application/json", b'{"status": 5}')) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        with contextlib.closing(ClusterApi(None, 60.0)) as api, refused:
            NAMED["queues"].look(asked, {"kubeconfig": Finding(State.OK, "", value=api)})
