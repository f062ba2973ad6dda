"""What somebody else has changed in the cluster."""

from __future__ import annotations

import dataclasses

import pytest

from tests.review import jobs
from tests.review.jobs_of_previews import context, environment, job_review, live, rendered, workers
from trainform.cluster.live_drift import Drift
from trainform.review.findings.drift import find

CLUSTER = environment()


@pytest.mark.parametrize(
    ("written", "manager", "told"),
    [
        ("2026-11-23T09:02:07Z", "kubectl-edit", "manager kubectl-edit, last write 09:02 UTC"),
        ("2026-11-22T14:02:07Z", "kubectl-edit", "manager kubectl-edit, last write 2026-11-22 14:02 UTC"),
        ("", "kubectl-edit", "manager kubectl-edit"),
        ("", "", "the field has no manager any more"),
    ],
)
def test_a_field_that_differs(written: str, manager: str, told: str) -> None:
    drift = Drift("Queue", "night", "spec.weight", 1, 4, manager, written)
    (finding,) = find(context(live=live(drift=(drift,))))
    assert (finding.code, finding.field, finding.before, finding.after) == ("TR-DRIFT-1", "spec.weight", 1, 4)
    assert finding.title == f"The live Queue night differs in spec.weight: applied was 1, the cluster has 4 ({told})."


def test_what_is_as_applied_is_no_finding() -> None:
    assert list(find(context(live=live()))) == []
    assert list(find(context())) == []


def test_a_job_that_was_deleted_by_hand() -> None:
    job = job_review(rendered(CLUSTER, **workers(2)), rendered(CLUSTER, **workers(2)))
    name = job.before.job  # type: ignore[union-attr]
    (finding,) = find(context(job, live=live(missing=(f"Job/{name}",))))
    assert (finding.code, finding.level, finding.object) == ("TR-DRIFT-2", "medium", name)
    assert finding.title == (
        f"The job {name} is not in the cluster: it was deleted by hand, by its `ttl`, or by an `up` that ended half "
        "way."
    )


@pytest.mark.parametrize(("missing", "level"), [("Service/sdxl-lora", "medium"), ("PersistentVolumeClaim/ck", "high")])
def test_other_objects_that_are_gone(missing: str, level: str) -> None:
    (finding,) = find(context(live=live(missing=(missing,))))
    assert finding.level == level
    assert finding.title.endswith("it was deleted by hand, or by an `up` that ended half way.")


NOW = {**jobs.LORA, "env": {"LETTER": "C"}}


def test_what_the_last_up_wanted_is_not_what_is_recorded() -> None:
    """The components have what was wanted, the record what is deployed."""
    wanted = {**jobs.LORA, "env": {"LETTER": "B"}}
    record = jobs.deployed(jobs.LORA).record
    failed = dataclasses.replace(jobs.job_review(jobs.deployed(wanted), jobs.deployed(NOW)), before=record)
    assert record is not None
    for job, recorded in ((failed, record.job), (dataclasses.replace(failed, before=None), None)):
        (finding,) = find(jobs.context(job))
        assert (finding.code, finding.before) == ("TR-DRIFT-3", recorded)
        assert finding.title == (
            f"The last `pulumi up` of sdxl-lora did not succeed; recorded as deployed: {recorded or 'nothing'}."
        )


@pytest.mark.parametrize("new", [jobs.LORA, NOW], ids=["unchanged", "changed"])
def test_an_update_that_succeeded(new: dict[str, object]) -> None:
    assert [*find(jobs.context(jobs.job_review(jobs.deployed(jobs.LORA), jobs.deployed(new))))] == []
