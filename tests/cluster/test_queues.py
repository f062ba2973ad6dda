"""What to do about a queue that the live cluster does not have: the command that makes it, where there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_read import use
from tests.support.websites import website
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
            check_job(Cluster(None), plan, [], ())
    (found,) = (fixes for reason, fixes in caught.value.findings if reason.startswith("the queue"))
    assert [words in found for words in (MADE, THERE, SCHEDULER)] == [
        words == fix for words in (MADE, THERE, SCHEDULER)
    ]
