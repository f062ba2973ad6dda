"""What of a live cluster cannot be read."""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.live_cluster import JOB, PLENTY, asked, cluster, config_map
from tests.cluster.test_client import use
from tests.support.api_objects import ApiObjects
from tests.support.live_objects import GPU, NAMESPACE, group, node, pod, queue, volcano_job
from tests.support.websites import WEB_PAGE, website
from trainform.cluster.facts import NO_HOLDERS, AppliedObject
from trainform.cluster.live import LiveReads


def test_what_this_account_may_not_read_is_said(read: Any) -> None:
    objects = cluster()
    objects.forbidden = frozenset({"nodes", "*/pods", "configmaps"})
    wanted = {"jobs": [asked()], "queues": ["default"], "objects": [AppliedObject(config_map())]}
    facts = read(objects, **wanted)
    assert facts.nodes is None
    assert facts.drift is None
    assert [each.phase for each in facts.jobs] == ["Running"]
    assert facts.queues[0].holders == {}
    assert facts.not_read == {
        "nodes": "this account has no permission to list nodes",
        "what other jobs hold": "this account has no permission to list pods",
        "drift": (
            "1 of 1 objects could not be read: this account has no permission to read ConfigMap/sdxl-lora-deployed"
        ),
    }


def test_without_pod_groups_nobody_knows_who_is_in_a_queue(read: Any) -> None:
    objects = cluster()
    objects.forbidden = frozenset({"podgroups"})
    facts = read(objects, queues=["default"])
    assert facts.queues[0].holders == {}
    assert facts.not_read == {NO_HOLDERS: "this account has no permission to list pod groups"}


def test_a_cluster_without_volcano_has_no_queues(read: Any) -> None:
    def answer(path: str) -> Any:
        return (404, "text/plain", b"404 page not found\n") if "volcano" in path else cluster()(path)

    facts = read(answer, queues=["default"], jobs=[asked()])
    assert facts.queues == ()
    assert facts.missing == (f"Job/{JOB}",)
    assert facts.not_read == {}


def test_what_is_late_is_not_waited_for(read: Any) -> None:
    objects = cluster()
    objects.slow = {"nodes": 6.0, f"jobs/{JOB}": 6.0}
    begin = time.monotonic()
    facts = read(objects, seconds=2.0, jobs=[asked()], queues=["default"])
    assert facts.nodes is None
    assert facts.jobs is None
    assert facts.not_read == {"nodes": "no answer within 2 s", f"Job/{JOB}": "no answer within 2 s"}
    assert facts.queues
    assert time.monotonic() - begin < 2.0 + 6.0  # the server itself ends when its answers have


def test_lists_are_read_before_it_is_known_what_to_ask_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As while the engine works: they have its time, and those that are late then have theirs."""
    objects = cluster()
    objects.slow = {"nodes": 1.0, "queues": 5.0}
    with website(objects) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        with LiveReads(None, NAMESPACE, 0.5) as reads:
            until = time.monotonic() + PLENTY
            while len(objects.asked) < 4 and time.monotonic() < until:
                time.sleep(0.01)
            assert sorted(path.partition("?")[0].rpartition("/")[2] for path in objects.asked) == [
                "nodes", "podgroups", "pods", "queues",
            ]  # fmt: skip
            time.sleep(1.5)
            facts = reads.facts([asked()], ["default"])
    assert facts.nodes
    assert facts.jobs
    assert facts.not_read == {"queues": "no answer within 0.5 s"}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [(WEB_PAGE, "does not answer as a Kubernetes API"), ((401, "application/json", b"{}"), "refuses the credentials")],
)
def test_a_server_that_is_no_cluster_is_one_reason(read: Any, answer: Any, reason: str) -> None:
    facts = read(answer, jobs=[asked()], queues=["default"], objects=[asked().object])
    assert (facts.jobs, facts.queues, facts.nodes, facts.drift, facts.missing) == (None, None, None, None, ())
    assert list(facts.not_read) == ["cluster"]
    assert reason in facts.not_read["cluster"]


def test_an_unreachable_cluster_is_one_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(tmp_path / "kubeconfig", monkeypatch, "http://me:s3cret@127.0.0.1:1", {"token": "t0ken"})
    with LiveReads(None, NAMESPACE) as reads:
        facts = reads.facts([asked()], ["default"])
    assert list(facts.not_read) == ["cluster"]
    assert "Connection refused" in facts.not_read["cluster"]
    assert "s3cret" not in facts.not_read["cluster"]


@pytest.mark.parametrize("version", ["../../x", "v1/../x", "V 1", ""])
def test_a_version_that_is_none_is_not_asked_for(read: Any, version: str) -> None:
    objects = cluster()
    facts = read(
        objects, objects=[AppliedObject({"apiVersion": version, "kind": "Job", "metadata": {"name": "a/../b"}})]
    )
    assert "is not an API version" in facts.not_read["drift"]
    assert not any("x" in path.split("?")[0] for path in objects.asked)


OWED = 30.0
PROGRAM = """
import sys, time
from trainform.cluster.live import LiveReads
begin = time.monotonic()
with LiveReads(None, "ai-namespace", 0.5) as reads:
    print(reads.facts().not_read, flush=True)
assert time.monotonic() - begin < 10
"""


def test_the_process_ends_while_a_server_still_owes_its_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    objects = ApiObjects(slow=dict.fromkeys(("nodes", "pods", "queues", "podgroups"), OWED))
    with website(objects) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        begin = time.monotonic()
        done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert time.monotonic() - begin < OWED
    assert "no answer within 0.5 s" in done.stdout


def test_of_a_thousand_pods_little_is_kept(read: Any) -> None:
    pods = [pod(JOB, index, on=f"node-{index // 8}", accelerators=1, experiment="sdxl-lora") for index in range(1024)]
    for each in pods:  # as large as real ones
        each["metadata"]["annotations"]["filler"] = "x" * 8000
    objects = ApiObjects(
        [
            *(node(f"node-{index}") for index in range(128)),
            queue("default"),
            volcano_job(JOB),
            group(f"{JOB}-uid", "default"),
            *pods,
        ]
    )
    tracemalloc.start()
    facts = read(objects, jobs=[asked()], queues=["default"])
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert facts.jobs[0].pods == {"Running": 1024}
    assert facts.queues[0].holders[f"{NAMESPACE}/{JOB}"][GPU] == "1024"
    assert kept < 20 << 20
