"""Whatever patch `check` accepts, the real admission accepts too: any place of any object, with fields and values that servers know, and others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings

from tests.engine.admission import made_of, not_kept, offered
from tests.engine.definitions import POD_TEMPLATE, Definitions
from tests.engine.live import Live
from tests.support.chance import chance
from tests.support.generated_jobs import PODS, small_jobs, with_patch
from tests.support.generated_patches import any_patch, free_patch
from tests.support.obeying import obeyed, planned
from trainform import defaults
from trainform.backends.patched_objects import FREE_OF_KINDS
from trainform.backends.table import BACKENDS
from trainform.cluster.references import references
from trainform.manifests.manifest import override_key
from trainform.manifests.pods import pod_template
from trainform.objects import job_manifests
from trainform.plan import Plan
from trainform.spec import Environment

pytestmark = pytest.mark.proof("generated patches against every admission, on every add-on")

OF_THE_CLUSTER = ("IPv6", "RequireDualStack")
SHAPES = 8  # experiments of each operator, which patches change


def named(plan: Plan) -> bool:
    """True if the pods need objects of others."""
    manifests = job_manifests(plan)
    own = {(made.body["kind"], made.body["metadata"]["name"]) for made in manifests}
    return bool(references(plan, BACKENDS[plan.backend].templates(plan, manifests), own))


@pytest.fixture(scope="module")
def environment(addons_live: Live) -> Iterator[Environment]:
    """What the generated experiments need, on the cluster with every operator."""
    yield from offered(addons_live)


Shape = tuple[dict[str, Any], Plan, dict[str, dict[str, Any]]]


def shapes(backend: str, environment: Environment) -> list[Shape]:
    """Experiments without patches, with their objects and the template of a role."""
    found: dict[str, Shape] = {}

    @settings(
        max_examples=3 * SHAPES,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(small_jobs())
    def collect(drawn: dict[str, Any]) -> None:
        data = {**drawn, "backend": backend}
        plan = obeyed(data, environment)
        if plan is not None and len(found) < SHAPES:
            role = plan.roles[-1]
            template = pod_template(plan, role, next(role.groups()), BACKENDS[backend].conventions(plan))
            bodies = {override_key(manifest): manifest.body for manifest in job_manifests(plan)}
            found.setdefault(repr(data), (data, plan, {PODS: template, **bodies}))

    collect()
    return [*found.values()]


def free_of(backend: str, plan: Plan, bodies: dict[str, dict[str, Any]]) -> list[tuple[str, str]]:
    """The key of each object with every path in it of which the plan says nothing."""
    of_job = BACKENDS[backend].free(plan)
    found = [
        (key, path)
        for key, body in bodies.items()
        if key != PODS
        for path in of_job.get(key, FREE_OF_KINDS.get(body["kind"], ()))
    ]
    return [*found, *((key, "data") for key, body in bodies.items() if body.get("kind") == "ConfigMap")]


@pytest.mark.parametrize("free", [False, True], ids=["any place", "places of which the plan says nothing"])
def test_patches_that_check_accepts_the_server_accepts(
    addons_live: Live, environment: Environment, examples: int, free: bool
) -> None:
    """The objects, and the Jobs and pods that operators make of them."""
    definitions = Definitions(addons_live)
    known = [shape for backend in defaults.BACKENDS for shape in shapes(backend, environment)]
    seen: Counter[tuple[str, bool]] = Counter()
    denied: dict[str, str] = {}

    draws = chance()
    for _ in range(examples):
        written, plan, bodies = draws.choice(known)
        if free:
            key, path = draws.choice(free_of(plan.backend, plan, bodies))
            schema = definitions.of(bodies[key])
            patch = free_patch(draws, bodies[key], path, schema, definitions.resolve)
        else:
            key = draws.choice([PODS, PODS, *bodies])
            schema = POD_TEMPLATE if key == PODS else definitions.of(bodies[key])
            patch = any_patch(draws, bodies[key], schema, definitions.resolve)
        made, _ = planned(with_patch(written, key, patch, plan.roles[-1].name), environment)
        # what a cluster must have beside the operators is a matter of the preflight and of the preview
        needs = made is not None and (named(made) or any(word in repr(patch) for word in OF_THE_CLUSTER))
        seen[plan.backend, made is not None and not needs] += 1
        if made is not None and not needs:
            try:
                list(not_kept(addons_live, made))
                made_of(addons_live, made)
            except AssertionError as refused:
                denied[f"{plan.backend} {key}: {yaml.safe_dump(patch)}"] = str(refused)[:700]
    print(
        sum(seen.values()),
        "patches",
        {backend: (seen[backend, True], seen[backend, False]) for backend in defaults.BACKENDS},
        len(denied),
        "denied",
    )
    told = [f"{patch}{words}" for patch, words in sorted(denied.items(), key=lambda found: len(found[0]))]
    print(*told, sep="\n\n")
    assert not told, "\n\n".join(told)
    assert sum(seen[backend, True] for backend in defaults.BACKENDS) > examples / 50, seen
