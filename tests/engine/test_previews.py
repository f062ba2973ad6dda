"""Previews of the real engine as the review runs and reads them. `--update-golden` records them for the tests that need
no engine."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.live import Live, until
from tests.engine.project import Project
from tests.engine.test_policy_pack import ELSEWHERE, JOB, PACK, REGISTRY, program, with_pack
from tests.engine.test_ssh_identity import keys, traces
from tests.support.engine_runs import run_preview
from tests.support.previews import cleaned
from tests.support.repository import ROOT
from trainform.console.lines import CHANGED_MASK, MASK
from trainform.deployed.preview_runs import EngineRun
from trainform.review.changes import field_differences
from trainform.review.jobs import jobs_of
from trainform.review.preview import Preview, Step
from trainform.review.read import read_preview
from trainform.review.steps import name_before

RECORDED = ROOT / "tests" / "review" / "recorded"
KEPT, NOT_KEPT = ({"storage": {"runs": {"size": "1Gi", "mount": "/runs", "keep": keep}}} for keep in (True, False))


@pytest.fixture
def engine(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return the project, with the variables of its shell for this process."""
    for name, value in project.environ.items():
        monkeypatch.setenv(name, value)
    return project


def step(preview: Preview, kind: str, name: str) -> Step:
    (found,) = (step for step in preview.steps if (step.kind, step.name) == (kind, name))
    return found


def changes(preview: Preview) -> list[tuple[str, str]]:
    return sorted((step.operation, step.urn) for step in preview.steps if step.operation != "same")


def refreshed(preview: Preview) -> dict[str, str]:
    """Return what each refresh has found, by the name of the object."""
    return {name_before(step): "gone" if step.new is None else "changed" for step in preview.refreshed}


def record(request: pytest.FixtureRequest, texts: dict[str, str], namespace: str) -> None:
    if request.config.getoption("--update-golden"):
        RECORDED.mkdir(exist_ok=True)
        for name, text in texts.items():
            (RECORDED / name).write_text(cleaned(text, namespace))


@pytest.mark.shows("the review reads what the engine writes")
def test_both_forms_of_a_real_preview(engine: Project, request: pytest.FixtureRequest) -> None:
    engine.copied("allreduce", lambda data: data.update(KEPT))
    stack = engine.stack("allreduce")
    engine.ssh_secret(stack).succeeded()
    engine.up(stack)
    first = engine.plan("allreduce")

    engine.copied("allreduce", lambda data: data.update(NOT_KEPT, env={"NCCL_DEBUG": "WARN"}, ssh={"rotation": 2}))
    ran = run_preview(stack, engine.folder)
    digest = engine.pulumi("preview", "--json", "-s", stack).succeeded()
    record(request, {"replace.jsonl": ran.text, "replace.json": digest}, engine.namespace)
    streamed, told = read_preview(ran.text), read_preview(digest)
    assert (ran.code, ran.errors) == (0, "")
    assert (streamed.failed, streamed.not_checked, told.failed) == ("", (), "")
    assert changes(streamed) == changes(told)
    _holds_what_the_review_needs(streamed)
    secrets = traces(keys(first, 1)) | traces(keys(first, 2))
    assert {trace for trace in secrets for preview in (streamed, told) if trace in repr(preview)} == set()

    engine.copied("allreduce", lambda data: data.update(image=5))
    ran = run_preview(stack, engine.folder)
    failed = read_preview(ran.text)
    assert ran.code == 1
    assert "image = 5" in failed.failed
    engine.destroy(stack)


def _holds_what_the_review_needs(preview: Preview) -> None:
    job = step(preview, "Job", "allreduce-job")
    assert (job.operation, job.keys) == ("replace", ("metadata.name",))
    assert job.old is not None
    assert job.new is not None
    assert job.old.inputs["metadata"]["name"] != job.new.inputs["metadata"]["name"]
    claim = step(preview, "PersistentVolumeClaim", "allreduce-claim-runs")
    assert claim.old is not None
    assert claim.new is not None
    assert (claim.operation, claim.old.keep, claim.new.keep) == ("same", True, False)
    secret = step(preview, "Secret", "allreduce-ssh")
    changed = {found.path: (found.before, found.after) for found in field_differences(secret)}
    assert (secret.operation, changed["data"]) == ("update", (MASK, CHANGED_MASK))
    assert preview.masked == 1
    (reviewed,) = jobs_of(preview)
    assert reviewed.job == job
    assert reviewed.before is not None
    assert reviewed.after is not None
    assert (reviewed.before.experiment["env"], reviewed.after.experiment["env"]["NCCL_DEBUG"]) == ({}, "WARN")
    assert reviewed.component is not None
    assert reviewed.component.old is not None
    assert reviewed.component.old.identity == reviewed.before.revision


@pytest.mark.proof("what a refresh finds; `make test` reads a preview without one")
def test_what_a_refresh_finds(engine: Project, live: Live, request: pytest.FixtureRequest) -> None:
    """A claim that is gone and no longer wanted, a Service that somebody has edited, and a job that is gone."""
    engine.environment()
    volumes = {name: {"size": "1Gi", "mount": f"/{name}"} for name in ("runs", "logs")}
    bert = {
        "image": "registry.example.com/ai/pytorch-training:latest",
        "launcher": {"torchrun": {"script": "/app/train.py"}},
        "roles": {"worker": {"replicas": 2}},
    }
    engine.experiment("bert", {**bert, "storage": volumes})
    stack = engine.stack("bert")
    engine.up(stack)
    job = live.only_job(engine.namespace)["metadata"]["name"]
    live.delete("jobs", job, engine.namespace)
    until(lambda: live.names("pods", engine.namespace) == set(), "the pods to be gone")
    live.delete("persistentvolumeclaims", "bert-logs", engine.namespace)
    until(lambda: live.find("persistentvolumeclaims", "bert-logs", engine.namespace) is None, "the claim to be gone")
    edited = {"spec": {"publishNotReadyAddresses": False}}
    live.merge(live.path("services", engine.namespace, "bert"), edited, "kubectl-edit")

    engine.experiment("bert", {**bert, "storage": {"runs": volumes["runs"]}})
    ran = run_preview(stack, engine.folder, ["--refresh"])
    digest = engine.pulumi("preview", "--refresh", "--json", "-s", stack).succeeded()
    record(request, {"refresh.jsonl": ran.text, "refresh.json": digest}, engine.namespace)
    assert refreshed(read_preview(ran.text)) == {"bert": "changed", "bert-logs": "gone", job: "gone"}
    assert refreshed(read_preview(digest)) == {"bert": "changed", job: "gone"}


@pytest.mark.proof("results of policies; `make test` reads a preview without them")
def test_results_of_policies_are_read(engine: Project) -> None:
    with_pack(engine, **REGISTRY)
    stack = program(engine, JOB + f'Raw("train", job("train", "{ELSEWHERE}"))\n')
    ran: EngineRun = run_preview(stack, engine.folder, PACK)
    preview = read_preview(ran.text)
    assert ran.code != 0
    assert " refuses train: " in preview.failed
    results: list[Any] = [result for result in preview.policies if "TF-IMG-1" in result.text]
    assert [(result.level, result.pack, result.urn.rpartition("::")[2]) for result in results] == [
        ("mandatory", "trainform", "train")
    ]
    (job,) = jobs_of(preview)
    assert (job.name, job.component) == ("train", None)
