"""What to do about an object that the live cluster does not have: the command that creates it, if there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_read import use
from tests.support.websites import website
from trainform.cluster.outcome import StackContext
from trainform.cluster.preflight import check_job
from trainform.cluster.read import Cluster
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
DECLARED = frozenset(
    {("Queue", "ours"), ("PriorityClass", "urgent"), ("PersistentVolumeClaim", "datasets"), ("Namespace", "team")}
)
CASES = pytest.mark.parametrize(("queue", "fix"), [("ours", MADE), ("theirs", THERE), ("default", SCHEDULER)])


def environment() -> Environment:
    return Environment.model_validate({"name": "prod", "namespace": {"name": "team"}, "queues": QUEUES})


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
            check_job(Cluster(None), plan, [], (), (), StackContext(declared=DECLARED))
    (found,) = (fixes for reason, fixes in caught.value.findings if reason.startswith("the queue"))
    assert [words in found for words in (MADE, THERE, SCHEDULER)] == [
        words == fix for words in (MADE, THERE, SCHEDULER)
    ]


def test_what_the_environments_file_declares(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = {
        "name": "bert",
        "image": "registry.example.com/a:1",
        "launcher": {"command": ["true"]},
        "roles": {"worker": {}},
        "queue": "ours",
        "priority_class": "urgent",
        "storage": {"data": {"claim": "datasets", "mount": "/data"}},
    }
    plan = draft_plan(Experiment.model_validate(experiment), environment())
    with website(MISSING) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        for declared in (DECLARED, frozenset[tuple[str, str]]()):
            with pytest.raises(ClusterError, match="4 problems") as caught:
                check_job(Cluster(None), plan, [], (), (), StackContext(declared=declared))
            assert [fix == MADE for _, fix in caught.value.findings] == [bool(declared)] * 4
