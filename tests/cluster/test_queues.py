"""What to do about an object that the live cluster does not have: the command that creates it, if there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_client import use
from tests.support.websites import website
from trainform.cluster.api import ClusterApi
from trainform.cluster.outcome import StackContext
from trainform.cluster.preflight import check_job
from trainform.errors import ClusterError
from trainform.job.render import draft_plan, job_manifests
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

MISSING = (404, "application/json", b'{"kind": "Status", "apiVersion": "v1", "code": 404, "message": "not found"}')
MADE, THERE = "pulumi stack select --create prod && pulumi up -s prod", "kubectl get queues.scheduling.volcano.sh"
QUEUES: dict[str, Any] = {"ours": {}, "theirs": {"create": False}}
DECLARED = frozenset(
    {("Queue", "ours"), ("PriorityClass", "urgent"), ("PersistentVolumeClaim", "datasets"), ("Namespace", "team")}
)
CASES = pytest.mark.parametrize(("queue", "fix"), [("ours", MADE), ("theirs", THERE), ("default", THERE)])


def environment() -> Environment:
    return Environment.model_validate({"name": "prod", "namespace": {"name": "team"}, "queues": QUEUES})


def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: frozenset[tuple[str, str]], **parts: Any) -> Any:
    """The findings of the preflight on a cluster that has nothing."""
    data = {
        "name": "bert",
        "image": "registry.example.com/a:1",
        "launcher": {"command": ["true"]},
        "roles": {"worker": {}},
        **parts,
    }
    plan = draft_plan(Experiment.model_validate(data), environment())
    with website(MISSING) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        with pytest.raises(ClusterError) as caught:
            check_job(ClusterApi(None), plan, job_manifests(plan), (), (), StackContext(declared=declared))
    return caught.value.findings


@CASES
def test_before_anything_is_registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, queue: str, fix: str) -> None:
    findings = refused(tmp_path, monkeypatch, DECLARED, queue=queue)
    (found,) = (fixes for reason, fixes in findings if reason == f"queue: the Queue {queue} does not exist")
    assert [words in found for words in (MADE, THERE)] == [words == fix for words in (MADE, THERE)]


@pytest.mark.parametrize("declared", [DECLARED, frozenset()])
def test_what_the_environments_file_declares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, declared: frozenset[tuple[str, str]]
) -> None:
    storage = {"data": {"claim": "datasets", "mount": "/data"}}
    findings = refused(tmp_path, monkeypatch, declared, queue="ours", priority_class="urgent", storage=storage)
    assert [fix == MADE for _, fix in findings] == [bool(declared)] * 4
