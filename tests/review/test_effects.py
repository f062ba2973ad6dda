"""What happens, as data with a sentence for each effect."""

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
    suspended,
    urn,
)
from tests.support.samples import environment
from trainform.cluster.facts import LiveFacts
from trainform.cluster.phases import Phase
from trainform.console.lines import MASK
from trainform.plan.inputs import environment_inputs
from trainform.review.context import Context
from trainform.review.effects import effects
from trainform.review.findings.restart import find as restarts
from trainform.review.model import Effect
from trainform.review.preview import State

QUEUE = "kubernetes:scheduling.volcano.sh/v1beta1:Queue"
CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
NAMESPACE = "kubernetes:core/v1:Namespace"
PRIORITY_CLASS = "kubernetes:scheduling.k8s.io/v1:PriorityClass"
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
    expected = Effect(kind="none", thing="stack", object="dev", sentence="Nothing changes.")
    assert effects(change(LORA, LORA)) == [expected]


def test_a_job_is_created() -> None:
    assert sentences(change(None, LORA)) == [
        f"Creates the job {name_of(LORA)} (32 a800).",
        "Creates the claim sdxl-lora-checkpoints (or adopts an existing one with its data).",
    ]
    data = {**LORA, "roles": {"worker": {"replicas": 2}}}
    assert of_job(change(None, data)).sentence == f"Creates the job {name_of(data)} (2 pods)."


@pytest.mark.parametrize(
    ("live", "state", "words"),
    [
        (running(name_of(LORA)), "running", "the running job NAME (32 a800, up 16 h)"),
        (running(name_of(LORA), started="2026-11-18T20:00:00Z"), "running", "the running job NAME (32 a800, up 5 d)"),
        (running(name_of(LORA), Phase.QUEUED), "pending", "the job NAME (32 a800, queued)"),
        (running(name_of(LORA), Phase.SUCCEEDED), "finished", "the finished job NAME (32 a800, succeeded)"),
        (EMPTY, "absent", "the job NAME (32 a800, not in the cluster)"),
        (None, "unknown", "the job NAME (32 a800; whether it runs is unknown: the cluster was not read)"),
        (
            LiveFacts(READ_AT, jobs=(), not_read={f"Job/{name_of(LORA)}": "forbidden"}),
            "unknown",
            "the job NAME (32 a800; whether it runs is unknown: forbidden)",
        ),
        (
            structs.replace(running(name_of(LORA), Phase.QUEUED), not_read={"pods of ai-namespace": "forbidden"}),
            "unknown",
            "the job NAME (32 a800; whether it runs is unknown: its pods were not read (forbidden))",
        ),
    ],
)
def test_what_the_cluster_reports_of_a_replaced_job(live: LiveFacts | None, state: str, words: str) -> None:
    name = name_of(LORA)
    made = of_job(change(LORA, IMAGE, live))
    assert made.sentence == f"Replaces {words} because `image` changes.".replace("NAME", name)
    assert (made.kind, made.thing, made.object, made.state, made.size) == ("replace", "job", name, state, "32 a800")
    assert (made.before, made.after) == (name, name_of(IMAGE))
    assert [cause.place.path for cause in made.causes] == ["image"]


def test_without_a_record_or_a_difference_the_cause_is_unknown() -> None:
    job = job_review(deployed(LORA), deployed(IMAGE))
    for each in (dataclasses.replace(job, before=None), dataclasses.replace(job, after=job.before)):
        assert of_job(context(each, live=EMPTY)).sentence.endswith(" for an unknown reason.")


def test_the_launch_scripts_of_another_trainform_are_a_cause() -> None:
    """Another name in them is none."""
    job = job_review(deployed(LORA), deployed(IMAGE))
    files = next(each for each in job.steps if each.old is not None and "-launch-script-" in each.name)
    assert files.old is not None
    data = {**files.old.inputs["data"], "launch.sh": "exec torchrun"}
    older = structs.replace(files, old=dataclasses.replace(files.old, inputs={**files.old.inputs, "data": data}))
    steps = tuple(older if each is files else each for each in job.steps)
    made = context(dataclasses.replace(job, after=job.before, steps=steps), live=running(name_of(LORA)))
    assert of_job(made).sentence.endswith(" because this trainform has other launch scripts.")
    assert [finding.code for finding in restarts(made)] == ["TR-RESTART-1"]


@pytest.mark.parametrize(
    ("part", "stays"),
    [
        ({"size": "4Ti"}, True),
        ({"mount": "/mnt/other"}, False),
        ({"sub_path": "first"}, False),
        ({"class": None}, False),
    ],
)
def test_a_volume_stays_only_where_claim_and_mount_path_are_unchanged(part: dict[str, Any], stays: bool) -> None:
    after = {**stored(**part), "image": IMAGE["image"]}
    expected = "Keeps the claim sdxl-lora-checkpoints, mounted at /mnt/output as before."
    assert (expected in sentences(change(LORA, after))) is stays


@pytest.mark.parametrize("backend", ["volcano", "trainer"])
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
    """The pods decide, and not the experiment's storage alone."""
    before = {**LORA, "backend": backend}
    worker = {**LORA["roles"]["worker"], "pod_overrides": {"spec": overrides}}
    after = {**before, "image": IMAGE["image"], "roles": {"worker": worker}}
    assert any(effect.kind == "keep" for effect in effects(change(before, after))) is stays


def test_scaling_in_place() -> None:
    roles = {"worker": {"replicas": 5, "accelerators": {"a800": 8}}}
    made = of_job(change(ELASTIC, {**ELASTIC, "roles": roles}))
    assert (made.kind, made.sentence) == ("scale", "Scales the elastic role worker 3 → 5 in place.")
    assert (made.before, made.after) == ({"worker": 3}, {"worker": 5})
    more = of_job(change(ELASTIC, {**ELASTIC, "roles": roles, "labels": {"team": "vision"}}))
    assert more.sentence == (
        "Scales the elastic role worker 3 → 5 in place and changes the job because `labels.team` changes."
    )


def test_a_change_in_place() -> None:
    made = of_job(change(LORA, {**LORA, "labels": {"team": "vision"}}, running(name_of(LORA))))
    expected = f"Changes the running job {name_of(LORA)} (32 a800, up 16 h) in place because `labels.team` changes."
    assert (made.kind, made.sentence) == ("update", expected)


@pytest.mark.parametrize(("phase", "kind"), [(Phase.RUNNING, "stop"), (Phase.SUCCEEDED, "delete")])
def test_a_job_that_is_deleted(phase: Phase, kind: str) -> None:
    made = of_job(change(LORA, None, running(name_of(LORA), phase)))
    assert (made.kind, made.before, made.after) == (kind, name_of(LORA), None)
    assert made.sentence.startswith("Deletes the ")


def test_a_job_of_the_same_name_that_does_not_exist_is_created_again() -> None:
    """After an `up` that was refused half way, and a file that was put back."""
    job = job_review(deployed(LORA), deployed(LORA))
    assert job.job is not None
    anew = structs.replace(job.job, operation="replace")
    job = dataclasses.replace(job, job=anew, steps=tuple(anew if found == job.job else found for found in job.steps))
    made = of_job(context(job, live=EMPTY))
    expected = f"Creates the job {name_of(LORA)} (32 a800) again, since it is not in the cluster."
    assert (made.kind, made.sentence) == ("create", expected)
    assert [finding.code for finding in restarts(context(job, live=EMPTY))] == ["TR-RESTART-3"]
    assert of_job(context(job, live=running(name_of(LORA)))).kind == "replace"
    assert of_job(context(job)).kind == "replace", "whether it exists is unknown"


def test_an_operation_of_a_newer_engine_is_an_unknown_change() -> None:
    job = job_review(deployed(LORA), deployed(IMAGE))
    assert job.job is not None
    moved = structs.replace(job.job, operation="teleport")
    steps = tuple(moved if found == job.job else found for found in job.steps)
    made = of_job(context(dataclasses.replace(job, job=moved, steps=steps)))
    assert made.kind == "unknown"
    assert "`teleport`" in made.sentence


def test_claims() -> None:
    assert [(effect.before, effect.after) for effect in effects(change(LORA, stored(size="4Ti")))] == [("2Ti", "4Ti")]
    changed = " because `storage.checkpoints.access_modes` changes"
    assert (
        f"Would replace the claim sdxl-lora-checkpoints{changed}, but keeps it: its replacement has the same name; its "
        "spec differs, so `pulumi up` will be refused here."
    ) in sentences(change(LORA, stored(access_modes=["ReadWriteOnce"])))
    plain = stored(keep=False), stored(keep=False, access_modes=["ReadWriteOnce"])
    assert f"Replaces the claim sdxl-lora-checkpoints{changed}." in sentences(change(*plain))
    assert "Deletes the claim sdxl-lora-checkpoints." in sentences(change(stored(keep=False), None))
    (kept,) = [effect for effect in effects(change(LORA, None)) if effect.thing == "claim"]
    assert (kept.kind, kept.sentence.partition(";")[0]) == (
        "leave",
        "Takes the claim sdxl-lora-checkpoints out of the stack",
    )


def test_a_secret_whose_values_alone_change() -> None:
    data = {"data": {"id_ed25519": MASK}}
    made = context(others=[object_step("update", "Secret", "sdxl-lora-ssh", data, data, detail={})])
    assert sentences(made) == ["Changes the Secret sdxl-lora-ssh: a secret value changed."]
    labelled = {**data, "immutable": True}
    made = context(others=[object_step("update", "Secret", "sdxl-lora-ssh", data, labelled, detail={})])
    assert sentences(made) == ["Changes the Secret sdxl-lora-ssh."]


def test_only_the_record_changes() -> None:
    """A waiver reaches no object but the record."""
    job = job_review(deployed(LORA), deployed(LORA))
    assert job.after is not None
    after = structs.replace(job.after, experiment={**job.after.experiment, "waivers": [{"rule": "TF-IMG-1"}]})
    changed = [
        structs.replace(found, operation="update") if found.name == "sdxl-lora-deployed" else found
        for found in job.steps
    ]
    assert sentences(context(dataclasses.replace(job, after=after, steps=tuple(changed)))) == [
        "Changes what is recorded as deployed of sdxl-lora, and nothing that runs because `waivers[0]` changes."
    ]


def test_another_version_of_trainform_is_named_and_is_not_a_cause() -> None:
    version = (
        "Records another version of trainform for sdxl-lora: trainform 0.8.0 deployed it, and 0.9.0 renders it now."
    )
    absent, said = sentences(of_versions(LORA, LORA))
    assert absent.startswith("The job sdxl-lora-638afb is not in the cluster")
    assert said == version
    *_, said = sentences(of_versions(LORA, IMAGE))
    assert said == version
    replaced = of_job(of_versions(LORA, IMAGE))
    assert [cause.place.path for cause in replaced.causes] == ["image"]


def of_versions(before: dict[str, Any], after: dict[str, Any]) -> Context:
    """A job that an older trainform has deployed."""
    return context(job_review(deployed(before, version="0.8.0"), deployed(after)), live=EMPTY)


def platform(
    operation: str,
    type_: str,
    name: str,
    old: dict[str, Any] | None,
    new: dict[str, Any] | None,
    *settings: dict[str, Any],
) -> Context:
    """A change of an object of an environment's own stack. settings: parts of the environment before and after."""
    states = [
        None if body is None else State({"metadata": {"name": name}, **body}, parent=PLATFORM, provider=PROVIDER)
        for body in (old, new)
    ]
    inputs = [State(environment_inputs(environment(**parts))) for parts in settings or ({}, {})]
    component = step("same", "trainform:index:Platform", "dev", *inputs)
    return context(others=[component, step(operation, type_, f"dev-{name}", *states, detail={})], locate=locate)


SIZES = [{"spec": {"resources": {"requests": {"storage": size}}}} for size in ("1Ti", "2Ti")]
CLAIMS = [{"claims": {"night": {"size": size}}} for size in ("1Ti", "2Ti")]
CLASSES = [{"priority_classes": {"night": {"value": value}}} for value in (1, 2)]


@pytest.mark.parametrize(
    ("type_", "old", "new", "settings", "said"),
    [
        (
            CLAIM,
            *SIZES,
            CLAIMS,
            "Changes the claim night from 1Ti to 2Ti because `environment.claims.night.size` changes.",
        ),
        (
            PRIORITY_CLASS,
            {"value": 1},
            {"value": 2},
            CLASSES,
            "Changes the priority class night because `environment.priority_classes.night.value` changes.",
        ),
        (NAMESPACE, {}, None, [], "Deletes the namespace night and everything in it."),
        (f"{QUEUE}Patch", {}, None, [], "Stops setting fields of the queue night, which stays in the cluster."),
        ("kubernetes:apps/v1:Deployment", {"spec": 1}, {"spec": 2}, [], "Changes the Deployment night."),
    ],
)
def test_objects_of_an_environments_own_stack(type_: str, old: Any, new: Any, settings: Any, said: str) -> None:
    operation = "create" if old is None else "delete" if new is None else "update"
    made = platform(operation, type_, "night", copy.deepcopy(old), copy.deepcopy(new), *settings)
    assert sentences(made) == [said]


def test_a_renamed_namespace() -> None:
    namespaces = [{"metadata": {"name": name}} for name in ("ai-old", "ai-new")]
    sides = [{"namespace": {"name": name, "create": True}} for name in ("ai-old", "ai-new")]
    (made,) = effects(platform("replace", NAMESPACE, "namespace", *namespaces, *sides))
    assert made.sentence == (
        "Replaces the namespace ai-old and everything in it by ai-new because `environment.namespace.name` changes."
    )
    assert (made.thing, made.object) == ("namespace", "ai-old")
    component, gone = platform("replace", NAMESPACE, "namespace", *namespaces, *sides).preview.steps
    assert gone.old is not None
    kept = structs.replace(gone, old=dataclasses.replace(gone.old, keep=True))
    assert sentences(context(others=[component, kept])) == [
        "Replaces the namespace ai-old by ai-new because `environment.namespace.name` changes; the old one is kept."
    ]


def test_several_objects_of_other_programs_are_counted() -> None:
    made = context(
        others=[
            object_step("create", "ConfigMap", "a", None, {}),
            object_step("create", "ConfigMap", "b", None, {}),
            object_step("delete", "Service", "c", {}, None),
            object_step("import", "Service", "d", None, {}),
        ]
    )
    assert sentences(made) == [
        "Creates 2 ConfigMaps.",
        "Deletes the Service c.",
        "Unknown change of the Service d: the engine calls it `import`.",
    ]


JOBSET = {**LORA, "backend": "jobset"}


def test_a_job_is_suspended_and_resumed_by_its_stack() -> None:
    name = name_of(JOBSET)
    found = of_job(context(job_review(deployed(JOBSET), suspended(deployed(JOBSET))), live=running(name)))
    assert found.sentence == f"Suspends the running job {name} (32 a800, up 16 h): its pods end."
    assert (found.kind, found.before, found.after) == ("stop", name, name)
    found = of_job(
        context(job_review(suspended(deployed(JOBSET)), deployed(JOBSET)), live=running(name, Phase.SUSPENDED))
    )
    assert found.sentence == f"Resumes the job {name} (32 a800, suspended): its pods start again."
    assert found.kind == "update"


def test_a_new_job_that_starts_suspended() -> None:
    made = of_job(context(job_review(None, suspended(deployed(JOBSET))), live=EMPTY))
    assert made.sentence == f"Creates the job {name_of(JOBSET)} (32 a800); it starts suspended."
    image = {**IMAGE, "backend": "jobset"}
    made = of_job(context(job_review(deployed(JOBSET), suspended(deployed(image))), live=running(name_of(JOBSET))))
    assert made.sentence.endswith("because `image` changes; it starts suspended.")
