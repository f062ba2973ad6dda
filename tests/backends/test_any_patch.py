"""A merge patch of any place in what is rendered: the pods and objects stay the planned ones, or the patch is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from msgspec import structs
from pydantic import ValidationError

from tests.support import app_wrapper
from tests.support.generated_patches import Way, patch_at, ways
from tests.support.planned_objects import CLUSTER, EVERYWHERE, Planned, changed
from tests.support.rendering import job_problems
from tests.support.samples import experiment
from trainform.backends.pod_differences import CONTAINER_FIELDS, POD_FIELDS, Stated
from trainform.backends.served import user_conventions
from trainform.backends.table import BACKENDS
from trainform.manifests.manifest import override_key
from trainform.manifests.pods import pod_template
from trainform.plan.model import RolePlan

SOURCE = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.uid"}}}
VARIABLE: st.SearchStrategy[Any] = st.sampled_from([None, {"value": "mine"}, SOURCE])
VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, "mine", 7, True, False, [], ["mine"], {}, "Always", "OnFailure"]
)


@pytest.mark.parametrize(("parts", "backend"), EVERYWHERE)
def test_a_patch_of_what_is_rendered_is_refused_or_has_its_effect_and_changes_nothing_of_the_plan(
    parts: dict[str, Any], backend: str
) -> None:
    with app_wrapper.registered():
        assert job_problems(experiment(backend=backend, **parts), CLUSTER) == []
        planned = Planned.of(backend, **parts)
        before = planned.objects()
        bodies = {override_key(each): each.body for each in planned.manifests}
        places = [(key, *way) for key, body in bodies.items() for way in ways(body)]
        names = sorted(BACKENDS[backend].conventions(planned.plan).appended)
        places += [(*place, name) for place in places if place[-1] == "env" for name in names]
        counts = {True: 0, False: 0}

        @settings(max_examples=60, deadline=None)
        @given(st.sampled_from(places), VALUES)
        def check(place: Way, value: Any) -> None:
            try:
                patched = experiment(backend=backend, **parts, manifest_overrides=patch_at(place, value))
            except ValidationError:
                return
            problems = job_problems(patched, CLUSTER)
            counts[bool(problems)] += 1
            note(f"{place}: {value}: {[problem.path for problem in problems]}")
            if not problems:
                again = Planned.of(backend, **parts, manifest_overrides=patch_at(place, value))
                after = again.objects()
                assert changed(before, after) == set()
                is_same = {override_key(each): each.body for each in again.manifests} == bodies
                assert after != before or is_same

        check()
        assert counts[True] > 0


def pod_places(planned: Planned, role: RolePlan) -> list[Way]:
    """What a patch of the role may set in its pods: everything that is there, every field that the plan decides, and every variable that the launch contract
    or the operator gives a meaning to."""
    plan = planned.plan
    conventions = BACKENDS[plan.backend].conventions(plan)
    stated = Stated.of(plan, conventions, CLUSTER).variables[role.name] | conventions.appended
    template = as_patched(planned, role)
    main = ("spec", "containers", "main")
    fields = [("spec", field) for field in POD_FIELDS] + [(*main, field) for field in CONTAINER_FIELDS]
    return [*dict.fromkeys([*ways(template), *fields, *((*main, "env", name) for name in sorted(stated))])]


def as_patched(planned: Planned, role: RolePlan, patch: dict[str, Any] | None = None) -> dict[str, Any]:
    """The role's pods as a patch of them finds them."""
    plan = planned.plan
    patched_role = structs.replace(role, overrides={} if patch is None else patch)
    conventions = user_conventions(BACKENDS[plan.backend], plan)
    return pod_template(plan, patched_role, next(role.groups()), conventions)


@pytest.mark.parametrize(("parts", "backend"), EVERYWHERE)
def test_a_patch_of_pods_is_refused_or_has_its_effect_and_changes_nothing_of_the_plan(
    parts: dict[str, Any], backend: str
) -> None:
    with app_wrapper.registered():
        planned = Planned.of(backend, **parts)
        before = planned.objects()
        places = [(role.name, *way) for role in planned.plan.roles for way in pod_places(planned, role)]
        variables = [place for place in places if place[-2] == "env"]
        counts = {True: 0, False: 0}

        @settings(max_examples=80, deadline=None)
        @given(
            st.tuples(st.sampled_from(places), VALUES)
            | st.tuples(st.sampled_from(variables if variables else places), VARIABLE)
        )
        def check(change: tuple[Way, Any]) -> None:
            (name, *way), value = change
            patch = patch_at(tuple(way), value)
            roles = {**parts["roles"], name: {**parts["roles"][name], "pod_overrides": patch}}
            try:
                problems = job_problems(experiment(backend=backend, **{**parts, "roles": roles}), CLUSTER)
            except ValidationError:
                return
            counts[bool(problems)] += 1
            note(f"{name} {way}: {value}: {[problem.path for problem in problems]}")
            if not problems:
                after = Planned.of(backend, **{**parts, "roles": roles}).objects()
                assert changed(before, after) == set()
                role = planned.plan.by_name[name]
                assert after != before or as_patched(planned, role, patch) == as_patched(planned, role)

        check()
        assert counts[True] > 0
