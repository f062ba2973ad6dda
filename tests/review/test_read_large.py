"""Large, deep and recorded previews."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.review.previews_with_a_replacement import RECORDED
from trainform.review.jobs import jobs_of
from trainform.review.read import read_preview


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_recorded_previews(path: Path) -> None:
    """`tests/engine/test_previews.py` has recorded them."""
    preview = read_preview(path.read_text())
    operations = {step.name: step.operation for step in preview.steps if step.operation != "same" and step.is_object}
    assert operations.pop("allreduce-job") == "replace"
    assert operations.pop("allreduce-ssh") == "update"
    assert operations.pop("allreduce-deployed") == "update"
    assert sorted(operations.values()) == ["create", "delete"]
    assert (preview.failed, preview.masked) == ("", 1)
    (job,) = jobs_of(preview)
    assert job.before is not None
    assert job.after is not None
    assert job.before.experiment["ssh"] != job.after.experiment["ssh"]
