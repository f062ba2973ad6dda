"""A job that a preview replaces, recorded previews, and how a text is read whatever is in it."""

from __future__ import annotations

from typing import Any

from tests.support.previews import CLAIM, TRAINING_JOB, VOLCANO_JOB, state, step_event, urn
from tests.support.repository import ROOT

JOB = urn(VOLCANO_JOB, "bert-job", TRAINING_JOB)
CLAIM_URN = urn(CLAIM, "bert-checkpoints", TRAINING_JOB)


def job(name: str, **spec: Any) -> dict[str, Any]:
    """A state of the job object."""
    return state({"metadata": {"name": name}, "spec": spec}, id=f"ai-namespace/{name}")


def replacement(*order: str) -> list[dict[str, Any]]:
    """The events of a replaced job, in this order."""
    old, new = job("bert-1f3a9c", minAvailable=2), job("bert-77ab01", minAvailable=3)
    sides = {"create-replacement": (old, new), "replace": (old, new), "delete-replaced": (old, None)}
    more: dict[str, Any] = {"keys": ["metadata.name"], "diffs": ["metadata", "spec"]}
    return [step_event(op, JOB, *sides[op], detail={"metadata.name": "update-replace"}, **more) for op in order]


RECORDED = sorted((ROOT / "tests" / "review" / "recorded").glob("replace.*"))
