"""What the models refuse when they are built from Python, where no YAML has looked at the values before."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.samples import environment, experiment
from trainform import defaults
from trainform.errors import InputError
from trainform.spec.experiment import Experiment
from trainform.spec.load import parse


@pytest.mark.parametrize(
    "parts",
    [
        {"env": {"NCCL_DEBUG": "IN\0FO"}},
        {"env": {"NCCL_DEBUG": "\ud800"}},
        {"launcher": {"command": ["python", "\0"]}},
        {"launcher": {"command": ["", "train.py"]}},
        {"launcher": {"command": []}},
        {"launcher": {"torchrun": {"script": ""}}},
        {"roles": {}},
        {"roles": {"worker": {"ranked": False, "command": ["python"]}}},
        {"roles": {"worker": {"replicas": True}}},
        {"roles": {"worker": {"replicas": 100_001}}},
        {"roles": {"worker": {"accelerators": {"a800": 8, "l40s": 4}}}},
        {"roles": {"worker": {"pod_overrides": {"started": datetime.date(2026, 1, 31)}}}},
        {"roles": {"worker": {"pod_overrides": {"spec": {"weight": float("inf")}}}}},
        {"roles": {"worker": {"pod_overrides": {"spec": [b"bytes"]}}}},
        {"roles": {"worker": {"pod_overrides": {"spec": {5: "five"}}}}},
        {"roles": {"worker": {"pod_overrides": {"spec": 2**63}}}},
        {"roles": {"worker": {"pod_overrides": {"spec": "\ud800"}}}},
        {"manifest_overrides": {"job": None}},
        {"annotations": {"team": "\0"}},
        {"queue": "q" * 64},
        {"queue": {"name": "q" * 64}},
        {"shared_memory": float("nan")},
        {"storage": {"runs": {"size": "1Gi", "mount": "/runs", "access_modes": []}}},
        {"network": {"port": 0}},
        {"network": {"topology": {"highest_tier": 1, "highest_tier_name": "rack"}}},
        {"network": {"topology": {"highest_tier_name": "Rack 1"}}},
    ],
)
def test_refused(parts: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        experiment(**parts)


TOKEN = "hf_wJalrXUtnFEMIK7MDENGbPxRfiCYzEXAMPLEKEY"  # noqa: S105 - it must look like one


@pytest.mark.parametrize(
    "parts",
    [
        {"env": {"HF_TOKEN": [TOKEN]}},
        {"launcher": {"command": f"python --token={TOKEN}"}},
        {"launcher": {"torchrun": {"script": "train.py", "args": ["--token", TOKEN.encode()]}}},
        {"roles": {"worker": {"environment": TOKEN}}},
        {"roles": {"worker": {"pod_overrides": {"spec": {5: TOKEN}}}}},
    ],
)
def test_a_refusal_shows_no_input(parts: dict[str, Any]) -> None:
    with pytest.raises(InputError) as caught:
        experiment(**parts)
    assert TOKEN[3:] not in str(caught.value) + repr(caught.value)
    assert caught.value.__suppress_context__, "the error of pydantic, which has the input, is not printed"


def test_models_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(experiment(), "name", "other")  # noqa: B010 - the type checker sees it too


@pytest.mark.parametrize(
    "parts",
    [
        {"ports": "0-100"},
        {"ports": "1-65536"},
        {"ports": "200-100"},
        {"accelerators": {"cpu": {"resource": "cpu", "per_node": 8, "nodes": 1}}},
        {"accelerators": {"a800": {"resource": "x.y/z", "per_node": 0, "nodes": 1}}},
        {
            "accelerators": {
                "a800": {
                    "resource": "x.y/z",
                    "per_node": 8,
                    "nodes": 1,
                    "price_per_hour": {"amount": float("inf"), "currency": "USD", "as_of": datetime.date(2026, 1, 1)},
                }
            }
        },
        {"claims": {"models": {"size": 0}}},
        {"priority_classes": {"urgent": {"value": 1_000_000_001}}},
        {"queues": {"night": {"weight": 0}}},
        {"queues": {"q" * 64: {}}},
        {"limits": {"registries": ["Registry.example.com"]}},
    ],
)
def test_environments_refused(parts: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        environment(**parts)


def test_the_severity_off_may_be_written_without_quotes() -> None:
    """YAML reads it as false."""
    assert environment(limits={"severity": {"TF-COST-1": False}}).limits.severity == {"TF-COST-1": "off"}


def test_roles_have_a_bound_in_the_model_and_in_the_schema() -> None:
    """Each is a component in every preview. The bad file `too-many-roles` has the message."""
    data = {"name": "sweep", "image": "registry.example.com/ai/train:1.0", "launcher": {"command": ["train"]}}
    fits: dict[str, Any] = {f"worker-{number}": {} for number in range(defaults.MOST_ROLES)}
    assert parse(Experiment, {**data, "roles": fits}).problems == ()
    (problem,) = parse(Experiment, {**data, "roles": {**fits, "one-more": {}}}).problems
    assert problem.path == "roles"
    assert problem.reason == "the value has more than 64 entries"
    assert Experiment.model_json_schema()["properties"]["roles"]["maxProperties"] == 64
