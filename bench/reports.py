"""A preview of 200 resources, made elsewhere, turned into a report: as a whole process, and after the imports."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from bench.aims import judge_seconds
from bench.commands import REPOSITORY, Command, run, trainform
from bench.rounds import in_turn
from bench.samples import Sample
from bench.sections import Section
from bench.workplace import Workplace

RESOURCES = 200
SECONDS = 0.35
# A job whose revision changes, as the engine reported it (`tests/engine/test_previews.py`).
RECORDED = REPOSITORY / "tests" / "review" / "recorded" / "replace.jsonl"
JOB = re.compile(r"allreduce(?!\.dev)")  # not the name of the stack


def measure(workplace: Workplace) -> list[Section]:
    """Measure both."""
    file = workplace.new("reports") / "preview.jsonl"
    resources = write_preview(file, RESOURCES)
    what = f"a preview of {resources} resources to a report"
    whole = trainform("`trainform review --preview-json`", REPOSITORY, "review", "--no-cluster", "--preview-json",
        str(file))  # fmt: skip
    probe = Command("in process", (sys.executable, "-m", "bench.probe_review", str(file)), REPOSITORY)
    measurements = {whole.name: lambda: run(whole)[0], probe.name: lambda: _in_process(probe)}
    series = in_turn(what, measurements, workplace.runs, workplace.progress)
    judged = tuple(judge_seconds(f"{what}: {one.name}", one.median, SECONDS) for one in series)
    return [Section("Report", judged=judged)]


def write_preview(file: Path, resources: int) -> int:
    """Write a preview of jobs like the recorded one, as many as make so many resources; return how many resources it
    has."""
    first, stack, *of_job, last, end = RECORDED.read_text().splitlines()
    each = len({_urn(event) for event in of_job} - {""})
    jobs = -(-(resources - 1) // each)
    copies = [JOB.sub(f"allreduce-{number:02}", event) for number in range(jobs) for event in of_job]
    lines = [first, stack, *copies, last, end]
    numbered = [json.dumps({**json.loads(line), "sequence": number}) for number, line in enumerate(lines)]
    file.write_text("\n".join([*numbered, ""]))
    return 1 + jobs * each


def _urn(event: str) -> str:
    """The URN of an event's step; "" if it has none."""
    urn: str = json.loads(event).get("resourcePreEvent", {}).get("metadata", {}).get("urn", "")
    return urn


def _in_process(probe: Command) -> Sample:
    sample, seconds = run(probe)
    return Sample(float(seconds), sample.megabytes)
