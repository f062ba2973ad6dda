"""Which stacks changed files touch: pure, without git."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from trainform.review.touched import makes_program, removed, touched

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


def test_the_components_of_this_repository() -> None:
    for path in (ROOT / "components").rglob("*.sh"):
        assert makes_program(path.relative_to(ROOT).as_posix())


def test_a_stack_whose_config_is_gone_is_removed() -> None:
    changed = ["stacks/Pulumi.gone.prod.yaml", "stacks/Pulumi.prod.yaml", "stacks/old/Pulumi.far.yaml", "stacks/a.yaml"]
    assert removed(changed, STACKS) == ["gone.prod"]
    assert removed([*changed, "stacks/Pulumi.away.yaml"], []) == ["away", "gone.prod", "prod"]


names = st.sampled_from([*EVERY_STACK, *NO_STACK, *(file for files in STACKS.values() for file in files)])
paths = st.lists(names | st.text(string.printable, min_size=1, max_size=20), max_size=12)


@given(paths)
def test_every_stack_is_touched_by_all_that_it_reads_and_by_the_program(changed: list[str]) -> None:
    found = touched(changed, STACKS)
    for stack, read in STACKS.items():
        expected = {name for name in changed if name in read or makes_program(name)}
        assert expected <= {*found.get(stack, [])}
