"""Parameters of components that are of another type than the signature says: Python runs such a program, and the
component refuses it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from tests.support.samples import environment, experiment
from trainform import (
    Experiment,
    InputError,
    Platform,
    Rendezvous,
    RoleGroup,
    SharedStorage,
    SshIdentity,
    TrainingJob,
    TrainingQueue,
)
from trainform.spec.queue_fields import QueueRequest
from trainform.spec.storage import ClaimRequest

SECRET = {"env": {"HF_TOKEN": "hf_wJalrXUtnFEMI"}}
OUTPUT = pulumi.Output.from_input("x")
EXPERIMENT = "must be a model Experiment, or the name or path of its file as text"
ENVIRONMENT = "must be a model Environment, or the name or path of its file as text"
CLAIM = "must be a model ClaimRequest"


@pytest.mark.parametrize(
    ("make", "parameter", "kind", "reason"),
    [
        (lambda: TrainingJob("x", any_(SECRET), environment()), "experiment", "dict", EXPERIMENT),
        (lambda: TrainingJob("x", any_(None), environment()), "experiment", "NoneType", EXPERIMENT),
        (lambda: TrainingJob("x", any_(environment()), environment()), "experiment", "Environment", EXPERIMENT),
        (lambda: TrainingJob("x", experiment(), any_(SECRET)), "environment", "dict", ENVIRONMENT),
        (lambda: RoleGroup("x", any_(5), environment(), "worker"), "experiment", "int", EXPERIMENT),
        (lambda: RoleGroup("x", experiment(), environment(), any_(["worker"])), "role", "list", "must be text"),
        (lambda: Platform("x", any_(experiment())), "environment", "Experiment", ENVIRONMENT),
        (lambda: SshIdentity("x", "x", any_(5)), "environment", "int", ENVIRONMENT),
        (lambda: Rendezvous("x", {"app": "x"}, any_(5)), "environment", "int", ENVIRONMENT),
        (lambda: Rendezvous("x", any_(5), environment()), "selector", "int", "must be a mapping"),
        (lambda: SharedStorage("s", {"A_b": any_(5)}, environment()), "claims.A_b", "int", CLAIM),
        (lambda: SharedStorage("s", {"a": any_(QueueRequest())}, environment()), "claims.a", "QueueRequest", CLAIM),
        (lambda: SharedStorage("s", any_(OUTPUT), environment()), "claims", "Output", "must be a mapping"),
        (lambda: TrainingQueue("q", any_(SECRET), environment()), "queues.q", "dict", "must be a model QueueRequest"),
    ],
)
def test_a_parameter_of_another_type_is_refused(
    make: Callable[[], object], parameter: str, kind: str, reason: str
) -> None:
    with pytest.raises(pulumi.RunError) as caught:
        make()
    text = str(caught.value)
    assert text.startswith(f"\n1 problem:\n{parameter}\n  why: the value is of the type {kind}, and {reason}\n  fix: ")
    assert "hf_wJalrXUtnFEMI" not in text


def test_every_wrong_parameter_is_named_at_once() -> None:
    with pytest.raises(pulumi.RunError, match=r"(?s)3 problems.*environment\n.*experiment\n.*run = 0"):
        TrainingJob("x", any_(5), any_(5), run=0)
    with pytest.raises(pulumi.RunError, match=r"(?s)2 problems.*claims.a\n.*claims.b\n"):
        SharedStorage("s", {"a": any_(5), "b": any_("1Ti"), "c": ClaimRequest(size="1Ti")}, environment())


def test_an_environment_with_gates_refuses_a_job_without_a_release() -> None:
    prod = environment(name="prod", promotion={"digest": True})
    with pytest.raises(pulumi.RunError, match=r"trainform:release\n  why: The program makes the job sdxl-lora without"):
        TrainingJob("x", experiment(), prod)


@pytest.mark.parametrize("name", [5, None])
def test_a_name_that_is_not_text_is_refused(name: Any) -> None:
    with pytest.raises(pulumi.RunError, match=r"why: the key (must be text|is missing)"):
        SharedStorage("s", {name: ClaimRequest(size="1Ti")}, environment())


WRONG = {"image": 5, "roles": {"worker": {"replicas": "3"}}, "env": {"HF_TOKEN": ["hf_wJalrXUtnFEMI"]}}


@pytest.mark.parametrize("make", [Experiment.model_validate, lambda data: Experiment(**data)])
def test_a_model_with_wrong_fields_is_explained_as_a_file_is(make: Callable[[dict[str, Any]], object]) -> None:
    """It ends a program under Pulumi without a traceback, and can be caught as an error of trainform."""
    with pytest.raises(pulumi.RunError) as caught:
        make({"name": "bert", "launcher": {"command": ["train"]}, **WRONG})
    assert isinstance(caught.value, InputError)
    assert str(caught.value).splitlines() == [
        "3 problems:",
        "Experiment bert: env.HF_TOKEN = [secret]",
        "  why: the value must be text",
        "  fix: put it in quotes",
        "Experiment bert: image = 5",
        "  why: the value must be text",
        '  fix: put it in quotes: "5"',
        "Experiment bert: roles.worker.replicas = 3",
        "  why: the value must be a whole number",
        "  fix: write a whole number, without quotes",
    ]


def test_a_part_of_a_model_and_an_output_in_it() -> None:
    with pytest.raises(InputError, match=r"ClaimRequest: size\n  why: the field is missing\n"):
        ClaimRequest(**any_({}))
    with pytest.raises(InputError, match=r"Experiment bert: image\n  why: the value is of the type Output, which"):
        experiment(name="bert", image=pulumi.Output.from_input("x"))


def test_problems_of_rules_name_the_model() -> None:
    """A program may make many jobs."""
    wrong = experiment(name="bert", roles={"worker": {"accelerators": {"a800": 16}}})
    with pytest.raises(pulumi.RunError, match=r"\nExperiment bert: roles.worker.accelerators.a800 = 16\n  why: "):
        TrainingJob("x", wrong, environment())


def any_(value: object) -> Any:
    """The value for a parameter of another type: the type checker would refuse it in a typed program."""
    return value
