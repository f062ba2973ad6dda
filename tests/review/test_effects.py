"""What happens, a sentence for each effect."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest
from msgspec import structs

from tests.review.jobs import (
    ELASTIC,
    EMPTY,
    LORA,
    PROVIDER,
    READ_AT,
    change,
    context,
    deployed,
    job_review,
    locate,
    name_of,
    object_step,
    running,
    step,
    urn,
)
from trainform.cluster.facts import LiveFacts
from trainform.review.context import Context
from trainform.review.effects import effects
from trainform.review.fate import fate
from trainform.review.findings.restart import find as restarts
from trainform.review.model import Effect
from trainform.review.preview import State
from trainform.review.stand_ins import MASKED

QUEUE = "kubernetes:scheduling.volcano.sh/v1beta1:Queue"
CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
PLATFORM = urn("trainform:index:Platform", "dev")
IMAGE = {**LORA, "image": "registry.example.com/ai/pytorch-training:2.9"}


def sentences(made: Context) -> list[str]:
    return [effect.sentence for effect in effects(made)]


def of_job(made: Context) -> Effect:
    return effects(made)[0]


def stored(**parts: Any) -> dict[str, Any]:
    """The job with other fields of its volume."""
    return {**LORA, "storage": {"checkpoints": {**LORA["storage"]["checkpoints"], **parts}}}


def test_nothing_changes() -> None:
    assert effects(change(LORA, LORA)) == [Effect(kind="none", object="dev", sentence="Nothing changes.")]


def test_a_job_is_created() -> None:
    name = name_of(LORA)
    assert sentences(change(None, LORA)) == [
        f"Creates the job {name} (32 a800).",
        (
            "Creates the claim sdxl-lora-checkpoints (or takes over one of this name with its data, if it was kept "
            "before)."
        ),
        "Beside the job of sdxl-lora: creates 1 ConfigMap and 1 Service.",
    ]


def test_a_job_without_accelerators_is_told_by_its_pods() -> None:
    data = {**LORA, "roles": {"worker": {"replicas": 2}}}
    assert of_job(change(None, data)).sentence == f"Creates the job {name_of(data)} (2 pods)."


@pytest.mark.parametrize(
    ("live", "words"),
    [
        (running(name_of(LORA)), "the running job NAME (up 16 h, 32 a800)"),
        (running(name_of(LORA), started="2026-11-23T19:15:00Z"), "the running job NAME (up 45 min, 32 a800)"),
        (running(name_of(LORA), started="2026-11-18T20:00:00Z"), "the running job NAME (up 5 d, 32 a800)"),
        (running(name_of(LORA), started="yesterday"), "the running job NAME (32 a800)"),
        (running(name_of(LORA), "Pending"), "the job NAME (Pending, 32 a800)"),
        (running(name_of(LORA), "Completed"), "the finished job NAME (Completed, 32 a800)"),
        (EMPTY, "the job NAME (not in the cluster, 32 a800)"),
        (None, "the job NAME (32 a800; whether it runs is not known: the cluster was not read)"),
        (running(name_of(LORA), "Restarting"), "the running job NAME (Restarting, 32 a800)"),
        (
            LiveFacts(READ_AT, not_read={"cluster": "it does not answer"}),
            "the job NAME (32 a800; whether it runs is not known: it does not answer)",
        ),
        (
            LiveFacts(READ_AT, jobs=(), not_read={f"Job/{name_of(LORA)}": "forbidden"}),
            "the job NAME (32 a800; whether it runs is not known: forbidden)",
        ),
        (
            structs.replace(running(name_of(LORA), "Pending"), not_read={"pods of ai-namespace": "forbidden"}),
            "the job NAME (32 a800; whether it runs is not known: its pods were not read (forbidden))",
        ),
        (
            structs.replace(running(name_of(LORA), "Failed"), not_read={"pods of ai-namespace": "forbidden"}),
            "the finished job NAME (Failed, 32 a800)",
        ),
    ],
)
def test_what_the_cluster_says_of_a_replaced_job(live: LiveFacts | None, words: str) -> None:
    expected = f"Replaces {words} because `image` changes.".replace("NAME", name_of(LORA))
    made = of_job(change(LORA, IMAGE, live))
    assert (made.kind, made.sentence) == ("replace", expected)
    assert [cause.place.path for cause in made.causes] == ["image"]


def test_a_cause_has_its_file_and_line() -> None:
    (cause,) = of_job(change(LORA, IMAGE, locate=locate)).causes
    assert (cause.place.file, cause.place.line) == ("stacks/experiments/sdxl-lora.yaml", len("image"))


def test_without_a_record_the_cause_says_what_it_was_worked_out_from() -> None:
    job = dataclasses.replace(job_review(deployed(LORA), deployed(IMAGE)), before=None)
    said = of_job(context(job, live=EMPTY)).sentence
    assert said.endswith(
        "because `image` changes (worked out from what was wanted, not from what is recorded as deployed)."
    )


def test_a_replacement_that_nothing_explains_says_so() -> None:
    job = job_review(deployed(LORA), deployed(IMAGE))
    job = dataclasses.replace(job, after=job.before)
    assert of_job(context(job, live=EMPTY)).sentence.endswith(" for no visible reason.")


@pytest.mark.parametrize(
    ("part", "stays"),
    [
        ({"size": "4Ti"}, True),
        ({"mount": "/mnt/other"}, False),
        ({"sub_path": "first"}, False),
        ({"class": None}, False),
    ],
)
def test_what_is_said_of_checkpoints_holds(part: dict[str, Any], stays: bool) -> None:
    """Only where claim and mount path are unchanged."""
    after = {**stored(**part), "image": IMAGE["image"]}
    expected = (
        "The volume checkpoints stays in the claim sdxl-lora-checkpoints: claim and mount path (/mnt/output) are "
        "unchanged."
    )
    assert (expected in sentences(change(LORA, after))) is stays


@pytest.mark.parametrize("backend", ["volcano", "jobset", "trainer", "kubeflow"])
@pytest.mark.parametrize(
    ("overrides", "stays"),
    [
        ({"terminationGracePeriodSeconds": 600}, True),
        (
            {"containers": {"main": {"volumeMounts": {"checkpoints": {"mountPath": "/elsewhere", "subPath": "x"}}}}},
            False,
        ),
        ({"volumes": {"checkpoints": {"persistentVolumeClaim": {"claimName": "other"}}}}, False),
    ],
)
def test_overrides_of_volumes_count(backend: str, overrides: dict[str, Any], stays: bool) -> None:
    """The pods say what stays where it is, and not the experiment's storage alone."""
    before = {**LORA, "backend": backend}
    worker = {**LORA["roles"]["worker"], "pod_overrides": {"spec": overrides}}
    after = {**before, "image": IMAGE["image"], "roles": {"worker": worker}}
    assert any("claim and mount path" in said for said in sentences(change(before, after))) is stays


def test_a_digest_leaves_out_claims_that_stay() -> None:
    job = job_review(deployed(LORA), deployed(IMAGE))
    job = dataclasses.replace(job, steps=tuple(found for found in job.steps if found.operation != "same"))
    assert any("stays in the claim" in said for said in sentences(context(job)))


def test_scaling_in_place() -> None:
    roles = {"worker": {"replicas": 5, "accelerators": {"a800": 8}}}
    made = of_job(change(ELASTIC, {**ELASTIC, "roles": roles}))
    assert (made.kind, made.sentence) == ("scale", "Scales the elastic role worker from 3 to 5 replicas in place.")
    more = of_job(change(ELASTIC, {**ELASTIC, "roles": roles, "labels": {"team": "vision"}}))
    assert more.sentence == (
        "Scales the elastic role worker from 3 to 5 replicas in place; the job changes in place because "
        "`labels.team` changes too."
    )


def test_a_change_in_place() -> None:
    made = of_job(change(LORA, {**LORA, "labels": {"team": "vision"}}, running(name_of(LORA))))
    expected = f"Changes the running job {name_of(LORA)} (up 16 h, 32 a800) in place because `labels.team` changes."
    assert (made.kind, made.sentence) == ("update", expected)


@pytest.mark.parametrize(("phase", "kind"), [("Running", "stop"), ("Completed", "delete")])
def test_a_job_that_goes(phase: str, kind: str) -> None:
    made = of_job(change(LORA, None, running(name_of(LORA), phase)))
    assert made.kind == kind
    assert made.sentence.startswith("Deletes the ")


def test_a_job_that_is_gone_is_created_again() -> None:
    job = job_review(None, deployed(LORA))
    again = dataclasses.replace(job, before=job.after)
    assert " again, which is recorded as deployed " in of_job(context(again)).sentence
    before = deployed(IMAGE).record
    assert before is not None
    other = of_job(context(dataclasses.replace(job, before=before))).sentence
    assert f"the job {before.job}, which is recorded as deployed, is not in Pulumi's state" in other


def test_a_job_of_the_same_name_that_is_not_there_is_created_again() -> None:
    """After an `up` that was refused half way, and a file that was put back."""
    job = job_review(deployed(LORA), deployed(LORA))
    assert job.job is not None
    anew = structs.replace(job.job, operation="replace")
    job = dataclasses.replace(job, job=anew, steps=tuple(anew if found == job.job else found for found in job.steps))
    made = of_job(context(job, live=EMPTY))
    assert (made.kind, made.sentence) == (
        "create",
        (
            f"Creates the job {name_of(LORA)} (32 a800) again: it is not in the cluster (the former `pulumi up` "
            "ended half way, or it was deleted)."
        ),
    )
    assert [finding.code for finding in restarts(context(job, live=EMPTY))] == ["TR-RESTART-3"]
    assert of_job(context(job, live=running(name_of(LORA)))).kind == "replace"
    assert of_job(context(job)).kind == "replace", "nobody knows whether it is there"


def test_an_operation_of_a_newer_engine_is_an_unknown_change() -> None:
    job = job_review(deployed(LORA), deployed(IMAGE))
    assert job.job is not None
    moved = structs.replace(job.job, operation="teleport")
    steps = tuple(moved if found == job.job else found for found in job.steps)
    made = of_job(context(dataclasses.replace(job, job=moved, steps=steps)))
    assert made.kind == "unknown"
    assert "`teleport`" in made.sentence


def test_claims() -> None:
    assert sentences(change(LORA, stored(size="4Ti"))) == [
        "Changes the claim sdxl-lora-checkpoints from 2Ti to 4Ti because `storage.checkpoints.size` changes."
    ]
    assert sentences(change(LORA, stored(keep=False))) == [
        "No longer keeps the claim sdxl-lora-checkpoints: the next `pulumi destroy` deletes it."
    ]
    replaced = sentences(change(LORA, stored(access_modes=["ReadWriteOnce"])))
    assert (
        "Would replace the claim sdxl-lora-checkpoints because `storage.checkpoints.access_modes` changes, but it "
        "stays: it is kept, and its replacement has the same name; its spec differs, so `pulumi up` will be refused "
        "here."
    ) in replaced
    plain = stored(keep=False), stored(keep=False, access_modes=["ReadWriteOnce"])
    assert "Replaces the claim sdxl-lora-checkpoints because `storage.checkpoints.access_modes` changes." in sentences(
        change(*plain)
    )
    assert "Deletes the claim sdxl-lora-checkpoints." in sentences(change(stored(keep=False), None))
    kept = (
        "Takes the claim sdxl-lora-checkpoints out of the stack; it stays in the cluster with its data, since it is "
        "kept."
    )
    assert kept in sentences(change(LORA, None))


def test_a_queue_of_the_experiments_own() -> None:
    before, after = ({**LORA, "queue": {"weight": weight}} for weight in (1, 4))
    assert sentences(change(before, after)) == ["Changes the queue sdxl-lora because `queue.weight` changes."]


def test_a_secret_whose_values_alone_change() -> None:
    data = {"data": {"id_ed25519": MASKED}}
    made = context(others=[object_step("update", "Secret", "sdxl-lora-ssh", data, data, detail={})])
    assert sentences(made) == ["Changes the Secret sdxl-lora-ssh: a secret value changed."]
    labelled = {**data, "immutable": True}
    made = context(others=[object_step("update", "Secret", "sdxl-lora-ssh", data, labelled, detail={})])
    assert sentences(made) == ["Changes the Secret sdxl-lora-ssh."]


def test_what_is_recorded_alone_changes() -> None:
    """A waiver reaches no object but the record."""
    waiver = {
        "rule": "TF-IMG-1",
        "finding": "0123456789abcdef",
        "reason": "tested",
        "owner": "lead",
        "until": "2026-12-31",
    }
    job = job_review(deployed(LORA), deployed(LORA))
    assert job.after is not None
    after = structs.replace(job.after, experiment={**job.after.experiment, "waivers": [waiver]})
    changed = [
        structs.replace(found, operation="update") if found.name == "sdxl-lora-deployed" else found
        for found in job.steps
    ]
    (said,) = sentences(context(dataclasses.replace(job, after=after, steps=tuple(changed))))
    assert said == (
        "Leaves what runs of sdxl-lora as it is; only what is recorded as deployed changes, because `waivers[0]` "
        "changes."
    )


def test_another_version_of_trainform_is_named_and_is_no_cause() -> None:
    same = of_versions(LORA, LORA)
    assert sentences(same) == [
        "Leaves what runs of sdxl-lora as it is; only what is recorded as deployed changes: "
        "trainform 0.8.0 deployed it, and 0.9.0 renders it now."
    ]
    *_, said = sentences(of_versions(LORA, IMAGE))
    assert said == (
        "Records another version of trainform for sdxl-lora: trainform 0.8.0 deployed it, and 0.9.0 renders it now."
    )
    replaced = of_job(of_versions(LORA, IMAGE))
    assert [cause.place.path for cause in replaced.causes] == ["image"]
    assert replaced.sentence.endswith(" because `image` changes.")


def of_versions(before: dict[str, Any], after: dict[str, Any]) -> Context:
    """A job that an older trainform has deployed."""
    return context(job_review(deployed(before, version="0.8.0"), deployed(after)), live=EMPTY)


def platform(operation: str, type_: str, name: str, old: dict[str, Any] | None, new: dict[str, Any] | None) -> Context:
    """A change of an object of an environment's own stack."""
    states = [
        None if body is None else State({"metadata": {"name": name}, **body}, parent=PLATFORM, provider=PROVIDER)
        for body in (old, new)
    ]
    component = step("same", "trainform:index:Platform", "dev", State({}), State({}))
    return context(others=[component, step(operation, type_, f"dev-{name}", *states, detail={})], locate=locate)


def test_an_environments_own_stack_speaks_in_the_words_of_its_file() -> None:
    old = {"spec": {"weight": 4, "capability": {"cpu": "8"}}}
    new = {"spec": {"weight": 8, "capability": {"cpu": "16"}, "guarantee": {"resource": {"cpu": "4"}}}}
    (made,) = effects(platform("update", QUEUE, "night", old, new))
    assert made.sentence == (
        "Changes the queue night because `environment.queues.night.weight`, `environment.queues.night.capability.cpu` "
        "and `environment.queues.night.guarantee` change."
    )
    assert [(cause.before, cause.after) for cause in made.causes][:2] == [(4, 8), ("8", "16")]
    assert made.causes[0].place.file


@pytest.mark.parametrize(
    ("type_", "old", "new", "said"),
    [
        (
            CLAIM,
            {"spec": {"resources": {"requests": {"storage": "1Ti"}}}},
            {"spec": {"resources": {"requests": {"storage": "2Ti"}}}},
            "Changes the claim night from 1Ti to 2Ti because `environment.claims.night.size` changes.",
        ),
        (
            "kubernetes:scheduling.k8s.io/v1:PriorityClass",
            {"value": 1},
            {"value": 2},
            "Changes the priority class night because `environment.priority_classes.night.value` changes.",
        ),
        ("kubernetes:core/v1:Namespace", None, {}, "Creates the namespace night."),
        (QUEUE, None, {}, "Creates the queue night."),
        (QUEUE, {}, None, "Deletes the queue night."),
        (f"{QUEUE}Patch", {}, None, "Takes back what the stack sets of the queue night, which stays in the cluster."),
        ("kubernetes:apps/v1:Deployment", {"spec": 1}, {"spec": 2}, "Changes 1 Deployment."),
    ],
)
def test_objects_of_an_environments_own_stack(type_: str, old: Any, new: Any, said: str) -> None:
    operation = "create" if old is None else "delete" if new is None else "update"
    assert sentences(platform(operation, type_, "night", copy.deepcopy(old), copy.deepcopy(new))) == [said]


def test_a_renamed_namespace_is_told_by_its_old_name() -> None:
    namespaces = [{"metadata": {"name": name}} for name in ("ai-old", "ai-new")]
    (made,) = effects(platform("replace", "kubernetes:core/v1:Namespace", "namespace", *namespaces))
    assert made.sentence == "Replaces the namespace ai-old by ai-new because `environment.namespace.name` changes."
    assert made.object == "ai-old"


def test_objects_of_other_programs_are_counted() -> None:
    made = context(
        others=[
            object_step("create", "ConfigMap", "a", None, {}),
            object_step("create", "ConfigMap", "b", None, {}),
            object_step("delete", "Service", "c", {}, None),
            object_step("import", "Service", "d", None, {}),
        ]
    )
    assert sentences(made) == [
        "Creates 2 ConfigMaps; deletes 1 Service.",
        "Unknown change of the Service d: the engine calls it `import`.",
    ]


def test_the_fate_of_a_job_is_worked_out_once_for_what_is_known() -> None:
    known = change(LORA, IMAGE)
    [job] = known.jobs
    assert fate(known, job) is fate(known, job)
    read = dataclasses.replace(known, live=running(name_of(LORA)))
    assert (fate(known, job).live, fate(read, job).live) == (None, running(name_of(LORA)).jobs[0])  # type: ignore[index]
