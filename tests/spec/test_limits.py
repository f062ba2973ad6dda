"""The limits of an environment as a platform engineer writes them."""

from pathlib import Path

import pytest

from trainform.job.check import check_environment

FILE = "name: dev\nnamespace: {{name: ai}}\nlimits: {{severity: {{TF-COST-1: {severity}}}}}\n"


@pytest.mark.parametrize("severity", ["off", "Off", '"off"'])
def test_a_severity_is_written_as_the_documents_have_it(tmp_path: Path, severity: str) -> None:
    """YAML reads `off` without quotes as false."""
    file = tmp_path / "dev.yaml"
    file.write_text(FILE.format(severity=severity))
    environment = check_environment(str(file), tmp_path).or_raise()
    assert environment.limits.severity == {"TF-COST-1": "off"}
