"""A stack that an earlier trainform brought up, in a preview of today's: its claims, queue and job stay.

The state is recorded by `record.py`. A resource with another name, type or parent is another one to Pulumi: it needs an
alias.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.live import Live
from tests.engine.project import Project
from tests.engine.upgrades.recorded import STATE, recorded_project

pytestmark = pytest.mark.proof("upgrades of trainform")

# None of these may be made anew: data, accelerators and running processes hang on them.
PRECIOUS = {
    "kubernetes:core/v1:PersistentVolumeClaim": 2,
    "kubernetes:scheduling.volcano.sh/v1beta1:Queue": 1,
    "kubernetes:batch.volcano.sh/v1alpha1:Job": 1,
}


@pytest.fixture
def upgraded(tmp_path: Path, sandbox_exports: dict[str, str], live: Live) -> Iterator[tuple[Project, str]]:
    """Yield the project with the recorded state."""
    with recorded_project(tmp_path / "project", sandbox_exports, live) as (project, stack):
        project.pulumi("stack", "import", "--file", str(STATE), "-s", stack).succeeded()
        yield project, stack


def previewed(project: Project, stack: str) -> list[dict[str, Any]]:
    """Return the steps of a preview. The objects are not in this cluster: the provider compares with the state and asks
    no server."""
    words = ("preview", "--json", "--show-sames", "-s", stack)
    ran = project.pulumi(*words, PULUMI_DISABLE_PROVIDER_PREVIEW="true").succeeded()
    steps: list[dict[str, Any]] = json.loads(ran[ran.index("{") :])["steps"]
    return steps


def kept_at_destroy(steps: list[dict[str, Any]], state: str) -> list[str]:
    """Return the resources that `pulumi destroy` leaves in the cluster, by this state of the steps."""
    return [_resource(step["urn"])[1] for step in steps if step.get(state, {}).get("retainOnDelete", False)]


def _resource(urn: str) -> tuple[str, str]:
    kind, name = urn.split("::")[2:4]
    return kind.rpartition("$")[2], name


def test_no_claim_queue_or_job_is_made_anew_and_nothing_is_renamed(upgraded: tuple[Project, str]) -> None:
    previews = previewed(*upgraded)
    steps = [(step["op"], *_resource(step["urn"])) for step in previews]
    gone_or_replaced = [step for step in steps if step[0] not in ("same", "update", "create")]
    assert gone_or_replaced == [], "add an alias; record anew only where another revision is meant"
    kept = [kind for op, kind, _ in steps if op != "create"]
    assert {kind: kept.count(kind) for kind in PRECIOUS} == PRECIOUS
    assert [step for step in steps if step[0] == "create" and step[1] in PRECIOUS] == []
    assert kept_at_destroy(previews, "newState") == kept_at_destroy(previews, "oldState") == ["bert-claim-checkpoints"]
