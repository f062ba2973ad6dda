"""Large, deep and recorded previews."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.review.previews_with_a_replacement import JOB, RECORDED, job, read_or_refused
from tests.support import previews
from tests.support.previews import VOLCANO_JOB, state, step_event, urn
from trainform.review.jobs import jobs_of
from trainform.review.read import read_preview


def test_values_of_ten_megabytes_and_deep_ones() -> None:
    deep: Any = "leaf"
    for _ in range(200):
        deep = {"a": [deep]}
    inputs = {
        "text": "x" * 10_000_000,
        "json": json.dumps({"a": "y" * 10_000_000}),
        "deep": deep,
        "lines": "a: b\n" * 200_000,
    }
    started = time.process_time()
    (step,) = read_preview(previews.stream(step_event("update", JOB, state(inputs), state(inputs)))).steps
    assert time.process_time() - started < 5
    assert len(repr(step)) < 3_000_000
    assert "leaf" not in repr(step)


@pytest.mark.parametrize("depth", range(100, 1000, 25))
def test_values_that_are_nested_as_deep_as_python_reads(depth: int) -> None:
    value = '{"a":' * depth + '"leaf"' + "}" * depth
    event = json.dumps(step_event("update", JOB, state({"b": "DEEP"}), state({"b": "DEEP"}))).replace('"DEEP"', value)
    remediation = f'{{"policyRemediationEvent":{{"before":{{"x":{value}}},"after":{{"x":{value}}}}}}}'
    read_or_refused(f"{event}\n{remediation}\n")
    read_or_refused(f'{{"steps": [{event}]}}')


def test_two_hundred_resources_are_read_at_once() -> None:
    env = [{"name": f"NCCL_{index}", "value": str(index)} for index in range(10)]
    container = {
        "name": "main",
        "image": "registry.example.com/ai/bert:1.0",
        "command": ["python", "/app/pretrain.py"],
        "env": env,
    }
    events = []
    for index in range(200):
        spec = {"tasks": [{"name": "node", "replicas": index, "template": {"spec": {"containers": [container]}}}]}
        old, new = (job(f"bert-{index}-{side}", **spec) for side in ("old", "new"))
        events.append(
            step_event("update", urn(VOLCANO_JOB, f"bert-{index}"), old, new, detail={"metadata.name": "update"})
        )
    text = previews.stream(*events)
    times = []
    for _ in range(3):
        started = time.process_time()
        assert len(read_preview(text).steps) == 200
        times.append(time.process_time() - started)
    assert min(times) < 0.2


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
