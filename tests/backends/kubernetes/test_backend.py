"""Plain Indexed Jobs: one role, whose first pod may launch and end the job."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.samples import WITH_EXTRAS, environment, experiment, job, plan
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests, render_job
from trainform.plan.model import Ending

ON: dict[str, Any] = {"backend": "kubernetes"}
MPI: dict[str, Any] = {**ON, "launcher": {"mpi": {"command": ["/app/train"]}}, "roles": {"worker": {"replicas": 3}}}
DEEPSPEED: dict[str, Any] = {**MPI, "launcher": {"deepspeed": {"script": "/app/train.py"}}}
ELASTIC: dict[str, Any] = {
    **ON,
    "launcher": {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 2, "max_nodes": 8}}},
}
MASTER = {"master": {"replicas": 1}, "worker": {"replicas": 3}}


def test_the_index_is_the_rank() -> None:
    made = plan(**ON, roles={"worker": {"replicas": 3}})
    spec = job(made)["spec"]
    assert (spec["completionMode"], spec["completions"], spec["parallelism"]) == ("Indexed", 3, 3)
    assert [pod.rank for pod in made.pods()] == [0, 1, 2]
    assert [pod.address for pod in made.pods()] == [f"{made.job}-{index}.sdxl-lora" for index in range(3)]
    pods, _ = BACKENDS["kubernetes"].pods(made, job_manifests(made))
    assert [pod["spec"]["hostname"] for pod in pods] == [f"{made.job}-{index}" for index in range(3)]
    assert {pod["spec"]["subdomain"] for pod in pods} == {"sdxl-lora"}


def test_the_provider_does_not_wait_for_the_end_of_the_job() -> None:
    assert job(plan(**ON))["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true"


@pytest.mark.parametrize(
    ("parts", "policy", "backoff"),
    [
        ({}, "Never", 0),
        ({"restart": "never"}, "Never", 0),
        ({"restart": "on-failure"}, "OnFailure", 3),
        ({"restart": "5 times"}, "OnFailure", 6),
        ({"restart": "on-failure", "roles": {"worker": {"replicas": 2, "max_retry": 8}}}, "OnFailure", 8),
        ({"launcher": ELASTIC["launcher"]}, "OnFailure", 3),
    ],
)
def test_restarts(parts: dict[str, Any], policy: str, backoff: int) -> None:
    spec = job(plan(**ON, **parts))["spec"]
    assert (spec["template"]["spec"]["restartPolicy"], spec["backoffLimit"]) == (policy, backoff)


@pytest.mark.parametrize("parts", [MPI, DEEPSPEED], ids=["mpi", "deepspeed"])
def test_the_first_pod_launches_and_ends_the_job(parts: dict[str, Any]) -> None:
    made = plan(**parts)
    assert job(made)["spec"]["successPolicy"] == {"rules": [{"succeededIndexes": "0"}]}
    assert made.ends_with == (Ending("the first pod of the role worker", ("worker",)),)
    assert made.files["hostfile"].splitlines() == [f"{made.job}-{index}.sdxl-lora slots=1" for index in range(3)]
    served = made.files["launch.sh"].index("sshd.sh foreground")
    assert served < made.files["launch.sh"].index("sshd.sh background")


@pytest.mark.parametrize(("admission", "waits"), [("none", True), ("kueue", False), ("volcano", False)])
def test_others_wait_for_the_pod_that_launches(admission: str, waits: bool) -> None:
    """Without admission they must not serve SSH for ever, on a node of an accelerator, for a pod that has no place."""
    made = plan(cluster=environment(admission=admission, queues={}), **DEEPSPEED)
    lines = made.files["launch.sh"].splitlines()
    serves = next(index for index, line in enumerate(lines) if "sshd.sh foreground" in line)
    assert any("wait.sh names /etc/trainform/peers" in line for line in lines[:serves]) == waits
    assert made.files.get("peers") == (f"{made.job}-0.sdxl-lora\n" if waits else None)


@pytest.mark.parametrize(
    "parts",
    [{**MPI, "roles": {"worker": {"replicas": 1}}}, {**ON, "roles": {"worker": {"replicas": 3}}}, ELASTIC],
    ids=["one pod", "ranks", "elastic"],
)
def test_otherwise_every_pod_must_succeed(parts: dict[str, Any]) -> None:
    made = plan(**parts)
    assert "successPolicy" not in job(made)["spec"]
    assert made.ends_with == ()
    assert "sshd.sh foreground" not in made.files["launch.sh"]


def test_another_operator_launches_from_a_template_of_its_own() -> None:
    made = plan(**{**MPI, "backend": "jobset"})
    assert "sshd.sh foreground" not in made.files["launch.sh"]
    assert [*plan(**MPI).by_name] != [*made.by_name]


def problems(**parts: Any) -> dict[str, tuple[str, str]]:
    found = render_job(experiment(**ON, **parts), environment(limits={"host_network": True})).problems
    return {problem.path: (problem.reason, problem.fix) for problem in found}


OTHERS = "use the backend volcano, jobset or trainer"
TEMPLATE = "a Job has one pod template, which is that of the role"


@pytest.mark.parametrize(
    ("parts", "refused"),
    [
        ({"roles": MASTER}, {"roles.worker": (f"{TEMPLATE} master", f"make the two one role, or {OTHERS}")}),
        (
            {"roles": {name: role for name, role in WITH_EXTRAS.items() if name != "worker"}},
            {"roles.evaluation-watcher": (f"{TEMPLATE} master", f"remove it, or {OTHERS}")},
        ),
        (
            {
                "launcher": {"tensorflow": {"command": ["python", "/app/mnist.py"]}},
                "roles": {"chief": {}, "worker": {"replicas": 2}},
            },
            {"roles.worker": (f"{TEMPLATE} chief", OTHERS)},
        ),
        (
            {
                "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
                "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 2}},
            },
            {
                "roles.launcher": (
                    f"{TEMPLATE} worker",
                    "remove it, and `role` in `launcher.mpi`: pod 0 of worker launches then",
                )
            },
        ),
        (
            {"restart": "all-when-evicted"},
            {
                "roles.worker.restart": (
                    "the value starts the whole job anew, and a Job cannot do that",
                    f"write on-failure, or {OTHERS}",
                )
            },
        ),
        (
            {"network": {"host": True, "ports": "per-replica"}},
            {
                "network.ports": (
                    "the value gives each replica its own pod template, and a Job has one",
                    "remove it; pods with the same host port then need nodes of their own",
                )
            },
        ),
    ],
    ids=["second role", "extra", "chief", "launcher", "all-when-evicted", "per-replica"],
)
def test_refusals(parts: dict[str, Any], refused: dict[str, tuple[str, str]]) -> None:
    assert problems(**parts) == refused


def test_the_advice_for_a_launcher_passes() -> None:
    assert render_job(experiment(**MPI), environment()).problems == ()


def test_another_number_of_replicas_is_a_new_revision() -> None:
    one, other = (plan(**ELASTIC, roles={"worker": {"replicas": replicas}}) for replicas in (2, 3))
    assert one.revision != other.revision
    assert other.changes["roles.worker.replicas"] == "new_revision"
    assert any("Pulumi replaces a Job whose number of pods changes" in note for note in one.notes)


def test_a_gang_of_volcano() -> None:
    made = plan(**ON, roles={"worker": {"replicas": 3}}, queue="night")
    group = next(manifest.body for manifest in job_manifests(made) if manifest.key == "pod-group")
    assert group["spec"] == {"minMember": 3, "queue": "night"}
    template = job(made)["spec"]["template"]
    assert template["metadata"]["annotations"]["scheduling.k8s.io/group-name"] == group["metadata"]["name"]
    assert template["spec"]["schedulerName"] == "volcano"


def test_the_queue_of_kueue() -> None:
    made = plan(**ON, cluster=environment(admission="kueue", queues={}), queue="research")
    assert job(made)["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "research"
    assert "schedulerName" not in job(made)["spec"]["template"]["spec"]


def test_a_job_of_another_program() -> None:
    """With its defaults; the pods that run at the same time count."""
    template = {"metadata": {}, "spec": {"containers": [{"name": "migrate", "image": "db:2"}]}}
    (found,) = BACKENDS["kubernetes"].PODS["batch/Job"]
    (alone,) = found({"spec": {"template": template}})
    assert (alone.template.replicas, alone.template.run_time) == (1, None)
    (many,) = found({"spec": {"template": template, "parallelism": 4, "activeDeadlineSeconds": 60}})
    assert (many.template.replicas, many.template.run_time) == (4, 60)
