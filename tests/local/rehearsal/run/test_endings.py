"""The ways in which pods and rehearsals end, and what is reported; with real containers."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.local.rehearsal.workloads import (
    Recorded,
    docker_objects,
    full_name,
    own_state_folder,
    pod,
    run_rehearsal,
    run_to_success,
    wait_until,
    workload,
)
from tests.support.samples import environment, experiment, plan
from tests.support.unseen import unseen
from trainform.errors import MASK, InputError, TrainformError
from trainform.local.rehearsal.fewer_processes import smaller_plan
from trainform.local.rehearsal.run.records import PodRecord
from trainform.local.rehearsal.run.rehearse import Options, rehearsal
from trainform.local.rehearsal.sources import workload_of_plan
from trainform.local.rehearsal.workload import Workload

pytestmark = pytest.mark.rehearsal("the emulation, whose place real nodes take")

state = pytest.fixture(autouse=True)(own_state_folder)
docker = pytest.mark.usefixtures("docker_daemon")


def ends(asked: Workload, image: str, **options: object) -> tuple[str, dict[str, PodRecord], Recorded]:
    """Run a rehearsal; the problem, the records by the pods' short names, and everything that was shown."""
    outcome, display = run_rehearsal(asked, image, **options)
    assert outcome.succeeded == (not outcome.problem)
    return outcome.problem, {record.pod.removeprefix(full_name("")): record for record in outcome.pods}, display


@docker
@pytest.mark.shows("a failure in a rehearsal")
def test_a_pod_that_fails_ends_the_others(image: str) -> None:
    asked = workload(
        pod("worker-0", "echo no module torch >&2; exit 3"), pod("worker-1", "sleep 600"), pod("worker-2", "sleep 600")
    )
    problem, pods, _ = ends(asked, image, grace=0.5)
    assert problem == "worker-0 failed, exit code 3: no module torch"
    assert (pods["worker-0"].phase, pods["worker-0"].exit_code) == ("Failed", 3)
    assert (pods["worker-1"].phase, pods["worker-1"].exit_code) == ("Stopped", None)
    assert pods["worker-1"].reason == "stopped since another pod failed"
    assert docker_objects(pod=full_name("worker-1")) == []


@docker
def test_init_containers_run_first_and_in_order(image: str) -> None:
    def init(name: str, script: str) -> dict[str, object]:
        return {"name": name, "image": "x", "command": ["sh", "-c", script]}

    good = pod(
        "worker-0", "echo main", initContainers=[init("code", "sleep 0.3; echo code"), init("data", "echo data")]
    )
    assert run_to_success(workload(good), image).of(full_name("worker-0")) == ["code", "data", "main"]
    bad = pod(
        "worker-0", "echo main", initContainers=[init("code", "echo no such commit; exit 2"), init("data", "echo data")]
    )
    problem, pods, display = ends(workload(bad), image)
    assert problem == "worker-0 failed, init container code: exit code 2: no such commit"
    assert display.of(full_name("worker-0")) == ["no such commit"]
    assert pods["worker-0"].exit_code == 2


@docker
def test_a_failure_is_shown_escaped_and_without_secrets(image: str) -> None:
    """The last line of a pod, and Docker's own message, which repeats a word of the command."""
    written = r"lost \033[31mthe\033[0m disk\n  fix: \342\200\256\033[2K\007hunter2"
    reads = {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "db", "key": "token"}}}
    asked = workload(
        pod("worker-0", f"printf '{written}\\n'; exit 1"),
        pod("worker-1", main={"command": ["/bin/$(TOKEN)"], "env": [reads]}),
        secrets={"db": {"token": b"hunter2"}},
    )
    problem, pods, _ = ends(asked, image, grace=60)
    first, second = problem.split("\n")
    assert first == rf"worker-0 failed, exit code 1: fix: \u202e\x07{MASK}"
    assert second.startswith("worker-1 failed, ")
    assert f"/bin/{MASK}" in second
    assert not unseen(problem)
    assert "hunter2" not in problem + pods["worker-1"].reason


@docker
def test_containers_that_may_be_restarted(image: str) -> None:
    """Each container starts from the image again, and the pod's volumes stay; the workload limits the number of
    restarts."""
    volumes = [{"name": "own", "emptyDir": {}}]
    script = "echo >>/own/starts; test ! -e /made && touch /made && exit $((3 - $(wc -l </own/starts)))"
    main = {"volumeMounts": [{"name": "own", "mountPath": "/own"}]}
    asked = pod("worker-0", script, restartPolicy="OnFailure", volumes=volumes, main=main)
    _, pods, display = ends(workload(asked, restarts=2), image)
    assert (pods["worker-0"].phase, pods["worker-0"].restarts) == ("Succeeded", 2)
    assert display.of(full_name("worker-0")) == ["[exit code 2; restart 1 of 2]", "[exit code 1; restart 2 of 2]"]
    problem, pods, _ = ends(workload(asked, restarts=1), image)
    assert problem == "worker-0 failed, exit code 1: [exit code 2; restart 1 of 1]"


@docker
@pytest.mark.shows("the end of a rehearsal")
def test_the_job_ends_with_some_of_its_pods(image: str) -> None:
    asked = workload(
        pod("launcher-0", "sleep 0.5"), pod("worker-0", "sleep 600"), ends_with=frozenset({full_name("launcher-0")})
    )
    problem, pods, _ = ends(asked, image)
    assert problem == ""
    assert (pods["worker-0"].phase, pods["worker-0"].reason) == ("Stopped", "stopped with the job")


@docker
@pytest.mark.shows("the end of a rehearsal with fewer processes")
def test_a_job_with_parameter_servers_ends_with_its_workers(image: str) -> None:
    """The plan with fewer processes, which `trainform rehearse` runs, ends as the plan does."""
    roles = {"worker": {"replicas": 2, "accelerators": {"a800": 8}}, "ps": {"replicas": 1, "command": ["sleep", "600"]}}
    parts: dict[str, Any] = {"launcher": {"tensorflow": {"command": ["sleep", "0.5"]}}, "roles": roles}
    asked = workload_of_plan(smaller_plan(plan(**parts), experiment(**parts), environment(), 2))
    outcome, _ = run_rehearsal(asked, image)
    assert outcome.problem == ""
    ended = {record.pod.rpartition("-")[0].rpartition("-")[2]: record.phase for record in outcome.pods}
    assert ended == {"worker": "Succeeded", "ps": "Stopped"}


@docker
def test_a_job_that_does_not_end(image: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = workload(
        pod("worker-0", "echo waiting for worker-1; sleep 600"), pod("worker-1", "true"), pod("worker-2", "sleep 600")
    )
    display = Recorded()
    with rehearsal(asked, Options(image=image, timeout=600), display) as running:
        wait_until(running, lambda: running.records.all()[1].phase == "Succeeded")
        wait_until(running, lambda: display.of(full_name("worker-0")) == ["waiting for worker-1"])
        monkeypatch.setattr(running, "_deadline", 0.0)
        outcome = running.wait()
    first, second = outcome.problem.splitlines()
    assert re.fullmatch(r"worker-0 still runs after \d+ s; its last line: waiting for worker-1", first)
    assert re.fullmatch(r"worker-2 still runs after \d+ s; it wrote nothing", second)
    assert [record.phase for record in outcome.pods] == ["Stopped", "Succeeded", "Stopped"]


@docker
def test_an_image_that_is_not_available() -> None:
    """It is reported before anything is started. No server listens at its registry."""
    asked = pod("worker-0")
    asked["spec"]["containers"][0]["image"] = "localhost:9/ai/train:1"
    with pytest.raises(TrainformError) as raised:
        run_rehearsal(workload(asked), None)  # type: ignore[arg-type] # its own image
    start = "the image localhost:9/ai/train:1 is not on this machine, and cannot be pulled: "
    assert raised.value.message.startswith(start)
    assert "`rehearse --image NAME` runs all pods in one of them" in raised.value.fix


@docker
def test_missing_objects_are_reported_before_a_pod_is_started(image: str) -> None:
    key = {"name": "WANDB_API_KEY", "valueFrom": {"secretKeyRef": {"name": "wandb", "key": "api-key"}}}
    with pytest.raises(InputError) as raised:
        run_rehearsal(workload(pod("worker-0", main={"env": [key]}), pod("worker-1", main={"env": [key]})), image)
    assert [problem.path for problem in raised.value.problems] == [
        f"pods.{full_name('worker-0')}.main.env.WANDB_API_KEY"
    ]
    assert docker_objects(experiment="resnet") == []


def test_without_docker(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("none") / "docker.sock"
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    with pytest.raises(TrainformError) as raised:
        run_rehearsal(workload(pod("worker-0")), "debian:12")
    reason = f"[Errno 2] No such file or directory: '{path}'"
    assert raised.value.message == f"a rehearsal needs Docker, and none answers: {reason}"
    assert "apt-get install docker.io" in raised.value.fix
