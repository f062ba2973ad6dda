"""`trainform status`, from a server that answers as an API server does, and its text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec import structs

import trainform
from tests.cli.running import error_of, run
from tests.cli.test_stacks import follow
from tests.cluster.test_client import use
from tests.deployed.test_overview import environment, job, of_job, recorded
from tests.running.jobs import container, of_role, snapshot
from tests.running.test_read import event, identified
from tests.support.api_objects import ApiObjects
from tests.support.samples import JOB
from tests.support.websites import website
from trainform.cli.status_text import sections
from trainform.cluster.facts import Holder
from trainform.console.lines import DEFAULT_WIDTH
from trainform.console.terminal import lines_of
from trainform.running.model import Cause, End, Failure, Fault, JobStatus, Reason
from trainform.running.status import status_of


@pytest.fixture
def objects() -> ApiObjects:
    """The objects of the cluster."""
    return ApiObjects([recorded("bert"), job("bert"), of_job("bert", 0), of_job("bert", 1)])


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, objects: ApiObjects) -> Iterator[Path]:
    """A project of which one stack is deployed."""
    for folder in ("environments", "experiments"):
        (tmp_path / "stacks" / folder).mkdir(parents=True)
    (tmp_path / "Pulumi.yaml").write_text("name: vision\nruntime: python\nmain: stacks\nstackConfigDir: stacks\n")
    for name in ("dev", "prod"):
        data = environment(name).model_dump(by_alias=True, exclude_defaults=True)
        (tmp_path / "stacks" / "environments" / f"{name}.yaml").write_text(yaml.safe_dump(data))
    for name in ("bert", "mnist"):
        text = yaml.safe_dump({**JOB, "name": name, "roles": {"worker": {"replicas": 2}}}, sort_keys=False)
        (tmp_path / "stacks" / "experiments" / f"{name}.yaml").write_text(text)
    follow("bert.dev", None, tmp_path)
    (tmp_path / "stacks" / "Pulumi.dev.yaml").write_text("config:\n  trainform:environment: dev\n")
    monkeypatch.chdir(tmp_path)
    with website(objects) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        yield tmp_path


def test_a_job_by_its_stack_or_its_experiment(project: Path) -> None:
    by_stack = run("status", "bert.dev")
    assert by_stack[0] == 0
    assert by_stack[1].splitlines()[0] == "bert.dev: running"
    assert by_stack[2] == ""
    for words in (["bert"], ["bert", "-e", "dev"], ["bert", "-e", "stacks/environments/dev.yaml"]):
        assert run("status", *words)[1].splitlines()[1:4] == by_stack[1].splitlines()[1:4], words


def test_a_job_of_another_checkout_needs_no_stack(project: Path) -> None:
    code, out, _ = run("status", "mnist", "-e", "prod", "--output", "json")
    found = json.loads(out)
    assert (code, found["phase"], found["stack"]) == (0, "gone", "")
    assert found["message"] == "it is not deployed; `pulumi up` deploys it"


def test_the_same_as_data(project: Path) -> None:
    code, out, _ = run("status", "bert.dev", "--output", "json")
    found, status = json.loads(out), trainform.status("bert.dev")
    assert (code, found["phase"], found["accelerators"]) == (0, "running", {"a800": 16})
    assert isinstance(status, JobStatus)
    assert (status.phase, status.pods[0].name) == ("running", found["pods"][0]["name"])
    assert run("status", "bert.dev", "--output", "markdown")[1].startswith("## bert.dev: running")


def test_a_job_that_ended_by_its_preemption(project: Path, objects: ApiObjects) -> None:
    body = job("bert", "Terminated")
    body["status"]["conditions"] = [{"status": "Terminated", "lastTransitionTime": "2026-11-22T10:02:10Z"}]
    objects.bodies = [recorded("bert"), body]
    assert trainform.status("bert.dev").fault is None
    pod = identified(of_job("bert", 0), "pod-0")
    objects.bodies += [event(pod, "Evict", "2026-11-22T10:02:01Z")]
    found = trainform.status("bert.dev")
    assert (found.phase, found.fault, found.message) == ("failed", "queue", "preempted at 2026-11-22 10:02 UTC")
    body["status"]["retryCount"] = 1
    assert trainform.status("bert.dev").fault is None, "it may have been restarted after that"


def test_what_may_not_be_read_is_named(project: Path, objects: ApiObjects) -> None:
    objects.forbidden = frozenset({"*/queues", "podgroups"})
    code, out, _ = run("status", "bert.dev")
    assert code == 0
    assert "Not read\n  Gang: this account has no permission to list podgroups of the namespace" in out
    objects.forbidden = frozenset({"jobs", "pods"})
    code, out, _ = run("status", "bert.dev")
    assert (code, out.splitlines()[0]) == (1, "bert.dev: unknown")


def test_a_cluster_that_does_not_answer_is_an_error(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(project / "kubeconfig", monkeypatch, "http://127.0.0.1:9", {"token": "t0ken"})
    assert "cannot reach the cluster" in error_of("status", "bert.dev", code=1)["message"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bert.prod"], "1 problem"),
        (["dev"], "dev is the stack of the environment dev itself, which runs no job"),
        (["mnist"], "Missing option '--environment' / '-e'"),
        (["bert.dev", "--watch"], "--watch shows text"),
        (["bert.dev", "-e", "dev"], "-e cannot be used with the stack bert.dev"),
    ],
)
def test_words_that_name_no_job(project: Path, words: list[str], message: str) -> None:
    assert error_of("status", *words, code=2)["message"] == message


def test_a_watch_ends_with_the_job(project: Path, objects: ApiObjects) -> None:
    objects.bodies = [recorded("bert"), job("bert", "Completed")]
    code, out, err = run("status", "bert.dev", "--watch")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "bert.dev: succeeded"


# --- text


def text_of(found: JobStatus) -> list[str]:
    lines = [line.text for line in lines_of([sections(found)], DEFAULT_WIDTH)]
    assert max(map(len, lines)) <= DEFAULT_WIDTH
    return lines


def of_pods(pods: Sequence[dict[str, Any]], word: str = "Running", **changed: Any) -> list[str]:
    return text_of(status_of(snapshot(pods, word, **changed)))


def test_the_text_of_a_job_that_runs() -> None:
    crashing = container(2, waiting={"reason": "CrashLoopBackOff"})
    pods = [of_role("worker", 0), of_role("worker", 1, containerStatuses=[crashing])]
    assert of_pods(pods, outputs={pods[0]["metadata"]["name"]: "2026-11-22T11:04:20.12Z"}) == [
        "bert.dev: restarting",
        "  ai-namespace/bert-1f3a9c, volcano",
        "    queue   default",
        "    pods    2 of 2 placed, 1 restarting, 1 running, 2 restarts",
        "    uses    16 a800",
        "    time    created 2 h ago, its pods run for 2 h (67.20 USD)",
        "",
        "Pods",
        "  pod       rank  state             restarts  last output  node",
        "  worker/0  0     running           0         39 s ago     node-0",
        "  worker/1  1     CrashLoopBackOff  2                      node-0",
    ]


def test_a_thousand_pods_are_a_few_rows() -> None:
    oom = container(terminated={"exitCode": 137, "reason": "OOMKilled"})
    pods = [of_role("worker", index, on=f"node-{index // 8}") for index in range(1000)]
    pods += [of_role("worker", index, "Failed", "node-127", containerStatuses=[oom]) for index in range(1000, 1024)]
    lines = of_pods(pods)
    assert lines[lines.index("Pods") + 1 :][:4] == [
        "  pods  role    state      restarts  nodes",
        "  1000  worker  running    0         node-0, node-1, node-10 and 122 more",
        "  24    worker  OOMKilled  0         node-127",
        "  pod          rank  state      restarts  node",
    ]
    assert lines[-1] == "  And 14 more; `--output json` has all pods."
    assert len(lines) < 30


def test_a_long_name_of_a_node_stays_whole() -> None:
    node = "ip-10-0-1-0.eu-central-1.compute.internal.training.example.com"
    assert any(node in line for line in of_pods([of_role("worker", 0, on=node)]))


def test_the_text_of_a_job_whose_pods_are_gone() -> None:
    lines = of_pods([], "Completed")
    assert lines[0] == "bert.dev: succeeded"
    assert "    phase   from the job object (its pods are gone)" in lines


def test_the_text_of_reasons_and_of_a_failure() -> None:
    holder = Holder("training/hog", "8 a800", "default", 100)
    reason = Reason(
        "nodes", "needs 16 a800, 8 are free, at most 4 on one node", "wait for training/hog", "Queue/vision",
        holders=(holder,),
    )  # fmt: skip
    message = 'Traceback (most recent call last):\n  File "/app/train.py", line 3\nRuntimeError: bad batch'
    end = End(Cause.EXCEPTION, Fault.WORKLOAD, 1, None, message, "2026-11-22T11:00:00Z")
    failure = Failure(("bert-1f3a9c-worker-1",), (1,), end, 31, 40)
    found = status_of(snapshot([of_role("worker", 0)]))
    lines = text_of(structs.replace(found, reasons=(reason,), failure=failure))
    assert lines[lines.index("Why it waits") :][:11] == [
        "Why it waits",
        "  nodes Queue/vision: Needs 16 a800, 8 are free, at most 4 on one node.",
        "    held by training/hog: 8 a800 (queue default, priority 100)",
        "    fix     wait for training/hog",
        "",
        "Last failure or restart",
        "  bert-1f3a9c-worker-1: Rank 1: exception (exit code 1), fault: workload; 31",
        "  others ended within 40 s.",
        "    Traceback (most recent call last):",
        '      File "/app/train.py", line 3',
        "    RuntimeError: bad batch",
    ]
