"""Which stacks changed files touch: pure, without git."""

from __future__ import annotations

import pytest

from trainform.review.touched import removed, touched

STACKS = {
    "prod": {"stacks/Pulumi.prod.yaml", "stacks/environments/prod.yaml"},
    "resnet.prod": {
        "stacks/Pulumi.resnet.prod.yaml",
        "stacks/environments/prod.yaml",
        "stacks/experiments/resnet.yaml",
    },
    "resnet.dev": {"stacks/Pulumi.resnet.dev.yaml", "stacks/environments/dev.yaml", "stacks/experiments/resnet.yaml"},
    "bert.dev": {
        "stacks/Pulumi.bert.dev.yaml",
        "../shared/dev.yaml",
        "stacks/experiments/bert.yaml",
        "runtimes/torch.yaml",
    },
}
EVERY_STACK = [
    "Pulumi.yaml", "stacks/__main__.py", "stacks/prices.json", "components/vision/jobs.py",
    "components/vision/start.sh", "components/load_test.py", "requirements.txt",
    "requirements-gpu.txt", "requirements/base.txt", "pyproject.toml", "uv.lock", "poetry.lock", "constraints.txt",
    ".python-version",
    "vision/jobs.py", "vision/latest_weights.py", "vendored/",
]  # fmt: skip
NO_STACK = [
    "README.md", "components/README.md", "stacks/README.md", "docs/conf.py", "docs/page.html", "tests/test_jobs.py",
    "vision/tests/test_jobs.py",
    "vision/tests/data.py", "vision/test_jobs.py", "vision/jobs_test.py", "conftest.py", "CHANGELOG.rst",
    "policy/__main__.py", "policy/PulumiPolicy.yaml",
    ".github/workflows/trainform.yaml", ".github/check.py", ".gitignore", "stacks/schemas/experiment.schema.json",
    "stacks/experiments/unused.yaml",
    "stacks/environments/unused.yaml", "../other/app.py", "../requirements.txt", "images/Dockerfile", "vision/uv.lock",
]  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "stacks"),
    [
        ("stacks/Pulumi.resnet.dev.yaml", ["resnet.dev"]),
        ("stacks/experiments/resnet.yaml", ["resnet.prod", "resnet.dev"]),
        ("stacks/environments/prod.yaml", ["prod", "resnet.prod"]),
        ("runtimes/torch.yaml", ["bert.dev"]),
        ("../shared/dev.yaml", ["bert.dev"]),
        ("../shared/", ["bert.dev"]),
        ("../shared", ["bert.dev"]),
        ("stacks/environments", [*STACKS]),  # a link below `stacks/`: it may be anything
        ("../sha", []),
        ("stacks/Pulumi.gone.yaml", []),
        *((name, [*STACKS]) for name in EVERY_STACK),
        *((name, []) for name in NO_STACK),
    ],
)
def test_a_file_touches_these_stacks(changed: str, stacks: list[str]) -> None:
    assert touched([changed], STACKS) == {stack: [changed] for stack in stacks}


def test_a_stack_whose_config_is_gone_is_removed() -> None:
    changed = ["stacks/Pulumi.gone.prod.yaml", "stacks/Pulumi.prod.yaml", "stacks/old/Pulumi.far.yaml", "stacks/a.yaml"]
    assert removed(changed, STACKS) == ["gone.prod"]
    assert removed([*changed, "stacks/Pulumi.away.yaml"], []) == ["away", "gone.prod", "prod"]
