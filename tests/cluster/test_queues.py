"""What to do about a queue that the live cluster does not have: the command that makes it, where there is one."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from tests.cluster.test_read import use
from tests.support.websites import website
from trainform.cluster.api import ClusterApi
from trainform.cluster.preflight import check_job
from trainform.cluster.read import Cluster
from trainform.doctor.environment import NAMED_OBJECTS
from trainform.doctor.model import Finding, Request, State
from trainform.errors import ClusterError
from trainform.objects import draft_plan
from trainform.spec import Environment, Experiment

MISSING = (404, "application/json", b'{"kind": "Status", "apiVersion": "v1", "code": 404, "message": "not found"}')
MADE, THERE, SCHEDULER = (
    "pulumi stack select --create prod && pulumi up -s prod",
    "kubectl get queues.scheduling.volcano.sh",
    "volcano-scheduler",
)
QUEUES: dict[str, Any] = {"ours": {}, "theirs": {"create": False}}
CASES = pytest.mark.parametrize(("queue", "fix"), [("ours", MADE), ("theirs", THERE), ("default", SCHEDULER)])


def environment() -> Environment:
    return Environment.model_validate({"name": "prod", "namespace": {"name": "team"}, "queues": QUEUES})


@CASES
def test_doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queue: str, fix: str) -> None:
    request = Request(tmp_path, environment(), 60.0)
    only = structs.replace(NAMED_OBJECTS["queues"], names=lambda environment: [queue])
    with website(MISSING) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        with contextlib.closing(ClusterApi(None, 60.0)) as api:
            found = only.look(request, {"kubeconfig": Finding(State.OK, "", value=api)})
    assert found.text == f"{queue} does not exist"
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
    plan = draft_plan(Experiment.model_validate(experiment), environment())
    with website(MISSING) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        with pytest.raises(ClusterError, match=f"the queue {queue} does not exist") as caught:
            check_job(Cluster(None), plan, [], ())
    (found,) = (fixes for reason, fixes in caught.value.findings if reason.startswith("the queue"))
    assert [words in found for words in (MADE, THERE, SCHEDULER)] == [
        words == fix for words in (MADE, THERE, SCHEDULER)
    ]


def test_a_queue_with_an_invalid_status_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    request = Request(tmp_path, environment(), 60.0)
    refused = pytest.raises(ClusterError, match=r"does not answer as a Kubernetes API .its answer to /apis/scheduling")
    with website((200, "application/json", b'{"status": 5}')) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        with contextlib.closing(ClusterApi(None, 60.0)) as api, refused:
            NAMED_OBJECTS["queues"].look(request, {"kubeconfig": Finding(State.OK, "", value=api)})
