"""Samples of `status` and `wait` in the documents: what these commands print of such a job."""

from __future__ import annotations

import pytest

from tests.cli.test_status import text_of
from tests.cli.test_wait import status
from tests.support.repository import ROOT
from trainform.cli.status_text import headline
from trainform.cluster.facts import Holder
from trainform.cluster.phases import Phase
from trainform.running.model import Cause, End, Failure, Fault, JobStatus, Reason
from trainform.running.waiting import CODES

SHORT = (
    "the nodes have room for 64 h100 now, and the job needs 128 h100 (8 of 16 pods fit, the largest free node has 8)"
)
GANG_SHORT = Reason(
    "gang-short", SHORT, CODES["gang-short"][1], holders=(Holder("vision/clip-3d21ce", "64", "research", 0),)
)
FULL = Reason("queue-full", "the queue research has 8 of 32 a800 left, and the job needs 16 a800", "wait")
TRACEBACK = """torchrun: rank 27 (local_rank: 3), exitcode 1 (pid: 74)
Traceback (most recent call last):
  File "/app/train.py", line 212, in step
    loss = model(batch)
ValueError: loss is nan at step 1200"""


def failed(job: str, rank: int, end: End, others: int = 0) -> JobStatus:
    failure = Failure((f"{job}-worker-{rank}",), (rank,), end, others, 40)
    return status(Phase.FAILED, job=job, fault=end.fault, failure=failure)


def test_the_job_that_waits() -> None:
    readme = (ROOT / "README.md").read_text()
    revision = readme.split("vit-launch-script-")[1][:6]
    parts = {"stack": "vision/vit.prod", "namespace": "vision", "job": f"vit-{revision}", "backend": "volcano"}
    found = status(
        Phase.QUEUED,
        **parts,
        queue="research",
        needed=16,
        accelerators={"h100": 128},
        read_at="2026-11-27T14:12:00Z",
        created="2026-11-27T14:00:00Z",
        reasons=(GANG_SHORT,),
    )
    sample = readme.split("```text\nvit.prod")[1].split("```")[0]
    assert f"vit.prod{sample}".splitlines() == text_of(found)


def test_the_failure() -> None:
    found = failed("llama-4be1d0", 3, End(Cause.EXCEPTION, Fault.WORKLOAD, 1, None, TRACEBACK, ""), 31)
    text = "\n".join(f"    {line}" for line in text_of(found)[text_of(found).index("Why it failed") :])
    assert text in (ROOT / "docs" / "how-to" / "first-failure.md").read_text()


@pytest.mark.parametrize(
    "found",
    [
        status(Phase.QUEUED, reasons=(FULL,)),
        status(Phase.RUNNING, read_at="2026-11-27T14:09:40Z"),
        failed("resnet-1f3a9c", 3, End(Cause.OOM, Fault.WORKLOAD, 137, "SIGKILL", "", "")),
    ],
)
def test_the_wait(found: JobStatus) -> None:
    why = headline(found)
    line = f"{found.job} {found.phase}{f': {why}' if why else ''}\n"
    assert line in (ROOT / "docs" / "reference" / "command-line.md").read_text()
