"""Wrong experiments get problems from every operator, and never an exception of ours."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from tests.backends.trainer.samples import MPI, MPI_APART, ON_MPI, TORCH, told_on, with_pods, with_spec
from tests.support import app_wrapper
from tests.support.generated_patches import VALUES, Way, patch_at, patches_at, ways
from tests.support.generators import ENVIRONMENT, experiments
from tests.support.rendering import job_problems
from tests.support.samples import JOB, environment, experiment, plan
from trainform.backends.backend import BACKENDS
from trainform.backends.owned import object_changes
from trainform.errors import InputError
from trainform.job.render import RenderedJob, job_manifests, render_job
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import override_key
from trainform.manifests.pods import pod_template
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.layers import merge_patch
from trainform.spec.load import parse

RICH = Environment.model_validate(ENVIRONMENT)
MANGLED = st.sampled_from(["", "a role less", "a role without replicas", "no role with replicas", "no overrides"])


def mangled(data: dict[str, Any], how: str) -> dict[str, Any]:
    """The experiment with something in it that others may count on."""
    roles = data["roles"]
    last = list(roles)[-1]
    if how == "a role less":
        roles.pop(last)
    if how == "a role without replicas":
        roles[last]["replicas"] = 0
    for role in roles.values():
        if how == "no role with replicas":
            role["replicas"] = 0
        if how == "no overrides":
            role["pod_overrides"] = {"spec": None}
    return data


STRICT = environment(limits={"registries": ["registry.example.com"], "max_accelerators": 8, "host_network": True})
PRIVILEGED = {"spec": {"containers": {"main": {"securityContext": {"privileged": True}}}}}
BREAKING: dict[str, Any] = {
    "image": "docker.io/ai/pytorch:2.8",
    "storage": {"checkpoints": {"size": "2Ti", "mount": "/mnt/output"}},
    "queue": {"weight": 2},
    "roles": {
        "master": {"replicas": 1},
        "worker": {"replicas": 2},
        "watcher": {"ranked": False, "command": ["watch"], "accelerators": {"a800": 9}, "pod_overrides": PRIVILEGED},
    },
}


def broken(overrides: dict[str, Any], in_pods: bool, backend: str) -> set[tuple[str, str]] | None:
    """Path and reason of each problem of an experiment that breaks limits, with a patch on the pods of one role or on
    objects."""
    data = copy.deepcopy(BREAKING) | {"backend": backend}
    if in_pods:
        data["roles"]["worker"]["pod_overrides"] = overrides
    else:
        data["manifest_overrides"] = overrides
    try:
        made = experiment(**data)
    except InputError:
        return None
    return {(problem.path, problem.reason) for problem in job_problems(made, STRICT)}


def test_a_patch_hides_no_limit_that_other_parts_break(backend: str) -> None:
    """A patch on the pods of one role leaves the other's problems, one on another object than the job leaves all."""
    if BACKENDS[backend].ONE_ROLE:
        pytest.skip("every other role is refused, and in no object")
    roles = {name: BREAKING["roles"][name] for name in ("master", "worker")}
    usual = plan(backend=backend, **{**BREAKING, "image": JOB["image"], "roles": roles})
    (role,) = [role for role in usual.roles if role.name == "worker"]
    template = pod_template(usual, role, next(role.groups()), PodConventions(""))
    objects = {override_key(made): made.body for made in job_manifests(usual)}
    others = [(key, *way) for key, body in objects.items() if key not in {"job", "runtime"} for way in ways(body)]
    whole = broken({}, False, backend)
    assert whole is not None
    privileged = "roles.watcher.pod_overrides.spec.containers.main.securityContext.privileged"
    assert {"image", "roles", "roles.watcher.accelerators.a800", privileged} <= {path for path, _ in whole}
    of_the_other = {problem for problem in whole if problem[0] == "image" or problem[0].startswith("roles.watcher.")}
    wrong = {True: 0, False: 0}

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        st.booleans().flatmap(lambda pods: st.tuples(st.just(pods), patches_at([*ways(template)] if pods else others)))
    )
    def check(drawn: tuple[bool, dict[str, Any]]) -> None:
        in_pods, overrides = drawn
        found = broken(overrides, in_pods, backend)
        if found is None:
            return
        wrong[in_pods] += bool(found - whole)
        assert (of_the_other if in_pods else whole) <= found

    check()
    assert min(wrong.values()) > 0


POD: dict[str, Any] = {
    "volumes": [{"name": "data", "emptyDir": {}}],
    "initContainers": [{"name": "fetch", "image": "busybox:1.37"}],
    "containers": {
        "node": {
            "resources": {"limits": {"cpu": "4"}},
            "volumeMounts": [{"name": "data", "mountPath": "/data"}],
            "env": [{"name": "NCCL_DEBUG", "value": "INFO"}],
        }
    },
}
TEMPLATE = {"network": {"subdomain": "shared"}, "coordinator": {"replicatedJob": "node"}}
WHOLE = {
    "podGroupPolicy": {"volcano": {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}},
    "template": {"metadata": {"annotations": {"example.com/team": "vision"}}, "spec": TEMPLATE},
}


@pytest.mark.parametrize(("content", "parts"), [(TORCH, {}), (MPI, ON_MPI), (MPI_APART, ON_MPI)])
def test_any_content_of_a_runtime_file_is_accepted_or_refused(content: dict[str, Any], parts: dict[str, Any]) -> None:
    whole = with_pods(with_spec(content, WHOLE), POD)
    places = [*ways(whole)]

    @settings(max_examples=40, deadline=None)
    @given(st.sampled_from(places), VALUES)
    def check(way: Way, value: Any) -> None:
        told_on(merge_patch(whole, patch_at(way, value)), **parts)

    check()


def test_any_experiment_is_rendered_or_refused() -> None:
    """One experiment for all operators: to draw it takes longer than to plan it."""
    parsed: Counter[str] = Counter()
    accepted: Counter[str] = Counter()

    @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(experiments(), MANGLED)
    def check(data: dict[str, Any], how: str) -> None:
        for backend in BACKENDS:
            note(backend)
            made = parse(Experiment, mangled({**copy.deepcopy(data), "backend": backend}, how))
            if made.model is not None:
                parsed[backend] += 1
                accepted[backend] += as_it_says(render_job(made.model, RICH))

    with app_wrapper.registered():
        check()
        assert set(parsed) == set(accepted) == set(BACKENDS)


def as_it_says(job: RenderedJob) -> bool:
    """Whether the job is accepted; then its objects are what the backend says of them."""
    if job.problems:
        assert all(problem.reason and problem.fix for problem in job.problems)
        return False
    plan, backend = job.plan, BACKENDS[job.plan.backend]
    bodies = {override_key(manifest): manifest.body for manifest in job.manifests}
    assert len(bodies) == len(job.manifests)
    for manifest in job.manifests:
        assert [*object_changes(manifest, bodies[override_key(manifest)], backend.READS)] == []
    templates = backend.templates(plan, job.manifests)
    assert sum(template.replicas for template in templates) == plan.totals.pods
    pods, _ = backend.pods(plan, job.manifests)
    assert sorted(pod["metadata"]["name"] for pod in pods) == sorted(pod.name for pod in plan.pods())
    return True
