"""Whole manifests of every teaching experiment, as `trainform render` prints them. A change of a file here is reviewed like code."""

from __future__ import annotations

import pytest
import yaml

from tests.conftest import ROOT, Golden
from trainform.backends import job_manifests, platform_manifests
from trainform.cli.main import main
from trainform.examine import examine, examine_environment
from trainform.manifests.documents import to_yaml

EXPERIMENTS = sorted(path.stem for path in (ROOT / "stacks" / "experiments").glob("*.yaml"))
ENVIRONMENTS = sorted(path.stem for path in (ROOT / "stacks" / "environments").glob("*.yaml"))
GOLDEN = ROOT / "tests" / "golden"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_experiments(name: str, golden: Golden, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(["render", name, "-e", "dev"])
    assert exit_.value.code in (0, None)
    printed = capsys.readouterr().out
    golden(GOLDEN / name / "volcano.yaml", printed)
    plan = examine(name, "dev").plan()
    assert list(yaml.safe_load_all(printed)) == [manifest.body for manifest in job_manifests(plan)]


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_environments(name: str, golden: Golden) -> None:
    golden(GOLDEN / name / "platform.yaml", to_yaml(platform_manifests(examine_environment(name).checked())))


def test_no_file_is_left_over() -> None:
    expected = {f"{name}/volcano.yaml" for name in EXPERIMENTS} | {f"{name}/platform.yaml" for name in ENVIRONMENTS}
    assert {str(path.relative_to(GOLDEN)) for path in GOLDEN.rglob("*.yaml")} == expected
