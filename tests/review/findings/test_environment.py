"""What the settings of an environment mean for the experiments that are deployed in it."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from msgspec import structs

from tests.review.jobs import EMPTY, PROVIDER, context, deployed, job_review, locate, step
from tests.review.test_settings import URN, platform
from tests.support.samples import CLUSTER, JOB, environment
from trainform.cluster.facts import LiveFacts
from trainform.deployed.releases.evidence import Lack
from trainform.job.render import render_job
from trainform.review import steps
from trainform.review.capacity import capacity_of
from trainform.review.context import Context, User
from trainform.review.cost import cost_of
from trainform.review.facts import facts_of
from trainform.review.fail_on import STOPPED, exit_code, parse_fail_on
from trainform.review.files import uses_of
from trainform.review.findings.cost import find as costs
from trainform.review.findings.environment import find
from trainform.review.model import Finding
from trainform.review.preview import Preview, State
from trainform.review.report import build_report, dependents, not_read
from trainform.review.whole import review_of
from trainform.spec.experiment import Experiment
from trainform.spec.layers import merge_patch

DAY = datetime.date(2026, 1, 1)
ENV = environment()
EXPERIMENTS = {"resnet": 2, "mnist": 1}
"""Pods of 8 a800 each."""


def review(
    before: dict[str, Any],
    after: dict[str, Any],
    live: LiveFacts | None = None,
    lacks: tuple[Lack, ...] = (),
) -> Context:
    model = environment(**merge_patch(CLUSTER, after))
    users = []
    for name, pods in EXPERIMENTS.items():
        data = {**JOB, "name": name, "roles": {"worker": {"replicas": pods, "accelerators": {"a800": 8}}}}
        job = render_job(Experiment.model_validate(data), model)
        users.append(User(f"{name}.dev", name, uses_of(job), job=job, lacks=lacks if name == "resnet" else ()))
    preview = Preview("stream", (platform(before, after),))
    return Context("dev", preview, (), environment=model, live=live, locate=locate, users=tuple(users))


def without_class(**more: Any) -> Context:
    """The stack of the environment without its priority class urgent, which resnet uses and mnist does not."""
    model, uses = environment(), frozenset({(steps.PRIORITY_CLASS, "urgent")})
    users = (User("resnet.dev", "resnet", uses), User("mnist.dev", "mnist"))
    old = State({"metadata": {"name": "urgent"}}, parent=URN, provider=PROVIDER)
    gone = step("delete", "kubernetes:scheduling.k8s.io/v1:PriorityClass", "dev-urgent", old)
    preview = Preview("stream", (platform({"priority_classes": {"urgent": {"value": 9}}}, {}), gone))
    return Context("dev", preview, (), environment=model, locate=locate, users=users, **more)


def found(*given: Any, **more: Any) -> list[Finding]:
    return [*find(review(*given, **more))]


def price(amount: float | None, currency: str = "USD") -> dict[str, Any]:
    cost = None if amount is None else {"amount": amount, "currency": currency, "as_of": DAY}
    return {"accelerators": {"a800": {"price_per_hour": cost}}}


@pytest.mark.parametrize(
    ("before", "after", "title"),
    [
        ({"limits": {"max_accelerators": 16}}, {}, "limit `limits.max_accelerators` is loosened: 16 → not set."),
        (
            {"limits": {"registries": ["a.example.com"]}},
            {},
            "limit `limits.registries` is loosened: a.example.com → any.",
        ),
        (
            {"promotion": {"from": ["a"], "clean": True}},
            {"promotion": {"clean": True}},
            "gate `promotion.from` is loosened: a → any.",
        ),
        (
            {"limits": {"host_paths": []}},
            {"limits": {"host_paths": ["/data"]}},
            "limit `limits.host_paths` is loosened: none → /data.",
        ),
        (
            {},
            {"limits": {"waivable": {"TF-RES-2": ["lead"]}}},
            "limit `limits.waivable.TF-RES-2` is loosened: not set → lead.",
        ),
        (
            {"promotion": {"soak": "24h", "clean": True}},
            {"promotion": {"clean": True}},
            "gate `promotion.soak` is loosened: 24h → not set.",
        ),
    ],
)
def test_a_setting_that_is_looser(before: Any, after: Any, title: str) -> None:
    [finding] = found(before, after)
    assert (finding.code, finding.level, finding.title) == ("TR-ENVIRONMENT-1", "high", f"The {title}")
    assert finding.place is not None
    assert finding.field == finding.place.path == f"environment.{title.split('`')[1]}"


def test_gates_that_are_all_removed_are_one_finding() -> None:
    [finding] = found({"promotion": {"from": ["staging"], "soak": "24h", "clean": True}}, {})
    assert (finding.level, finding.field, finding.after) == ("high", "environment.promotion", None)
    assert finding.title == (
        "dev no longer takes releases only, so its stacks may follow any file; loosened: `promotion.from`, "
        "`promotion.soak`, `promotion.clean`."
    )


def test_a_priority_class_that_deployed_experiments_use_is_removed() -> None:
    [finding] = find(without_class())
    assert (finding.code, finding.level, finding.object) == ("TR-ENVIRONMENT-7", "high", "urgent")
    assert finding.title == "The priority class urgent is removed, and resnet.dev uses it."
    assert finding.place is not None
    assert finding.place.path == "environment.priority_classes.urgent"
    assert [*find(without_class(live=structs.replace(EMPTY, deployed=frozenset({"lab/mnist.dev"}))))] == []


def test_experiments_that_no_longer_pass() -> None:
    [finding] = found({}, {"limits": {"max_accelerators": 8}})
    assert (finding.code, finding.level) == ("TR-ENVIRONMENT-2", "medium")
    assert finding.title.startswith("1 stack no longer passes: resnet.dev (TF-RES-2): ")
    [finding] = found({}, {"limits": {"max_accelerators": 4}})
    assert finding.title == "2 stacks no longer pass: resnet.dev (TF-RES-2), mnist.dev (TF-RES-2)."
    assert found({"limits": {"max_accelerators": 4}}, {"limits": {"max_accelerators": 2}}) == [], "they did not before"
    assert found({}, {"limits": {"max_accelerators": 16}}) == []


def test_a_gate_that_a_release_does_not_have() -> None:
    lacks = [Lack("gate", "resnet", ENV, "resnet.dev", "0a1b2c3d", gate) for gate in ("soak", "clean")]
    [finding] = found({}, {"promotion": {"soak": "1h"}}, lacks=tuple(lacks))
    assert finding.title.startswith("1 stack no longer passes: resnet.dev (soak): ")
    elsewhere = (Lack("elsewhere", "resnet", ENV, "resnet.dev", "0a1b2c3d", found="bert.dev"),)
    [finding] = found({}, {"promotion": {"soak": "1h"}}, lacks=elsewhere)
    assert "resnet.dev (promotion)" in finding.title
    assert found({"promotion": {"clean": True}}, {"promotion": {"clean": True, "soak": "1h"}}, lacks=elsewhere) == []


@pytest.mark.parametrize(
    ("before", "after", "level", "title"),
    [
        (2, 2.5, "medium", "Other prices: +12.00 USD/h for resnet.dev, mnist.dev: 48.00 USD/h → 60.00 USD/h."),
        (2, 3, "high", "Other prices: +24.00 USD/h for resnet.dev, mnist.dev: 48.00 USD/h → 72.00 USD/h."),
        (2, 10, "high", "Other prices: +192.00 USD/h for resnet.dev, mnist.dev: 48.00 USD/h → 240.00 USD/h."),
        (2, 1, "low", "Other prices: -24.00 USD/h for resnet.dev, mnist.dev: 48.00 USD/h → 24.00 USD/h."),
        (None, 1, "low", "Other prices for resnet.dev, mnist.dev: the difference is unknown, "),
    ],
)
def test_another_price(before: float | None, after: float, level: str, title: str) -> None:
    [finding] = found(price(before), price(after))
    assert (finding.code, finding.level) == ("TR-ENVIRONMENT-3", level)
    assert finding.title.startswith(title)


def test_the_cost_of_the_environment_is_what_its_prices_change() -> None:
    made = review(price(3), price(5))
    assert made.environment is not None
    cost = cost_of(made)
    assert (cost.before, cost.after, cost.percent, cost.known) == (None, None, "+66.7", True)
    assert cost.difference is not None
    assert cost.difference.text == "48.00 USD"
    assert facts_of([], [], cost, capacity_of(made))[2].number == "+48.00 USD/h"
    assert [finding.code for finding in costs(made)] == [], "its own finding has it"
    data = {**JOB, "name": "resnet", "roles": {"worker": {"replicas": 2, "accelerators": {"a800": 8}}}}
    job = job_review(*(deployed(data, made.environment.model_dump(by_alias=True)) for _ in range(2)))
    stack = context(job, environment=made.environment, earlier=(made,))
    assert [*costs(stack)] == [], "the environment has the finding"
    assert [side and side.text for side in (cost_of(stack).before, cost_of(stack).after)] == ["48.00 USD", "80.00 USD"]


@pytest.mark.parametrize("after", [price(2, "EUR"), price(None)])
def test_a_cost_that_other_prices_make_unknown_is_above_every_bound(after: dict[str, Any]) -> None:
    made = review(price(2), after)
    [finding] = find(made)
    assert (finding.code, "the difference is unknown" in finding.title) == ("TR-ENVIRONMENT-3", True)
    assert [*costs(made)] == [], "its own finding has it"
    report = build_report(made)
    assert (report.facts[2].number, report.cost.unknown) == ("unknown", "no cost of resnet.dev, mnist.dev.")
    for condition in ("cost:9999/h", "cost:+50/h", "cost:+20%", "incomplete"):
        assert exit_code(review_of([report]), parse_fail_on(condition)) == STOPPED, condition


def test_prices_that_nothing_uses() -> None:
    unused = {"accelerators": {"l40s": price(1)["accelerators"]["a800"]}}
    assert found({}, unused) == []


def test_the_namespace_changes_under_deployed_experiments() -> None:
    [finding] = found({"namespace": {"name": "old"}}, {})
    assert (finding.code, finding.level) == ("TR-ENVIRONMENT-4", "high")
    assert finding.title == "The namespace changes from old to ai-namespace; deployed in old: resnet.dev, mnist.dev."


def test_what_is_not_deployed_does_not_count() -> None:
    live = structs.replace(EMPTY, deployed=frozenset({"lab/mnist.dev", "other/resnet.dev"}))
    [finding] = found({"namespace": {"name": "old"}}, {}, live=live)
    assert finding.title == "The namespace changes from old to ai-namespace; deployed in old: mnist.dev."
    assert found({"namespace": {"name": "old"}}, {}, live=structs.replace(EMPTY, deployed=frozenset())) == []
    [other] = not_read(review({"namespace": {"name": "old"}}, {}, live=live))
    assert other.reason.endswith("whose files are not in this project: other/resnet.dev.")
    assert [*not_read(review({}, {}, live=live))] == []


SELECTOR = {"accelerators": {"a800": {"node_selector": {"zone": "x"}}}}


def test_experiments_that_start_again() -> None:
    [users] = dependents(review({}, SELECTOR))
    assert users.sentence == "Environment dev: the next `pulumi up` of resnet.dev, mnist.dev starts the jobs again."
    [finding] = found({}, SELECTOR)
    assert (finding.code, finding.level, finding.after) == ("TR-RESTART-6", "high", ["resnet.dev", "mnist.dev"])
    assert parse_fail_on("restart").categories == {finding.category}
    assert dependents(review({}, {"limits": {"max_accelerators": 32}})) == []
