"""The places of pods, held to the plan."""

from __future__ import annotations

import pytest

from tests.backends.test_first_pod import SHAPES
from tests.support.samples import environment, experiment, plan, reasons
from trainform.backends.backend import BACKENDS
from trainform.errors import InputError
from trainform.job.render import job_manifests
from trainform.plan.inputs import job_record
from trainform.running.pods import Place, chosen, first_ranks, place_of, places


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", SHAPES)
def test_each_pod_has_its_place(shape: str, backend: str) -> None:
    parts = {**SHAPES[shape], "backend": backend}
    if reasons(**parts):
        pytest.skip("the operator has no such job")
    planned = plan(**parts)
    pods, _ = BACKENDS[backend].pods(planned, job_manifests(planned))
    record = job_record(experiment(**parts), environment(), planned)
    found = [place_of(pod, first_ranks(record)) for pod in pods]
    assert places(record) == [Place(pod.role, pod.index, pod.rank) for pod in planned.pods()]
    assert sorted(found) == sorted(places(record))


def test_without_a_record_no_rank_is_known() -> None:
    planned = plan()
    pods, _ = BACKENDS["volcano"].pods(planned, job_manifests(planned))
    assert [str(place_of(pod, first_ranks(None))) for pod in pods] == ["worker/0", "worker/1"]


MASTER = Place("master", 0, 0)
WORKERS = [Place("worker", index, index + 1) for index in range(3)]
WATCHERS = [Place("watcher", index) for index in range(2)]


@pytest.mark.parametrize(
    ("word", "rank", "found"),
    [
        (None, None, [MASTER, *WORKERS, *WATCHERS]),
        ("worker", None, WORKERS),
        ("worker/2", None, [WORKERS[2]]),
        ("watcher/1", None, [WATCHERS[1]]),
        (None, 3, [WORKERS[2]]),
        ("worker", 1, [WORKERS[0]]),
    ],
)
def test_words_choose_pods(word: str | None, rank: int | None, found: list[Place]) -> None:
    assert chosen(word, rank, [MASTER, *WORKERS, *WATCHERS]) == found


@pytest.mark.parametrize(
    ("word", "rank", "fix"),
    [
        ("wroker", None, "did you mean worker?"),
        ("worker/3", None, "did you mean worker/2?"),
        ("worker/", None, "did you mean worker"),
        ("worker/one", None, "did you mean worker"),
        ("worker-1", None, "did you mean worker/1"),
        ("nothing", None, "its pods: master/0 rank 0, worker/0 rank 1, "),
        (None, 4, "its pods: master/0 rank 0, worker/0 rank 1, "),
        ("worker", 0, "its pods: master/0 rank 0, worker/0 rank 1, "),
    ],
)
def test_a_pod_that_the_job_does_not_have(word: str | None, rank: int | None, fix: str) -> None:
    with pytest.raises(InputError) as caught:
        chosen(word, rank, [MASTER, *WORKERS, *WATCHERS])
    (problem,) = caught.value.problems
    assert problem.path == ("ROLE[/INDEX]" if rank is None else "--rank")
    assert fix in problem.fix


def test_without_known_pods_none_is_wrong() -> None:
    assert chosen("worker/7", None, []) == []
