"""What a promotion asks of the files; what it reads live is in `tests/engine/test_promotion.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.releases.test_promote import source
from tests.support.releases import DIGEST, IMAGE, project
from tests.support.samples import JOB
from trainform.promotion.prepare import Asked, tags_of
from trainform.promotion.stacks import places

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
    asked = Asked("sdxl-lora", *places("sdxl-lora", "dev", "prod", tmp_path))
    assert tags_of(asked, source(image=written, environments=overlays), tmp_path) == paths
