"""The output of pods: which lines are new, whose they are, and 1,024 pods at the same time."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_client import use
from tests.deployed.test_overview import PLENTY, environment, job, recorded
from tests.running.test_read import bert, identified
from tests.support.api_objects import ApiObjects
from tests.support.live_objects import pod
from tests.support.log_server import LATE, LogServer, Output
from trainform import defaults
from trainform.errors import ClusterError, InputError
from trainform.running.logs import Logs, Selection, Source, split_stamp
from trainform.running.pods import Place, first_ranks, known_places
from trainform.running.read import read
from trainform.running.snapshot import Snapshot, Target

SOME = [16, pytest.param(1024, marks=pytest.mark.proof("as many pods as the largest jobs have"))]


# --- lines


def test_times_of_nodes_in_other_zones() -> None:
    here, there = (
        split_stamp(f"2026-11-27T{text} loss 2.31".encode())
        for text in ("14:00:00.123456789Z", "22:00:00.123456790+08:00")
    )
    assert here[0] is not None and there[0] is not None
    assert (here[1], here[0]) == ("loss 2.31", there[0])
    assert split_stamp(b"unable to retrieve container logs for containerd://5f") == (
        None,
        "unable to retrieve container logs for containerd://5f",
    )
    assert split_stamp("2026-11-27T14:00:00Z caf\u00e9".encode("latin-1"))[1] == "caf\ufffd"


# --- which containers


def running(index: int, state: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    """A pod of `bert` with a step, and the state of its main container."""
    body = identified(pod("bert-1f3a9c", index, experiment="bert"), f"uid-{index}")
    body["metadata"]["labels"][defaults.ROLE_LABEL] = "worker"
    body["spec"]["initContainers"] = [{"name": "code", "image": "alpine/git"}]
    found = {"name": "main", "restartCount": 0, "state": {"running": {}} if state is None else state, **status}
    body["status"]["containerStatuses"] = [found]
    return body


def ended(code: int, at: str) -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "finishedAt": f"2026-11-27T14:00:{at}Z"}}


WORKERS = [Place("worker", index, index) for index in range(6)]


def selection(**parts: Any) -> Selection:
    return Selection(parts.pop("places", WORKERS), {"worker": 0}, **parts)


def names(sources: list[Source]) -> list[tuple[str, str, bool]]:
    return [(source.place.name, source.container, source.previous) for source in sources]


def test_the_main_container_of_chosen_pods() -> None:
    pods = [running(0), running(1)]
    assert names(selection().sources(pods)) == [("worker/0", "main", False), ("worker/1", "main", False)]
    assert names(selection(places=WORKERS[1:2], previous=True).sources(pods)) == [("worker/1", "main", True)]
    assert names(selection(step="code").sources(pods)) == [("worker/0", "code", False), ("worker/1", "code", False)]


def test_an_unknown_step() -> None:
    with pytest.raises(InputError) as caught:
        selection(step="data").sources([running(0)])
    assert caught.value.problems[0].fix == "its steps and containers: main, code"
    assert selection(step="data").sources([]) == []  # its pods may come later


def test_the_first_to_fail_comes_first() -> None:
    pods = [
        running(0, ended(1, "09")),
        running(1),
        running(2, ended(0, "01")),
        running(3, lastState=ended(137, "05"), restartCount=1),
        running(4, ended(1, "03")),
    ]
    stopped = running(5, ended(143, "02"))
    assert names(selection(failed=True).sources([stopped, *pods])) == [
        ("worker/3", "main", True),  # it runs again
        ("worker/4", "main", False),
        ("worker/0", "main", False),
        ("worker/5", "main", False),  # SIGTERM follows from the end of another pod
    ]


def test_a_step_that_failed_has_the_output() -> None:
    body = running(0, {"waiting": {"reason": "PodInitializing"}})
    body["status"] |= {"phase": "Failed", "initContainerStatuses": [{"name": "code", "state": ended(1, "05")}]}
    assert names(selection(failed=True).sources([body])) == [("worker/0", "code", False)]


def test_only_a_container_that_has_run_has_output() -> None:
    waiting = {"waiting": {"reason": "ImagePullBackOff"}}
    crashing = {"waiting": {"reason": "CrashLoopBackOff"}}
    pods = [running(0), running(1, waiting), running(2, crashing, lastState=ended(1, "05"), restartCount=1)]
    assert [(source.run, source.ended) for source in selection().sources(pods)] == [(0, False), (None, True), (1, True)]
    assert [source.run for source in selection(step="code").sources(pods)] == [None] * 3


# --- streams


class Lines:
    """The lines that were shown, by pod. add: may be called by a test for each line."""

    def __init__(self) -> None:
        self.found: list[tuple[str, str]] = []
        self.notes: list[str] = []

    def show(self, place: Place, text: str) -> None:
        self.found.append((place.name, text))

    def of(self, name: str) -> list[str]:
        return [text for place, text in self.found if place == name]


@pytest.fixture(params=SOME)
def many(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LogServer]:
    """Yield a server with the output of many pods, ten lines each."""
    pods = [running(index) for index in range(request.param)]
    record = recorded("bert", request.param)
    outputs = {
        body["metadata"]["name"]: Output(*((line + index / 2048, f"step {line}") for line in range(10)))
        for index, body in enumerate(pods)
    }
    server = LogServer(ApiObjects([record, bert(), *pods]), outputs)
    with server.serving() as url:
        use(tmp_path / "kubeconfig", monkeypatch, url, {"token": "t0ken"})
        yield server


def print_all(lines: Lines, *, follow: bool = False, **parts: Any) -> Snapshot:
    snapshot = read(Target("bert", environment()), PLENTY)
    chosen = Selection(known_places(snapshot), first_ranks(snapshot.record), **parts)

    async def run() -> bool:
        logs = Logs(snapshot.target, chosen, lines.show, lines.notes.append)
        return await logs.print(chosen.sources(snapshot.pods), follow=follow)

    assert asyncio.run(run())
    return snapshot


def test_the_output_of_many_pods_is_one_stream_by_time(many: LogServer) -> None:
    lines, places = Lines(), [f"worker/{index}" for index in range(len(many.outputs))]
    snapshot = print_all(lines)
    assert [place.name for place in known_places(snapshot)] == places
    assert lines.found == [(place, f"step {line}") for line in range(10) for place in places]
    few = Lines()
    print_all(few, tail=1)
    assert few.found == [(place, "step 9") for place in places]
    nothing = Lines()
    print_all(nothing, tail=0)
    assert nothing.found == []


@pytest.mark.parametrize("last", ["step 0", "step 10"])
def test_a_closed_output_ends_it_without_a_word(last: str, many: LogServer, caplog: pytest.LogCaptureFixture) -> None:
    """The program behind a pipe ends at this line: of those that are there, and of those that follow."""

    class Closed(Lines):
        def show(self, place: Place, text: str) -> None:
            super().show(place, text)
            if text == last:
                raise BrokenPipeError

    def print_more() -> None:
        while many.open < len(many.outputs):
            time.sleep(LATE)
        for output in many.outputs.values():
            output.add(10.0, "step 10")

    lines = Closed()
    with ThreadPoolExecutor() as threads:
        if last == "step 10":
            threads.submit(print_more)
        with pytest.raises(BrokenPipeError):
            print_all(lines, follow=True)
    assert (lines.found[-1][1], caplog.records) == (last, [])


def test_many_pods_are_followed_over_a_break_of_all_connections(many: LogServer) -> None:
    """No line is lost, none is repeated."""
    lines, number = Lines(), len(many.outputs)

    def until(condition: Any) -> None:
        deadline = time.monotonic() + 4 * PLENTY
        while not condition():
            assert time.monotonic() < deadline, (many.open, len(lines.found), lines.notes)
            time.sleep(LATE)

    def print_more(step: int) -> None:
        for index, output in enumerate(many.outputs.values()):
            output.add(step + index / 2048, f"step {step}")

    def tell() -> None:
        until(lambda: many.open == number and len(lines.found) == 10 * number)
        print_more(10)
        until(lambda: len(lines.found) == 11 * number)
        many.drop()
        print_more(11)
        until(lambda: len(lines.found) == 12 * number)
        print_more(12)
        until(lambda: len(lines.found) == 13 * number)

    def end() -> None:
        for body in many.objects.bodies:
            if body["kind"] == "Pod":
                body["status"]["containerStatuses"][0]["state"] = ended(0, "30")
                body["status"]["phase"] = "Succeeded"
            elif body["kind"] == "Job":
                body["status"] = job("bert", "Completed")["status"]
        for output in many.outputs.values():
            output.add(20.0, "done")
            output.ended = True

    with ThreadPoolExecutor() as threads:
        written = threads.submit(tell)
        written.add_done_callback(lambda _: end())
        print_all(lines, follow=True)
        written.result()
    expected = [*(f"step {step}" for step in range(13)), "done"]
    wrong = {name: found for index in range(number) if (found := lines.of(name := f"worker/{index}")) != expected}
    assert dict(itertools.islice(wrong.items(), 3)) == {}
    # the watch of the pods may end as the server ends one
    assert lines.notes[-1:] in ([], ["connected again"])
    assert many.most >= number


def test_a_job_that_may_not_be_read_is_followed_until_its_pods_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The role `view` may not read the jobs of Volcano."""
    lines, body, output = Lines(), running(0), Output((0, "step 0"))

    def end() -> None:
        while not lines.found:
            time.sleep(LATE)
        output.add(1, "step 1")
        output.ended = True
        body["status"] |= {"phase": "Succeeded"}
        body["status"]["containerStatuses"][0]["state"] = ended(0, "30")

    objects = ApiObjects([recorded("bert", 1), bert(), body], forbidden=frozenset({"jobs"}))
    with LogServer(objects, {body["metadata"]["name"]: output}).serving() as url, ThreadPoolExecutor() as threads:
        use(tmp_path / "kubeconfig", monkeypatch, url, {"token": "t0ken"})
        threads.submit(end)
        with pytest.raises(ClusterError, match="starts new ones is unknown: this account has no permission"):
            print_all(lines, follow=True)
    assert lines.of("worker/0") == ["step 0", "step 1"]
