"""`trainform render` compared with `torchx run --dryrun`: a job as YAML, without a cluster."""

from __future__ import annotations

from bench.aims import judge_at_least
from bench.commands import REPOSITORY, trainform
from bench.peers import ensure_torchx, torchx_dry_run, torchx_version
from bench.rounds import commands_in_turn
from bench.samples import compare
from bench.sections import Section
from bench.shapes import ENVIRONMENT, EXPERIMENT
from bench.workplace import Workplace

TIMES_FASTER = 2.0


def measure(workplace: Workplace) -> list[Section]:
    """Measure both for the same job of four nodes."""
    torchx = ensure_torchx(workplace.progress)
    render = trainform("`trainform render`", REPOSITORY, "render", EXPERIMENT, "-e", ENVIRONMENT)
    commands = [render, torchx_dry_run(torchx, workplace.new("torchx"))]
    ours, theirs = commands_in_turn("render and torchx", commands, workplace.runs, workplace.progress)
    ratio = compare(theirs, ours)
    note = f"torchx {torchx_version()} without an image build, and without the job's claims, RDMA and host network."
    return [Section("Render", judged=(judge_at_least(ratio, TIMES_FASTER),), notes=(note,))]
