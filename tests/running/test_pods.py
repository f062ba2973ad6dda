"""The places of pods, held to the plan."""

from __future__ import annotations

import pytest

from tests.backends.test_first_pod import SHAPES
from tests.support.samples import environment, experiment, plan, reasons
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests
from trainform.plan.inputs import job_record
from trainform.running.pods import Place, first_ranks, place_of


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_each_pod_has_its_place(shape: str, backend: str) -> None:
    parts = {**SHAPES[shape], "backend": backend}
    if reasons(**parts):
        pytest.skip("the operator has no such job")
    planned = plan(**parts)
    pods, _ = BACKENDS[backend].pods(planned, job_manifests(planned))
    ranks = first_ranks(job_record(experiment(**parts), environment(), planned))
    places = [place_of(pod, ranks) for pod in pods]
    assert sorted(places) == sorted(Place(pod.role, pod.index, pod.rank) for pod in planned.pods())


def test_without_a_record_no_rank_is_known() -> None:
    planned = plan()
    pods, _ = BACKENDS["volcano"].pods(planned, job_manifests(planned))
    assert [str(place_of(pod, first_ranks(None))) for pod in pods] == ["worker/0", "worker/1"]
