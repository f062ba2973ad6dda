"""Releases for tests, and projects that have some."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.support.samples import CLUSTER, JOB
from trainform.deployed.releases.release import GateWaiver, Origin, PromotionRecord, Release, Rollback
from trainform.deployed.releases.release_files import write_releases
from trainform.deployed.releases.stack_file import follow_all, insert_release
from trainform.plan.inputs import parse_dates, resolve_with_overlays, resolved
from trainform.spec.experiment import Experiment

DIGEST = "sha256:" + "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"
IMAGE = f"registry.example.com/ai/pytorch-training:2.8@{DIGEST}"
ORIGIN = Origin(
    stack="trainform/sdxl-lora.dev",
    environment="dev",
    revision="1f3a9c",
    run=1,
    version="0.1.0",
    commit="1999ff7a0d3cbb9d2f6a0a8c4bd0ee1f4b7f5a11",
    dirty=False,
    updated="2026-11-20T09:12:44Z",
    parent=None,
    outcome="Succeeded",
    seconds=5123,
)
PROMOTED = PromotionRecord(
    by="Ada Byron <ada@example.com>",
    at="2026-11-23T14:35:24Z",
    source="sdxl-lora.dev",
    target="sdxl-lora.prod",
    replaces=None,
    gates={"succeeded": "held"},
    waived=[],
)

FORGED = "q8Zx71Lm02pQ"
"""A secret that somebody has written into a release."""
WRITTEN = f"password={FORGED}\nstacks \x1b[31m\u202e"


def release(promoted: PromotionRecord = PROMOTED, **parts: Any) -> Release:
    """Return a release of the sample experiment with these fields."""
    model = Experiment.model_validate({**JOB, "image": IMAGE, **parts})
    experiment = parse_dates(resolve_with_overlays(model) if model.environments else resolved(model))
    return Release(experiment=experiment, origin=ORIGIN, promoted=promoted)


def write_release(made: Release, root: Path) -> str:
    """Write the release, and return its name."""
    write_releases([made], root)
    return made.name


def follow(made: Release, stack: str, root: Path) -> str:
    """Write the release, and let the stack follow it."""
    follow_all({stack: made}, root)
    return made.name


def set_release(stack: str, name: str, root: Path) -> None:
    """Let the stack name the release, whatever it follows."""
    path = root / "stacks" / f"Pulumi.{stack}.yaml"
    path.write_text(insert_release(path.read_text(), name, path.name, root))


def forged(*, is_rollback: bool = False, **promoted: Any) -> Release:
    """Return a release in whose evidence every text is forged, but for these."""
    texts = dict.fromkeys(("by", "at", "source", "target", "replaces"), WRITTEN)
    waived = [GateWaiver(gate=WRITTEN, reason=WRITTEN, by=WRITTEN)]
    made = release(PROMOTED.model_copy(update={**texts, "gates": {WRITTEN: WRITTEN}, "waived": waived, **promoted}))
    words = ("stack", "environment", "revision", "version", "commit", "updated", "parent", "outcome")
    origin = ORIGIN.model_copy(update=dict.fromkeys(words, WRITTEN))
    back = Rollback(of=WRITTEN, to=None, reason=WRITTEN) if is_rollback else None
    return made.model_copy(update={"origin": origin, "rollback": back})


def project(root: Path, made: Release | None = None, stack: str = "sdxl-lora.prod", environment: str = "prod") -> str:
    """Return a project whose stack follows the release, and its experiment's file; the release's name."""
    stacks = root / "stacks"
    for folder in ("experiments", "environments"):
        (stacks / folder).mkdir(parents=True, exist_ok=True)
    (root / "Pulumi.yaml").write_text("name: vision\nruntime: python\nmain: stacks\nstackConfigDir: stacks\n")
    (stacks / "experiments" / "sdxl-lora.yaml").write_text(yaml.safe_dump(JOB, sort_keys=False))
    for name in ("dev", environment):
        (stacks / "environments" / f"{name}.yaml").write_text(
            yaml.safe_dump({**CLUSTER, "name": name}, sort_keys=False)
        )
    name = "" if made is None else write_release(made, root)
    followed = f'  trainform:release: "{name}"\n' if name else ""
    for each, where, line in ((stack, environment, followed), ("sdxl-lora.dev", "dev", "")):
        text = f"config:\n  trainform:experiment: sdxl-lora\n{line}  trainform:environment: {where}\n"
        (stacks / f"Pulumi.{each}.yaml").write_text(text)
    return name
