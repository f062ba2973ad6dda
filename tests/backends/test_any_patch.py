"""A merge patch of any place in what is rendered keeps what the plan owns, or is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from msgspec import structs

from tests.support import app_wrapper
from tests.support.generated_patches import Way, patch_at, ways
from tests.support.planned_jobs import CLUSTER, EVERYWHERE
from tests.support.rendering import job_problems
from tests.support.samples import experiment
from trainform.backends.backend import BACKENDS
from trainform.backends.owned import POD_FIELDS
from trainform.errors import InputError
from trainform.job.render import draft_plan, patched_manifests, rendered_manifests
from trainform.manifests.manifest import override_key

VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, "mine", 7, True, False, [], ["mine"], {}, "Always", "OnFailure"]
)


@pytest.mark.parametrize(("parts", "backend"), EVERYWHERE)
def test_an_accepted_patch_keeps_pods_numbers_and_names(parts: dict[str, Any], backend: str) -> None:
    """What the operator's templates say of the gang is what the plan says, and no exception is raised on the way."""
    with app_wrapper.registered():
        made = BACKENDS[backend]
        bare = draft_plan(experiment(backend=backend, **parts), CLUSTER)
        bodies = {override_key(each): each.body for each in rendered_manifests(bare)}
        places = [(key, *way) for key, body in bodies.items() for way in ways(body)]
        counts = {True: 0, False: 0}

        @settings(max_examples=80, deadline=None)
        @given(st.sampled_from(places), VALUES)
        def check(place: Way, value: Any) -> None:
            try:
                patched = experiment(backend=backend, **parts, manifest_overrides=patch_at(place, value))
            except InputError:
                return
            problems = job_problems(patched, CLUSTER)
            counts[bool(problems)] += 1
            note(f"{place}: {value}: {[problem.path for problem in problems]}")
            if problems:
                return
            plan = structs.replace(bare, manifest_overrides=patched.manifest_overrides)
            before = made.templates(bare, rendered_manifests(bare))
            after = made.templates(plan, patched_manifests(plan, rendered_manifests(plan)))
            for one, other in zip(before, after, strict=True):
                assert (one.replicas, one.min_available, one.role) == (other.replicas, other.min_available, other.role)
                for field in POD_FIELDS:
                    assert one.spec.get(field) == other.spec.get(field)

        check()
        assert min(counts.values()) > 0
