"""What the environment's rules find, in a preview and an `up` of the real engine, by their severity."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from tests.engine.project import Project
from trainform.rules.limits.rule import FINGERPRINT_DIGITS

pytestmark = pytest.mark.proof("warnings and waivers of the environment's rules in previews")

JOB: dict[str, Any] = {
    "image": "registry.example.com/ai/pytorch-training:latest",
    "launcher": {"command": ["python", "/app/train.py"]},
    "roles": {"worker": {"replicas": 1}},
}
REASON = "the image is not pinned by digest, which the environment requires"


def test_a_finding_in_a_preview_by_its_severity(project: Project) -> None:
    project.experiment("mine", JOB)
    stack = project.stack("mine")
    waivable = {"TF-IMG-2": ["team-lead"]}

    project.environment(limits={"severity": {"TF-IMG-2": "warning"}})
    warned = project.pulumi("preview", "-s", stack).succeeded()
    assert f"warning: image = {JOB['image']}: {REASON} (a warning of the rule TF-IMG-2)" in warned

    project.environment(limits={"severity": {"TF-IMG-2": "off"}})
    assert REASON not in project.pulumi("preview", "-s", stack).succeeded()

    project.environment(limits={"severity": {"TF-IMG-2": "error"}, "waivable": waivable})
    refused = project.pulumi("preview", "-s", stack).failed()
    assert REASON in refused
    finding = refused.partition("rule: TF-IMG-2, finding ")[2][:FINGERPRINT_DIGITS]

    last = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=30)
    waiver = f'{{rule: TF-IMG-2, finding: "{finding}", reason: a rebuild, owner: team-lead, until: {last}}}'
    path = project.folder / "stacks" / "experiments" / "mine.yaml"
    path.write_text(f"{path.read_text()}waivers: [{waiver}]\n")
    waived = project.pulumi("preview", "-s", stack).succeeded()
    assert f"team-lead waives this until {last}: a rebuild" in waived
