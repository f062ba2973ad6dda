"""One object of anybody's program, judged by the rules of the environment."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tests.resources.policy_pack.judging import COMPONENT, ELSEWHERE, TODAY, found, raw_objects, rendered, strict
from tests.support.limit_examples import EXAMPLES, Example
from tests.support.repository import names
from tests.support.samples import environment
from trainform.backends.backend import BACKENDS, pods_of
from trainform.backends.judged import judged_job
from trainform.job.check import check_experiment
from trainform.job.render import RenderedJob, render_job
from trainform.manifests.manifest import resource_name
from trainform.resources.policy_pack.judgement import Resource, Verdict, key_of_resource, plain, verdict
from trainform.rules.limits.table import BY_CODE, RULES, judge
from trainform.spec.environment import Environment
from trainform.spec.limits import Waiver


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", names("experiments"))
def test_the_objects_of_a_job_break_the_same_rules_as_the_job(name: str, backend: str) -> None:
    """The same findings with the same fingerprints, so that a waiver of the check is one here."""
    job = rendered(name, backend)
    if job.problems:
        return  # the operator does not support it, so there is no job
    cluster = strict(job.environment)
    of_check = {
        (judgement.rule.code, judgement.fingerprint(job.plan.experiment))
        for judgement in judge(judged_job(job.experiment, job.plan, job.manifests, BACKENDS[backend]), cluster)
    }
    of_pack = set()
    for manifest in job.manifests:
        body = plain(manifest.body)
        resource = Resource(resource_name(name, manifest), body, COMPONENT.format(name))
        for rule in RULES:
            if rule.severity_in(cluster) != "off":
                messages = verdict(rule, resource, cluster, TODAY).messages
                of_pack |= {(rule.code, message[-17:-1]) for message in messages}
    assert of_check
    assert of_pack == of_check


# What one object alone does not show: who writes to a claim, which queue an experiment brings, in which queue the
# PodGroup of a JobSet waits, and when the TrainJob of a runtime ends.
OF_SEVERAL_OBJECTS = {
    *(("TF-DATA-1", backend) for backend in BACKENDS),
    *(("TF-QUE-1", backend) for backend in BACKENDS),
    *(("TF-QUE-3", backend) for backend in ("jobset", "kubernetes")),
    ("TF-RUN-2", "trainer"),
}


@pytest.mark.parametrize(
    ("code", "backend"), sorted({(code, backend) for code in EXAMPLES for backend in BACKENDS} - OF_SEVERAL_OBJECTS)
)
def test_what_breaks_a_rule_breaks_it_in_the_pack_and_what_does_not_passes(code: str, backend: str) -> None:
    job = EXAMPLES[code].job(code, backend)
    broken = {problem.fingerprint for problem in job.problems if problem.code == code}
    if not broken:
        assert job.problems  # the operator cannot do what the example asks for
        return
    found = {message[-17:-1] for message in of_pack(code, job)}
    # a secret is found where the user wrote it, or in the object; it cannot be waived
    assert found if BY_CODE[code].fixed else broken <= found
    if code not in BASE_BREAKS:
        passing = Example("labels: {team: vision}", EXAMPLES[code].limits).job(code, backend)
        assert of_pack(code, passing) == []


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("code", ["TF-PRI-1", "TF-QUE-1"])
def test_a_waiver_holds_for_every_object_that_repeats_the_value(code: str, backend: str) -> None:
    """A PodGroup names the queue and the priority class of its pods again."""
    broken = EXAMPLES[code].job(code, backend)
    fingerprints = {problem.fingerprint for problem in broken.problems if problem.code == code}
    if {problem.code for problem in broken.problems} != {code}:
        return  # the operator cannot do what the example asks for
    limits = broken.environment.limits.model_copy(update={"waivable": {code: ["lead"]}})
    cluster = broken.environment.model_copy(update={"limits": limits})
    waivers = [waiver(fingerprint, rule=code) for fingerprint in fingerprints]
    waived = render_job(broken.experiment.model_copy(update={"waivers": waivers}), cluster, today=TODAY)
    assert not waived.problems
    assert of_pack(code, waived) == []


# Rules that the small experiment of the examples breaks as it is.
BASE_BREAKS = {"TF-IMG-2", "TF-RES-5", "TF-RUN-1", "TF-RUN-2", "TF-POD-3"}


def of_pack(code: str, job: RenderedJob) -> list[str]:
    """What the pack says of the objects of a job by one rule."""
    owner = job.plan.experiment
    resources = (
        Resource(resource_name(owner, manifest), plain(manifest.body), COMPONENT.format(owner))
        for manifest in job.manifests
    )
    return [message for each in resources for message in verdict(BY_CODE[code], each, job.environment, TODAY).messages]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", names("experiments"))
def test_the_pods_of_an_object_are_those_of_the_plan(name: str, backend: str) -> None:
    job = rendered(name, backend)
    if job.problems:
        return
    pods = [pods.template for manifest in job.manifests for pods in pods_of(manifest.body)]
    planned = BACKENDS[backend].templates(job.plan, job.manifests)
    assert [(each.body, each.replicas) for each in pods] == [(each.body, each.replicas) for each in planned]
    if not any(each.key == "pod-group" for each in job.manifests):  # which says how many pods the gang needs
        assert [each.min_available for each in pods] == [each.min_available for each in planned]


@pytest.mark.parametrize("name", names("experiments"))
def test_the_key_of_an_object_follows_from_its_resource(name: str) -> None:
    job = check_experiment(name, "dev").or_raise()
    for manifest in job.manifests:
        part = manifest.component.value
        parent = COMPONENT.format(name)
        if part:
            parent = f"urn:pulumi:dev::trainform::trainform:index:TrainingJob$trainform:index:Part::{name}-{part}"
        assert key_of_resource(resource_name(name, manifest), parent) == manifest.key


def waiver(fingerprint: str, **parts: Any) -> Waiver:
    made = {"rule": "TF-IMG-1", "finding": fingerprint, "reason": "a test", "owner": "lead", "until": TODAY}
    return Waiver.model_validate(made | parts)


def waivable(cluster: Environment) -> Environment:
    limits = {"registries": ["nowhere.example.com"], "waivable": {"TF-IMG-1": ["lead"]}}
    return cluster.model_copy(update={"limits": environment(limits=limits).limits})


def waived_job(job: RenderedJob, **parts: Any) -> RenderedJob:
    """The job with a waiver of its only finding."""
    judged = judged_job(job.experiment, job.plan, job.manifests, BACKENDS[job.plan.backend])
    [fingerprint] = {one.fingerprint("hello") for one in judge(judged, waivable(job.environment))}
    made = job.experiment.model_copy(update={"waivers": [waiver(fingerprint, **parts)]})
    return render_job(made, waivable(job.environment), today=TODAY)


def job_verdict(cluster: Environment, today: datetime.date, **parts: Any) -> Verdict:
    """What the pack says of the images of a job whose only finding is waived in the check."""
    job = check_experiment("hello", "dev").or_raise()
    again = waived_job(job, **parts)
    assert bool(again.problems) == bool(parts)
    body = next(manifest.body for manifest in (job if parts else again).manifests if manifest.is_job)
    return verdict(BY_CODE["TF-IMG-1"], Resource("hello-job", body, COMPONENT.format("hello")), cluster, today)


def test_a_waived_finding_passes_until_its_last_day() -> None:
    cluster = waivable(check_experiment("hello", "dev").or_raise().environment)
    assert job_verdict(cluster, TODAY) == Verdict()
    assert job_verdict(cluster, TODAY + datetime.timedelta(days=1)).messages


def test_a_waiver_passes_only_where_the_environment_allows_it() -> None:
    cluster = waivable(check_experiment("hello", "dev").or_raise().environment)
    forbidden = cluster.model_copy(update={"limits": cluster.limits.model_copy(update={"waivable": {}})})
    assert job_verdict(forbidden, TODAY).messages
    assert job_verdict(cluster, TODAY, owner="somebody").messages


def test_waivers_change_no_revision_and_only_objects_with_pods() -> None:
    job = check_experiment("hello", "dev").or_raise()
    again = waived_job(job)
    assert again.plan.revision == job.plan.revision
    marked = [m.key for m in again.manifests if "trainform.dev/waivers" in m.body["metadata"]["annotations"]]
    assert marked == ["job"]


def test_a_path_with_a_token_in_it_is_masked_by_every_rule() -> None:
    token = "sk" + "-" + "a1b2c3d4e5" * 4 + "a1"
    body = raw_objects(ELSEWHERE)["batch.volcano.sh/Job"]
    body["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["name"] = token
    (message,) = found("TF-IMG-1", body).messages
    assert token not in message
