"""Findings about security: what this change adds."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.review.jobs import LORA, change, context, deployed, job_review, locate, object_step
from tests.support import previews
from tests.support.leaks import OTHER_HUB_TOKEN as TOKEN
from tests.support.samples import CLUSTER
from trainform.console.lines import MASK, UNKNOWN
from trainform.review.context import Context
from trainform.review.findings.security import find
from trainform.review.model import Finding
from trainform.review.read import read_preview
from trainform.spec.environment import Environment

DIGEST = "@sha256:" + "0" * 64
IMAGE = f"registry.example.com/ai/pytorch-training{DIGEST}"
JOB = "kubernetes:batch.volcano.sh/v1alpha1:Job"


def body(**pod: Any) -> dict[str, Any]:
    """A job with one container; `main` has fields of it."""
    main = {"name": "main", "image": IMAGE, **pod.pop("main", {})}
    template = {"spec": {"containers": [main], **pod}}
    return {"spec": {"tasks": [{"name": "worker", "replicas": 1, "template": template}]}}


def found(before: dict[str, Any] | None, after: dict[str, Any]) -> list[Finding]:
    operation = "create" if before is None else "update"
    return [*find(context(others=[object_step(operation, JOB, "web", before, after, detail={})]))]


def codes(before: dict[str, Any] | None, after: dict[str, Any]) -> list[str]:
    return [finding.code for finding in found(before, after)]


DANGERS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("TR-SECURITY-1", {"main": {"securityContext": {"privileged": True}}},
        {"main": {"securityContext": {"privileged": False}}}),
    ("TR-SECURITY-2", {"volumes": [{"name": "d", "hostPath": {"path": "/data"}}]},
        {"volumes": [{"name": "d", "emptyDir": {}}]}),
    ("TR-SECURITY-3", {"hostNetwork": True}, {"hostNetwork": False}),
    ("TR-SECURITY-4", {"hostPID": True}, {"hostPID": False}),
    ("TR-SECURITY-4", {"hostIPC": True}, {}),
    (
        "TR-SECURITY-5",
        {"main": {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}},
        {"main": {"securityContext": {"capabilities": {"add": ["CHOWN"]}}}},
    ),
    ("TR-SECURITY-6", {"securityContext": {"runAsUser": 0}}, {"securityContext": {"runAsUser": 1000}}),
    ("TR-SECURITY-7", {"main": {"image": "registry.example.com/ai/other:2.8"}},
        {"main": {"image": f"registry.example.com/ai/other{DIGEST}"}}),
    ("TR-SECURITY-8", {"main": {"image": f"docker.io/ai/pytorch{DIGEST}"}},
        {"main": {"image": f"registry.example.com/x{DIGEST}"}}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "danger", "harmless"), DANGERS)
def test_a_danger_that_this_change_adds(code: str, danger: dict[str, Any], harmless: dict[str, Any]) -> None:
    before, bad, good = (body(**copy.deepcopy(parts)) for parts in ({}, danger, harmless))
    assert codes(before, bad) == [code]
    assert codes(before, good) == []
    assert codes(bad, bad) == [], "it was there before"
    if code != "TR-SECURITY-8":  # a new object has no registry that it came from
        assert codes(None, bad) == [code]


def test_what_the_environment_allows_is_said_and_weighs_less() -> None:
    allows = Environment.model_validate(CLUSTER)
    made = change(LORA, {**LORA, "network": {"host": True}}, locate=locate)
    (plain,) = find(made)
    (allowed,) = find(Context("dev", made.preview, made.jobs, allows, locate=locate))
    assert (plain.level, allowed.level) == ("medium", "low")
    assert allowed.title.endswith("; the environment allows it.")
    assert (allowed.object[:10], allowed.place) == ("sdxl-lora-", locate("network.host"))


def test_a_danger_of_several_roles_is_one_finding_with_its_cause() -> None:
    both = {**LORA, "roles": {**LORA["roles"], "reader": {"replicas": 2, "ranked": False, "command": ["cat"]}}}
    (host,) = find(change(both, {**both, "network": {"host": True}}, locate=locate))
    assert (host.code, host.place) == ("TR-SECURITY-3", locate("network.host"))
    assert "spec.hostNetwork = true in worker, reader of sdxl-lora" in host.title
    patch = {"pod_overrides": {"spec": {"containers": {"main": {"securityContext": {"privileged": True}}}}}}
    role = {**LORA["roles"]["worker"], **patch}
    open_cluster = {**CLUSTER, "limits": {"pod_security": "privileged"}}
    patched = {**both, "roles": {**both["roles"], "worker": role}}
    job = job_review(deployed(both, open_cluster), deployed(patched, open_cluster))
    (privileged,) = find(context(job, locate=locate))
    assert privileged.place is not None
    assert privileged.place.path.startswith("roles.worker.pod_overrides")


@pytest.mark.parametrize("backend", ["volcano", "trainer"])
def test_what_the_old_revision_had_is_not_new(backend: str) -> None:
    """Trainer's runtime has the revision in its name: the old one is deleted beside the new one."""
    open_job = {**LORA, "backend": backend, "network": {"host": True}, "env": {"HUB": "hub"}}
    (added,) = find(change({**open_job, "network": {}}, open_job))
    assert added.code == "TR-SECURITY-3"
    other = f"docker.io/ai/pytorch-training{DIGEST}"
    before = {**open_job, "image": IMAGE}
    assert [finding.code for finding in find(change(before, {**before, "image": other}))] == ["TR-SECURITY-8"]


def test_an_image_is_found_at_its_field() -> None:
    before = {**LORA, "image": f"registry.example.com/ai/pytorch-training{DIGEST}"}
    (finding,) = find(change(before, {**LORA, "image": "registry.example.com/ai/pytorch-training:2.9"}, locate=locate))
    assert finding.place == locate("image")
    role = {**LORA["roles"]["worker"], "image": "registry.example.com/ai/pytorch-training:2.9"}
    (finding,) = find(change(before, {**before, "roles": {"worker": role}}, locate=locate))
    assert finding.place == locate("roles.worker.image")


def test_an_image_without_a_digest_is_told_once_for_all_roles() -> None:
    both = {
        "roles": {**LORA["roles"], "reader": {"replicas": 2}},
        "image": "registry.example.com/ai/pytorch-training:2.9",
    }
    (finding,) = (each for each in find(change(None, {**LORA, **both})) if each.code == "TR-SECURITY-7")
    assert finding.title == f"The image of worker, reader of sdxl-lora has no digest: {both['image']}."


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"main": {"image": "registry.example.com/ai/x:1"}}, {"main": {"image": "registry.example.com/ai/x:2"}}),
        ({}, {"hostNetwork": MASK, "main": {"image": MASK}}),
        ({}, {"hostNetwork": UNKNOWN, "main": {"image": UNKNOWN}}),
    ],
)
def test_what_is_not_told(before: dict[str, Any], after: dict[str, Any]) -> None:
    """An image that had no digest before, and what is masked or not known yet."""
    assert codes(body(**copy.deepcopy(before)), body(**copy.deepcopy(after))) == []


WHERE = "spec.tasks.worker.template.spec.containers.main"


@pytest.mark.parametrize("form", [previews.stream, previews.digest])
@pytest.mark.parametrize(
    ("main", "field"),
    [
        ({"env": [{"name": "HUB", "value": TOKEN}]}, f"{WHERE}.env.HUB.value"),
        ({"command": ["train", f"--token={TOKEN}"]}, f"{WHERE}.command"),
        ({"args": ["--hf-token", "hunter2-hunter2"]}, f"{WHERE}.args"),
    ],
)
def test_a_literal_secret_of_a_preview_is_found_and_never_shown(form: Any, main: dict[str, Any], field: str) -> None:
    """Findings are made of what is masked already: the place of the secret is noted when it is masked."""
    named, where = {"metadata": {"name": "web"}}, previews.urn(JOB, "web")

    def seen(operation: str, before: dict[str, Any] | None, after: dict[str, Any]) -> list[Finding]:
        sides = [None if each is None else previews.state({**named, **each}) for each in (before, after)]
        preview = read_preview(form(previews.step_event(operation, where, *sides)))
        return [each for each in find(Context("dev", preview, ())) if each.code == "TR-SECURITY-9"]

    bad = body(main=main)
    for operation, before in (("update", body()), ("create", None)):
        (finding,) = seen(operation, before, bad)
        assert (finding.object, finding.field, finding.after) == ("web", field, MASK)
        assert finding.title == f"A secret stands as plain text in Job of web: {field}."
    assert seen("update", bad, bad) == [], "it was there before"


def test_what_is_not_a_plain_secret_in_an_object() -> None:
    """The content of a Secret, a value that the program marks, and a reference."""
    secret = {"metadata": {"name": "hub"}, "stringData": {"token": TOKEN}}
    marked = body(main={"env": [{"name": "HUB", "value": previews.secret(TOKEN)}]})
    reference = {"secretKeyRef": {"name": "hub", "key": "token"}}
    named = body(main={"env": [{"name": "HUB_TOKEN", "valueFrom": reference}]})
    events = [
        previews.step_event("create", previews.urn(previews.SECRET, "hub"), None, previews.state(secret)),
        previews.step_event("create", previews.urn(JOB, "one"), None, previews.state(marked)),
        previews.step_event("create", previews.urn(JOB, "two"), None, previews.state(named)),
    ]
    codes_found = {each.code for each in find(Context("dev", read_preview(previews.stream(*events)), ()))}
    assert "TR-SECURITY-9" not in codes_found


def test_objects_that_go_or_stay_are_not_judged() -> None:
    bad = body(hostNetwork=True)
    for operation in ("same", "delete"):
        assert not [*find(context(others=[object_step(operation, "kubernetes:apps/v1:Deployment", "web", {}, bad)]))]
