"""A merge patch of any place in what is rendered: the pods and objects stay the planned ones, or the patch is refused."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.support import app_wrapper
from tests.support.generated_patches import Way, patch_at, ways
from tests.support.planned_objects import CLUSTER, EVERYWHERE, Planned, changed
from tests.support.rendering import job_problems
from tests.support.samples import experiment
from trainform.manifests.manifest import override_key

VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, "mine", 7, True, False, [], ["mine"], {}, "Always", "OnFailure"]
)


@pytest.mark.parametrize(("parts", "backend"), EVERYWHERE)
def test_a_patch_of_what_is_rendered_is_refused_or_changes_nothing_of_the_plan(
    parts: dict[str, Any], backend: str
) -> None:
    with app_wrapper.registered():
        assert job_problems(experiment(backend=backend, **parts), CLUSTER) == []
        planned = Planned.of(backend, **parts)
        before = planned.objects()
        bodies = {override_key(each): each.body for each in planned.manifests}
        places = [(key, *way) for key, body in bodies.items() for way in ways(body)]
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
                after = Planned.of(backend, **parts, manifest_overrides=patch_at(place, value)).objects()
                assert changed(before, after) == set()

        check()
        assert counts[True] > 0
