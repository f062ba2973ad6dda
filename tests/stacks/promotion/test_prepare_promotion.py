"""What a promotion asks of the files; what it reads live is in `tests/engine/test_promotion.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.deployed.releases.test_promote import source
from tests.support.releases import DIGEST, IMAGE, PROMOTED, project, release
from tests.support.samples import JOB, environment
from trainform.deployed.stacks import ProjectStack, places
from trainform.spec.stack import Stack
from trainform.stacks.promotion.prepare_promotion import PromotionRequest, is_same, tags_of

TAG = "registry.example.com/ai/pytorch-training:2.9"


@pytest.mark.parametrize(
    ("written", "overlays", "paths"),
    [
        (IMAGE, {}, []),
        (JOB["image"], {}, ["image"]),
        (IMAGE, {"prod": {"image": TAG}}, ["environments.prod.image"]),
        (JOB["image"], {"prod": {"image": f"{TAG}@{DIGEST}"}}, []),
        (IMAGE, {"dev": {"image": TAG}}, []),
        (JOB["image"], {"dev": {"image": IMAGE}}, ["image"]),
    ],
)
def test_the_gate_digest_judges_the_images_of_the_target(
    written: str, overlays: dict[str, Any], paths: list[str], tmp_path: Path
) -> None:
    project(tmp_path)
    asked = PromotionRequest("sdxl-lora", *places("sdxl-lora", "dev", "prod", tmp_path))
    assert tags_of(asked, source(image=written, environments=overlays), tmp_path) == paths


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({"gates": {"from": "passed"}}, True),
        ({"gates": {"from": "waived"}, "by": "Grace Hopper"}, True),
        ({"gates": {"from": "passed"}, "target": "sdxl-lora.staging"}, False),
        ({"gates": {}}, False),
    ],
)
def test_what_the_target_names_without_its_evidence_is_promoted_once_more(changes: dict[str, Any], same: bool) -> None:
    prod = environment(name="prod", promotion={"from": ["dev"]})
    target = ProjectStack("sdxl-lora.prod", Stack("sdxl-lora", "prod", 1), "sdxl-lora", prod, "vision")
    before = release(PROMOTED.model_copy(update=changes))
    assert is_same(before, release(), target) is same
    assert not is_same(before, release(queue="night"), target), "another content"
