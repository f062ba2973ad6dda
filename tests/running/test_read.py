"""The objects of one job, read from a server that answers as an API server does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_client import use
from tests.deployed.test_overview import PLENTY, REVISION, environment, job, of_job, recorded
from tests.support.api_objects import ApiObjects
from tests.support.live_objects import NAMESPACE, queue
from tests.support.websites import website
from trainform import defaults
from trainform.errors import ClusterError
from trainform.running.read import read, read_around
from trainform.running.snapshot import Snapshot, Target

UID = "0d4f2a8e-6f0f-4f2b-9d5b-2f9f1b7a7c11"


def identified(body: dict[str, Any], uid: str, **metadata: Any) -> dict[str, Any]:
    return {**body, "metadata": {**body["metadata"], "uid": uid, **metadata}}


def bert(revision: str = REVISION) -> dict[str, Any]:
    labels = {**defaults.MANAGED_BY, defaults.NAME_LABEL: "bert", defaults.REVISION_LABEL: revision}
    return identified(job("bert"), UID, name=f"bert-{revision}", labels=labels)


def gang(owner: str, name: str = f"bert-{REVISION}-{UID}", phase: str = "Running") -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE, "uid": f"gang-{name}", "ownerReferences": [{"uid": owner}]}
    status = {"phase": phase}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": metadata,
        "spec": {},
        "status": status,
    }


def event(of: dict[str, Any], reason: str, at: str, kind: str = "Warning") -> dict[str, Any]:
    metadata = {"name": f"{reason}.{at}", "namespace": NAMESPACE, "uid": f"{reason}-{at}"}
    involved = {"kind": of["kind"], "name": of["metadata"]["name"], "uid": of["metadata"]["uid"]}
    body = {"apiVersion": "v1", "kind": "Event", "metadata": metadata, "involvedObject": involved}
    return {**body, "reason": reason, "type": kind, "lastTimestamp": at}


def claim(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "status": {"phase": "Bound"}}


@pytest.fixture(name="read")
def read_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def reading(
        objects: Any,
        seconds: float = PLENTY,
        then: Callable[[], object] = lambda: None,
        every: bool | None = None,
        **more: Any,
    ) -> Snapshot:
        """every: read also what is around the job, with which events. None: without it."""
        with website(objects) as server:
            use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
            found = read(Target("bert", environment()), seconds, **more)
            found = found if every is None else read_around(found, seconds, every=every)
            then()
            return found

    return reading


def test_what_belongs_to_the_recorded_job_is_read(read: Any) -> None:
    storage = {"data": {"claim": "corpora", "mount": "/data"}, "out": {"size": "1Ti", "mount": "/out"}}
    record, pods = recorded("bert", storage=storage, queue="vision"), [of_job("bert", index) for index in range(2)]
    older = identified(of_job("bert", 5), "older", name="bert-000000-worker-5")
    older["metadata"]["labels"] = {**older["metadata"]["labels"], defaults.REVISION_LABEL: "000000"}
    pods = [identified(each, f"pod-{index}") for index, each in enumerate(pods)]
    claims = [claim("corpora"), claim("bert-out"), claim("other")]
    events = [
        event(pods[0], "FailedMount", "2026-11-22T09:03:00Z"),
        event(pods[0], "Pulled", "2026-11-22T09:04:00Z", "Normal"),
        event(gang(UID), "Unschedulable", "2026-11-22T09:02:00Z"),
        event(bert(), "ExecuteAction", "2026-11-22T09:01:00Z", "Normal"),
        event(older, "BackOff", "2026-11-22T08:00:00Z"),
        event(identified(pods[1], "before"), "Evict", "2026-11-22T08:59:00Z"),  # of a job with the same name
    ]
    objects = [record, bert(), *pods, older, gang(UID), gang("other", "other"), queue("vision"), *claims, *events]
    assert (read(ApiObjects(objects)).claims, read(ApiObjects(objects)).events) == ((), ())
    found = read(ApiObjects(objects), every=False)
    assert (found.target.stack, found.record.revision, found.not_read) == ("vision/bert.dev", REVISION, {})
    assert found.job["metadata"]["uid"] == UID
    assert [pod["metadata"]["uid"] for pod in found.pods] == ["pod-0", "pod-1"]
    assert found.gang == gang(UID)
    assert found.queue["metadata"]["name"] == "vision"
    assert [each["metadata"]["name"] for each in found.claims] == ["corpora", "bert-out"]
    assert [each["reason"] for each in found.events] == ["ExecuteAction", "Unschedulable", "FailedMount"]
    assert "Pulled" in {each["reason"] for each in read(ApiObjects(objects), every=True).events}


def test_the_newest_job_of_the_experiment_stands_for_one_that_is_not_recorded(read: Any) -> None:
    """An `up` that failed half way has replaced the job, but not the record."""
    found = read(ApiObjects([recorded("bert"), bert("77aa01"), of_job("bert", 0)]))
    assert (found.job["metadata"]["name"], found.pods) == ("bert-77aa01", [])
    without_record = read(ApiObjects([bert("77aa01")]))
    assert (without_record.record, without_record.job["metadata"]["name"]) == (None, "bert-77aa01")


def test_of_several_gangs_that_which_waits_is_the_jobs(read: Any) -> None:
    gangs = [gang(UID, "bert-master"), gang(UID, "bert-worker", "Inqueue"), gang(UID, "bert-ps")]
    assert read(ApiObjects([recorded("bert"), bert(), *gangs])).gang["metadata"]["name"] == "bert-worker"


def test_what_may_not_be_read_is_named_and_the_rest_is_read(read: Any) -> None:
    objects = [recorded("bert", queue="vision"), bert(), of_job("bert", 0)]
    found = read(ApiObjects(objects, forbidden=frozenset({"*/queues", "configmaps", "events"})), every=False)
    assert found.not_read.keys() == {"record", "events"}, "the name of the queue is in the record alone"
    assert found.not_read["events"] == "this account has no permission to list events of the namespace ai-namespace"
    assert len(found.pods) == 1
    found = read(ApiObjects(objects, forbidden=frozenset({"*/queues", "jobs", "pods"})), every=False)
    assert found.not_read.keys() == {"queue", "job", "pods"}
    assert (found.job, found.pods) == (None, [])


def test_a_late_part_is_named_and_a_server_that_does_not_answer_is_an_error(read: Any) -> None:
    found = read(ApiObjects([recorded("bert"), bert()], slow={"podgroups": 3.0}), seconds=1.0)
    assert found.not_read.keys() == {"gang"}
    late = dict.fromkeys(["configmaps", "pods"], 3.0)
    with pytest.raises(ClusterError, match="timed out"):
        read(ApiObjects(slow=late), seconds=1.0)


@pytest.mark.parametrize(("pods", "read_of"), [(2, range(2)), (40, range(32))])
def test_the_last_output_of_the_first_pods(
    read: Any, pods: int, read_of: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trainform.running.read.OUTPUT_SECONDS", PLENTY)
    objects = ApiObjects([recorded("bert", pods), bert(), *(of_job("bert", index) for index in range(pods))])

    def answering(path: str) -> Any:
        if "/log?" in path:
            assert "container=main" in path
            return 200, "text/plain", b"2026-11-22T11:04:58.5Z step 1200 loss 0.31\n"
        return objects(path)

    found = read(answering, outputs=True)
    names = {f"bert-{REVISION}-worker-{index}": "2026-11-22T11:04:58.5Z" for index in read_of}
    assert (found.outputs, found.not_read) == (names, {})


def test_a_node_that_does_not_answer_delays_nothing_for_long(read: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trainform.running.read.OUTPUT_SECONDS", 2.0)
    objects, ended = ApiObjects([recorded("bert"), bert(), of_job("bert", 0), of_job("bert", 1)]), threading.Event()

    def answering(path: str) -> Any:
        if "worker-1/log?" in path:
            ended.wait(PLENTY)
        return (500, "text/plain", b"no route to host") if "/log?" in path else objects(path)

    start = time.monotonic()
    found = read(answering, outputs=True, then=ended.set)
    assert (found.outputs, found.not_read) == ({f"bert-{REVISION}-worker-0": ""}, {})
    assert time.monotonic() - start < PLENTY
