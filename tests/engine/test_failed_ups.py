"""`pulumi up` of a revision that the cluster refuses, on every operator: what the next `up` makes of the state that it
leaves behind.

The old job is deleted by then, since its accelerators must be free, and the objects of both revisions are there.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.differences import changed
from tests.engine.live import Live
from tests.engine.pods import pods_of
from tests.engine.programs import stack_of
from tests.engine.project import Project, Step
from tests.engine.refusing import LABEL, REASON, refusing
from trainform.job.render import job_manifests
from trainform.plan.record import Record, read_record

pytestmark = pytest.mark.proof("an `up` that failed, on every operator")

IMAGE = "registry.example.com/ai/pytorch-training:latest"
TORCH: dict[str, Any] = {"launcher": {"torchrun": {"script": "/app/train.py"}}, "roles": {"worker": {"replicas": 2}}}
WITH_MASTER: dict[str, Any] = {**TORCH, "roles": {"master": {"replicas": 1}, "worker": {"replicas": 1}}}
TENSORFLOW: dict[str, Any] = {
    "launcher": {"tensorflow": {"command": ["python", "/app/train.py"]}},
    "roles": {"ps": {"replicas": 1}, "worker": {"replicas": 2}},
}
MPI: dict[str, Any] = {
    "launcher": {"mpi": {"command": ["/app/train"], "role": "launcher"}},
    "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 2}},
}
AROUND: dict[str, Any] = {"storage": {"output": {"size": "1Gi", "mount": "/mnt/output"}}, "queue": {"weight": 2}}

# A kind of object each; an MPIJob has SSH keys. Their names tell operator and launcher.
EXPERIMENTS: dict[str, dict[str, Any]] = {
    "volcano": {"backend": "volcano", **TORCH, **AROUND},
    "kubeflow": {"backend": "kubeflow", **TORCH},
    "kubeflow-tensorflow": {"backend": "kubeflow", **TENSORFLOW},
    "kubeflow-mpi": {"backend": "kubeflow", **MPI},
    "trainer": {"backend": "trainer", **TORCH},
    "kubedl": {"backend": "kubedl", **WITH_MASTER},
    "jobset": {"backend": "jobset", **TORCH},
}
# Otherwise the first refusal ends what is done for the other jobs, wherever it is.
EVERY_JOB = ("--continue-on-error",)

Objects = dict[tuple[str, str], dict[str, Any]]
"""By kind and name."""


def write(project: Project, letter: str, forbidden: bool = False) -> None:
    """Every experiment in the revision of this letter, which the cluster refuses where it is forbidden."""
    labels = LABEL if forbidden else {}
    for name, data in EXPERIMENTS.items():
        project.experiment(name, {"image": IMAGE, **data, "env": {"LETTER": letter}, "labels": labels})


def rendered(project: Project, follows_revision: bool) -> Objects:
    """Return the objects of all experiments as they are written now: those that follow the revision, or the others but
    for the records."""
    manifests = [made for name in EXPERIMENTS for made in job_manifests(project.plan(name)) if not made.is_record]
    found = [manifest.body for manifest in manifests if (manifest.revision is not None) == follows_revision]
    return {(body["kind"], body["metadata"]["name"]): body for body in found}


def ours(live: Live, like: Objects) -> Objects:
    """Return all live objects of these kinds in the project's namespace, but for records and those that controllers
    made."""
    kinds = {(body["apiVersion"], body["kind"]): body for body in like.values()}
    return {
        (kind, item["metadata"]["name"]): {"apiVersion": version, "kind": kind, **item}  # lists say it once
        for (version, kind), body in kinds.items()
        for item in live.find_like(body)
        if item["metadata"].get("labels", {}).get("app.kubernetes.io/managed-by") == "trainform"
        and "ownerReferences" not in item["metadata"]
        and not item["metadata"]["name"].endswith("-deployed")
    }


def records(project: Project, live: Live) -> list[Record | None]:
    """Return what each ConfigMap says is deployed."""
    return [read_record(live.find("configmaps", f"{name}-deployed", project.namespace)) for name in EXPERIMENTS]


def uids(objects: Objects) -> dict[tuple[str, str], str]:
    return {key: body["metadata"]["uid"] for key, body in objects.items()}


def comes_up(project: Project, live: Live, stack: str) -> list[Step]:
    """The revision that is written runs with its own objects, nothing of another is there, and a preview shows no
    change."""
    steps = project.applied(stack)
    expected = rendered(project, follows_revision=True)
    found = ours(live, expected)
    assert found.keys() == expected.keys()
    assert [line for key, body in expected.items() for line in changed(body, found[key])] == []
    for name in EXPERIMENTS:
        pods_of(live, project.plan(name))
    assert [record and record.job for record in records(project, live)] == [
        project.plan(name).job for name in EXPERIMENTS
    ]
    project.unchanged(stack)
    return steps


def is_refused(project: Project, live: Live, stack: str, *words: str) -> None:
    """A job that is still there has its files, and the records say what was deployed before."""
    before = records(project, live)
    output = project.pulumi("up", "--yes", "--skip-preview", "-s", stack, *words).failed()
    assert REASON in output
    assert records(project, live) == before
    there = ours(live, rendered(project, follows_revision=True))
    jobs = {name for (_, name), body in there.items() if "trainform.dev/revision" in body["metadata"]["labels"]}
    assert {("ConfigMap", f"{job}-launch") for job in jobs} <= there.keys()
    assert not (jobs and words == EVERY_JOB)


def test_what_the_next_up_makes_of_a_refused_one(addons_project: Project, addons_live: Live) -> None:
    """The old revision again, or another, or the refused one once the cluster takes it."""
    project, live = addons_project, addons_live
    write(project, "a")
    stack = stack_of(project, "failed", list(EXPERIMENTS))
    comes_up(project, live, stack)
    around = rendered(project, follows_revision=False)
    before = uids(ours(live, around))
    assert before.keys() == around.keys()

    with refusing(live, project.namespace):
        write(project, "b", forbidden=True)
        is_refused(project, live, stack, *EVERY_JOB)
        write(project, "a")
        steps = comes_up(project, live, stack)
        assert {step.name for step in steps if step.op == "replace"} == {f"{name}-job" for name in EXPERIMENTS}

        write(project, "b", forbidden=True)
        is_refused(project, live, stack)
        write(project, "c")
        comes_up(project, live, stack)

        write(project, "b", forbidden=True)
        for words in (EVERY_JOB, ()):
            is_refused(project, live, stack, *words)
    comes_up(project, live, stack)
    assert uids(ours(live, around)) == before

    with refusing(live, project.namespace):
        write(project, "a", forbidden=True)
        is_refused(project, live, stack, *EVERY_JOB)
        of_revision = rendered(project, follows_revision=True)
        project.destroy(stack)
    assert ours(live, of_revision | around) == {}
    assert records(project, live) == [None] * len(EXPERIMENTS)
