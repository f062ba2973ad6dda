"""By which environment the policy pack judges a stack."""

from __future__ import annotations

import pytest

from trainform.errors import CommandLineError
from trainform.policy_pack.program import CONFIG, environment_name


@pytest.mark.parametrize("name", ["/etc/lax.yaml", "../lax", "lax.yaml", "stacks/environments/dev.yaml", "dev/../lax"])
def test_no_file_from_elsewhere_is_the_environment(name: str) -> None:
    with pytest.raises(CommandLineError, match="not by any file"):
        environment_name({CONFIG: name})


def test_the_name_of_an_environment_is_taken() -> None:
    assert environment_name({CONFIG: "dev"}) == "dev"
