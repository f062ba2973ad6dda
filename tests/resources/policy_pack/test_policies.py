"""By which environment the policy pack judges a stack, and what it says of resources that are no objects."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pulumi_policy import Policy
from pulumi_policy.proxy import unknown_checking_proxy

from tests.support.repository import ROOT
from trainform.errors import CommandLineError
from trainform.resources.policy_pack.policies import CONFIG, VARIABLE, NotCheckedError, environment_name, policies


@pytest.mark.parametrize("name", ["/etc/lax.yaml", "../lax", "lax.yaml", "stacks/environments/dev.yaml", "dev/../lax"])
def test_no_file_from_elsewhere_is_the_environment(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandLineError, match="not by any file"):
        environment_name({CONFIG: name})
    monkeypatch.setenv(VARIABLE, name)
    with pytest.raises(CommandLineError, match="not by any file"):
        environment_name({})


def test_the_variable_stands_in_for_the_config(monkeypatch: pytest.MonkeyPatch) -> None:
    assert environment_name({CONFIG: "dev"}) == "dev"
    monkeypatch.setenv(VARIABLE, "dev")
    assert environment_name({}) == "dev"
    assert environment_name({CONFIG: "dev"}) == "dev"


def test_no_stack_chooses_another_environment_than_the_one_that_is_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "prod")
    with pytest.raises(CommandLineError, match=f"{VARIABLE} holds all stacks to the environment prod"):
        environment_name({CONFIG: "lax"})


def said(policy: Policy, type_: str, properties: dict[str, Any]) -> list[str]:
    """What the policy says of a resource, as the SDK calls it; what it cannot judge too."""
    found: list[str] = []
    opts = SimpleNamespace(parent=None)
    args = SimpleNamespace(resource_type=type_, props=unknown_checking_proxy(properties), name="it", opts=opts)
    try:
        policy.validate(args, lambda message, urn: found.append(message))  # type: ignore[attr-defined]
    except NotCheckedError as error:
        found.append(error.message)
    return found


def test_a_provider_of_another_cluster_is_told_once() -> None:
    settings = {"context": "prod-cluster"}
    served = policies(ROOT, {CONFIG: "dev"})
    (message,) = (text for policy in served for text in said(policy, "pulumi:providers:kubernetes", settings))
    assert "prod-cluster" in message
