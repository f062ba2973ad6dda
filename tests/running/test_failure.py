"""The first failed pod of a job, and why it failed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.deployed.test_overview import job
from tests.running.failures import FAILURES, LOSS, STEP, Labelled, at, failed, others, raised, terminated
from tests.running.jobs import JOB_NAME, container, of_role, snapshot
from tests.support.repository import ROOT
from trainform.running.failure import end_of, error_line, failure_of
from trainform.running.model import Cause, Failure, Fault
from trainform.running.status import status_of


def test_the_set_is_whole() -> None:
    assert len(FAILURES) == len({each.name for each in FAILURES}) == 25
    assert {each.cause for each in FAILURES} == {*Cause} - {Cause.TERMINATED}, "which is always a cascade"


@pytest.mark.parametrize("case", [pytest.param(each, id=each.name) for each in FAILURES])
@pytest.mark.parametrize("order", [1, -1])
def test_who_failed_first_why_and_whose_fault(case: Labelled, order: int) -> None:
    found = failure_of(snapshot(case.pods[::order], "Failed"))
    assert found is not None
    assert found.end is not None
    assert (found.pods, found.ranks) == (tuple(f"{JOB_NAME}-worker-{index}" for index in case.first), case.first)
    assert (found.end.cause, found.end.fault, found.cascade) == (case.cause, case.fault, case.cascade)
    assert found.end.signal == case.signal


def test_the_page_explains_each_cause() -> None:
    page = (ROOT / "docs" / "how-to" / "first-failure.md").read_text()
    table = page.partition("## The causes")[2].partition("## ")[0]
    assert re.findall(r"^\| `(.*?)` \|", table, re.MULTILINE) == [*Cause]


def test_the_end_of_a_pod() -> None:
    end = end_of(failed(3, 1, 60, LOSS))
    assert end is not None
    assert (end.exit_code, end.signal, end.at) == (1, None, "2026-11-22T10:01:00Z")
    assert end.message == LOSS.rstrip()
    assert end_of(of_role("worker", 0)) is None
    assert end_of(of_role("worker", 0, "Succeeded", containerStatuses=[container(terminated={"exitCode": 0})])) is None


def test_a_secret_in_a_message_is_masked() -> None:
    token = "hf_" + "aB3dE5fG7hI9jK1lM2nO"
    end = end_of(failed(0, 1, 60, raised(f"HTTPError: 401 for token {token}")))
    assert end is not None
    assert token not in end.message
    assert end.message.startswith("Traceback")


LOADS = "RuntimeError: Error(s) in loading state_dict for GPT:"
KILLED = "torchrun: rank 11 (local_rank: 3), exitcode -9 (pid: 72)"


@pytest.mark.parametrize(
    ("code", "message", "line"),
    [
        (
            1,
            raised("ValueError: batch_size=17 is not divisible by 8"),
            "ValueError: batch_size=17 is not divisible by 8",
        ),
        (1, raised(f"{LOADS}\n\tsize mismatch for wte.weight", rank=3), LOADS),
        (1, f"{KILLED}\nTraceback (most recent call last):\n{STEP}KeyError: 'a handled one'\n", KILLED),
        (1, f"{KILLED}\nUserWarning: 4 workers on 2 cores", KILLED),
        (127, "/bin/sh: 1: pyhton: not found\n", "/bin/sh: 1: pyhton: not found"),
        (3, "epoch 4 of 5\nno data\n", ""),
    ],
)
def test_the_line_that_names_the_error(code: int, message: str, line: str) -> None:
    end = end_of(failed(0, code, 4, message))
    assert end is not None
    assert error_line(end) == line


def test_the_cascade_is_folded() -> None:
    found = failure_of(snapshot([failed(3, 1, 60, LOSS), *others(31, 70)]))
    assert found is not None
    assert (found.cascade, found.cascade_seconds) == (31, 40)


def test_an_init_container_that_fails() -> None:
    said = "trainform: https://git.example.com/vision has no commit 1f3a9c\n"
    made = container(terminated=terminated(1, 20, said)) | {"name": "code"}
    waits = container(waiting={"reason": "PodInitializing"})
    end = end_of(of_role("worker", 0, "Failed", initContainerStatuses=[made], containerStatuses=[waits]))
    assert end is not None
    assert (end.cause, end.message, end.container) == (Cause.EXIT, said.rstrip(), "code")


def test_the_attempt_that_ended() -> None:
    """An end of long before belongs to another attempt."""
    old = container(2, last={"terminated": terminated(137, 0, reason="OOMKilled")}, running={})
    old["lastState"]["terminated"]["finishedAt"] = "2026-11-22T03:00:00Z"
    new = container(2, terminated=terminated(1, 60, LOSS))
    pods = [of_role("worker", index, containerStatuses=[each]) for index, each in enumerate((old, new))]
    found = failure_of(snapshot(pods))
    assert found is not None
    assert (found.ranks, found.cascade) == ((1,), 0)


def test_an_earlier_attempt_whose_containers_were_restarted() -> None:
    """In place: rank 0 has run again since its end, and rank 1 with it."""
    oom = {"terminated": terminated(137, 60, reason="OOMKilled")}
    raises = terminated(1, 1500, LOSS) | {"startedAt": at(65)}
    pods = [
        of_role("worker", index, containerStatuses=[each])
        for index, each in enumerate(
            (container(1, oom, running={"startedAt": at(65)}), container(2, terminated=raises))
        )
    ]
    found = failure_of(snapshot(pods))
    assert found is not None and found.end is not None
    assert (found.ranks, found.end.cause, found.cascade) == ((1,), Cause.EXCEPTION, 0)


def test_a_traceback_that_is_not_of_the_end() -> None:
    """Python ends with 1 if nothing handles an exception."""
    closed = raised("RuntimeError: [gloo/transport/tcp/pair.cc] Connection closed by peer")
    killed = "torchrun: rank 3 (local_rank: 1), exitcode -11 (pid: 74)\n"
    cases = ((1, killed + closed, Cause.SIGNAL), (3, closed, Cause.EXIT), (1, closed, Cause.COMMUNICATION))
    ends = [end_of(failed(0, code, 60, said)) for code, said, _ in cases]
    assert [end and end.cause for end in ends] == [cause for *_, cause in cases]
    chained = f"{closed}During handling of the above exception, another exception occurred:\n{LOSS}"
    end = end_of(failed(0, 1, 60, chained))
    assert end is not None
    assert (end.cause, end.fault) == (Cause.EXCEPTION, Fault.WORKLOAD)


def test_a_pod_that_the_kubelet_refuses_or_evicts_for_its_own_use() -> None:
    refused = end_of(of_role("worker", 0, "Failed", reason="OutOfnvidia.com/gpu", message="Pod was rejected"))
    assert refused is not None
    assert (refused.cause, refused.fault, refused.message) == (Cause.NOT_STARTED, Fault.PLATFORM, "Pod was rejected")
    disk = 'Container main exceeded its local ephemeral storage limit "10Gi". '
    for message, fault in ((disk, Fault.WORKLOAD), ("The node was low on resource: memory. ", Fault.PLATFORM)):
        evicted = end_of(of_role("worker", 0, "Failed", reason="Evicted", message=message))
        assert evicted is not None
        assert (evicted.cause, evicted.fault) == (Cause.EVICTED, fault)


def restarted(**status: Any) -> dict[str, Any]:
    """A job that its operator has restarted once."""
    body = job("bert", "Running")
    body["status"] |= status
    return body


def test_an_attempt_whose_pods_were_deleted() -> None:
    conditions = [
        {"status": "Running", "lastTransitionTime": "2026-11-22T09:05:00Z"},
        {"status": "Restarting", "lastTransitionTime": "2026-11-22T10:02:00Z"},
    ]
    found = failure_of(snapshot([of_role("worker", 0)], job=restarted(retryCount=1, conditions=conditions)))
    assert found == Failure((), (), note="pods were recreated (Restarting at 10:02 UTC)")
    conditions += [{"status": each, "lastTransitionTime": at(180)} for each in ("Running", "Terminated")]
    found = failure_of(snapshot([], "Terminated", job=restarted(conditions=conditions)))
    assert found == Failure((), (), note="pods were deleted (Terminated at 10:03 UTC)"), "the last condition counts"
    assert failure_of(snapshot([of_role("worker", 0)])) is None
    assert failure_of(snapshot([], job=job("bert", "Running"))) is None


def test_the_words_of_a_job_whose_pods_are_gone() -> None:
    said = f"jobset failed due to reaching max number of restarts (first failed job: {JOB_NAME}-worker-0)"
    condition = {"type": "Failed", "status": "True", "message": said, "lastTransitionTime": at(120)}
    found = failure_of(snapshot([], job=restarted(restarts=2, conditions=[condition])))
    assert found == Failure((), (), note=f"{said}; pods were deleted (Failed at 10:02 UTC)")


def test_a_job_that_took_too_long() -> None:
    """The Job controller deletes the pods."""
    said = "Job was active longer than specified deadline"
    condition = {"type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": said}
    found = status_of(snapshot([], "Failed", job=restarted(conditions=[condition | {"lastTransitionTime": at(120)}])))
    assert found.failure is not None and found.failure.end is not None
    assert (found.failure.end.cause, found.failure.end.message) == (Cause.DEADLINE, said)


@pytest.mark.parametrize(
    ("code", "said", "cause"),
    [
        (
            2,
            "usage: train.py [-h] [--backend {nccl,gloo}]\ntrain.py: error: unrecognized arguments: --rdzv",
            Cause.EXIT,
        ),
        (3, "bert-worker-0:71:71 [0] NCCL INFO cudaDriverVersion 12040\nNCCL version 2.21.5+cuda12.4", Cause.EXIT),
        (3, "[rank0]:[W1127 ProcessGroupNCCL.cpp:1496] Warning: destroy_process_group() was not called", Cause.EXIT),
        (1, raised("FileNotFoundError: [Errno 2] No such file or directory: '/data/gloo.bin'"), Cause.EXCEPTION),
        (1, raised("ValueError: unknown backend 'gloo2'"), Cause.EXCEPTION),
        (1, raised("RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] EOF"), Cause.COMMUNICATION),
        (1, raised("RendezvousTimeoutError"), Cause.COMMUNICATION),
    ],
)
def test_words_about_communication_are_no_failure_of_it(code: int, said: str, cause: Cause) -> None:
    end = end_of(failed(0, code, 60, said))
    assert end is not None
    assert end.cause == cause


def test_another_process_that_was_killed_over_memory_is_no_cause() -> None:
    """The kubelet reports OOMKilled if any process of the container was, such as a worker of the data loader."""
    end = end_of(failed(0, 1, 60, LOSS, "OOMKilled"))
    assert end is not None
    assert (end.cause, end.exit_code) == (Cause.EXCEPTION, 1)


def test_a_cascade_whose_cause_is_deleted_has_no_fault() -> None:
    lost = raised("RuntimeError: [./gloo/transport/tcp/pair.cc:534] Connection closed by peer")
    found = failure_of(snapshot([failed(0, 1, 62, lost)], "Terminated"))
    assert found is not None and found.end is not None
    assert (found.end.cause, found.end.fault) == (Cause.COMMUNICATION, None)
    assert found.note == "missing: 1 of 2 pods, which may have failed first"
    again = of_role("worker", 1)
    again["metadata"]["creationTimestamp"] = at(70)
    found = failure_of(snapshot([failed(0, 1, 62, lost), again]))
    assert found is not None
    assert found.note == "missing: 1 of 2 pods, which may have failed first", "it was made again"
    found = failure_of(snapshot([failed(0, 3, 62)], "Terminated"))
    assert found is not None and found.end is not None
    assert (found.end.fault, found.note) == (Fault.WORKLOAD, "")


def with_sidecar(main: dict[str, Any], other: dict[str, Any], phase: str = "Running") -> dict[str, Any]:
    """A pod with a second container, whose status comes first."""
    body = of_role("worker", 0, phase, containerStatuses=[{**other, "name": "log-shipper"}, main])
    body["spec"]["containers"].append({"name": "log-shipper"})
    return body


def test_the_main_container_comes_before_a_sidecar() -> None:
    shipper, runs = container(terminated=terminated(3, 3)), container(running={"startedAt": at(0)})
    assert end_of(with_sidecar(runs, shipper)) is None
    assert status_of(snapshot([with_sidecar(runs, shipper), of_role("worker", 1)])).phase == "running"
    end = end_of(with_sidecar(container(terminated=terminated(1, 70, raised("MemoryError"))), shipper, "Failed"))
    assert end is not None
    assert (end.cause, end.container) == (Cause.OOM, "")
    end = end_of(with_sidecar(container(terminated=terminated(0, 70)), shipper, "Failed"))
    assert end is not None
    assert (end.exit_code, end.container) == (3, "log-shipper")


def test_the_status_has_the_failure_and_its_fault() -> None:
    found = status_of(
        snapshot([failed(0, 1, 60, LOSS), failed(1, 1, 70, raised("gloo: Connection closed by peer"))], "Failed")
    )
    assert (found.phase, found.fault) == ("failed", Fault.WORKLOAD)
    assert found.failure is not None
    assert found.failure.ranks == (0,)
    assert [pod.end.cause for pod in found.pods if pod.end] == [Cause.EXCEPTION, Cause.COMMUNICATION]
