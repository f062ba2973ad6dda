"""What the policy packs of a preview say, as findings."""

from __future__ import annotations

import pytest

from tests.support import previews
from tests.support.previews import VOLCANO_JOB, urn
from trainform.review.policies import policy_findings
from trainform.review.read import read_preview


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("mandatory", ["high"]),
        ("advisory", ["medium"]),
        ("remediate", ["low"]),
        ("disabled", []),
        ("critical", ["medium"]),
        ("", ["medium"]),
    ],
)
def test_the_level_of_a_policy_is_that_of_its_finding(level: str, expected: list[str]) -> None:
    """One of a newer engine, or none, is not lost."""
    told = previews.policy("no-public-images", "the image is public", urn(VOLCANO_JOB, "bert-job"), level=level)
    findings = [*policy_findings(read_preview(previews.stream(told)))]
    assert [finding.level for finding in findings] == expected
    assert all("()" not in finding.why for finding in findings)
