"""Where a finding in an environment's own objects is shown: at the part of the file that makes the object."""

from __future__ import annotations

import pytest

from tests.support.samples import environment
from trainform.job.render_platform import platform_manifests, render_platform
from trainform.rules.limits.origins import OBJECTS, platform_problem
from trainform.rules.limits.rule import Finding, Judgement
from trainform.rules.limits.table import RULES
from trainform.spec.environment import Environment

TOKEN = "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH"  # noqa: S105 - of nobody
PLATFORM = environment(
    namespace={"name": "ai-namespace", "create": True},
    queues={"vision": {"weight": 2}, "vision-night": {"parent": "vision"}, "research": {"create": False}},
    claims={"models": {"size": "1Ti", "class": "fast"}},
    priority_classes={"urgent": {"value": 1000, "description": "for demos"}},
)
SECRETS = next(rule for rule in RULES if rule.code == "TF-SEC-1")


def shown(key: str | None, where: str = "metadata.labels.team", platform: Environment = PLATFORM) -> str:
    """The path of the problem for a finding in the object of this key."""
    finding = Finding(where, "[secret]", "the value looks like a secret", "remove it", key=key)
    problem = platform_problem(Judgement(SECRETS, "error", finding), platform)
    assert (problem.value, problem.reason, problem.fix) == (finding.value, finding.reason, finding.fix)
    assert (problem.code, problem.fingerprint) == ("TF-SEC-1", ""), "no experiment can waive it"
    return problem.path


@pytest.mark.parametrize(
    ("key", "path"),
    [
        ("queue-vision", "queues.vision"),
        ("queue-vision-night", "queues.vision-night"),
        ("claim-models", "claims.models"),
        ("priority-class-urgent", "priority_classes.urgent"),
        ("namespace", "namespace"),
        (None, "metadata.labels.team"),
    ],
)
def test_a_finding_is_shown_at_the_part_that_makes_the_object(key: str | None, path: str) -> None:
    assert shown(key) == path


def test_every_object_of_an_environment_has_its_part() -> None:
    """A new part of an environment that makes objects needs a row in `OBJECTS`."""
    for manifest in platform_manifests(PLATFORM):
        field, _, name = shown(manifest.key).partition(".")
        assert field in Environment.model_fields, manifest.key
        assert field == "namespace" or name in getattr(PLATFORM, field)
    assert set(OBJECTS) <= Environment.model_fields.keys()


def test_a_secret_in_an_environment_is_found_and_never_shown() -> None:
    found = render_platform(environment(priority_classes={"urgent": {"value": 1000, "description": TOKEN}})).problems
    assert [(problem.path, problem.code) for problem in found] == [("priority_classes.urgent", "TF-SEC-1")]
    assert TOKEN not in str(found[0])
