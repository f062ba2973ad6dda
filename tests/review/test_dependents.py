"""Which experiments hang on what changes in their environment's own stack."""

from __future__ import annotations

from typing import Any

import pytest

from tests.review.jobs import PROVIDER, context, step, urn
from tests.support.samples import environment
from trainform.review.context import Context, User
from trainform.review.dependents import dependents
from trainform.review.preview import State, Step

QUEUE = "kubernetes:scheduling.volcano.sh/v1beta1:Queue"
CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
CLASS = "kubernetes:scheduling.k8s.io/v1:PriorityClass"
NAMESPACE = "kubernetes:core/v1:Namespace"
USERS = (
    User("resnet.dev", "resnet", frozenset({("Queue", "research"), ("PersistentVolumeClaim", "datasets")})),
    User("mnist.dev", "mnist", frozenset({("Queue", "research-small"), ("PriorityClass", "urgent")})),
    User("mnist-2.dev", "mnist", frozenset({("Queue", "batch"), ("PriorityClass", "urgent")})),
)
CHILD = environment(queues={"research": {}, "research-small": {"parent": "research"}, "batch": {}})
ALL = "resnet (resnet.dev), mnist (mnist.dev), mnist (mnist-2.dev) use it."


def platform_step(operation: str, type_: str, name: str, old: Any = None, new: Any = None) -> Step:
    above = urn("trainform:index:Platform", "dev")
    states = [
        None if body is None else State({"metadata": {"name": name}, **body}, parent=above, provider=PROVIDER)
        for body in (old, new)
    ]
    return step(operation, type_, f"dev-{name}", *states, detail={})


def review(*steps: Step, users: tuple[User, ...] | None = USERS) -> Context:
    return context(others=steps, environment=CHILD, users=users)


def said(*steps: Step, users: tuple[User, ...] | None = USERS) -> list[str]:
    return [each.sentence for each in dependents(review(*steps, users=users))]


@pytest.mark.parametrize(
    ("type_", "name", "sentence"),
    [
        (QUEUE, "batch", "Queue batch: mnist (mnist-2.dev) uses it."),
        (QUEUE, "research-small", "Queue research-small: mnist (mnist.dev) uses it."),
        (QUEUE, "research", "Queue research: resnet (resnet.dev), mnist (mnist.dev) use it."),
        (f"{QUEUE}Patch", "batch", "Queue batch: mnist (mnist-2.dev) uses it."),
        (CLAIM, "datasets", "Claim datasets: resnet (resnet.dev) uses it."),
        (CLAIM, "models", "Claim models: no experiment of the project uses it."),
        (CLASS, "urgent", "Priority class urgent: mnist (mnist.dev), mnist (mnist-2.dev) use it."),
        (NAMESPACE, "ai", f"Namespace ai: {ALL}"),
    ],
)
@pytest.mark.parametrize("operation", ["update", "delete", "replace", "unheard-of"])
def test_who_uses_an_object_of_each_kind(operation: str, type_: str, name: str, sentence: str) -> None:
    new = None if operation == "delete" else {"spec": {"b": 2}}
    assert said(platform_step(operation, type_, name, {"spec": {"a": 1}}, new)) == [sentence]


def test_every_experiment_is_in_the_namespace_that_gets_another_name() -> None:
    states = [State({"metadata": {"name": name}}, provider=PROVIDER) for name in ("ai", "ai-new")]
    assert said(step("replace", NAMESPACE, "dev-namespace", *states, detail={})) == [f"Namespace ai: {ALL}"]


def test_what_stays_or_is_new_is_not_told() -> None:
    same = platform_step("same", QUEUE, "research", {"spec": {}}, {"spec": {}})
    new = platform_step("create", QUEUE, "batch", None, {"spec": {}})
    assert said(same, new) == []


def test_the_stack_of_an_experiment_has_none() -> None:
    assert said(platform_step("update", QUEUE, "research", {}, {"spec": {}}), users=None) == []
