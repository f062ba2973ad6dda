"""The report: the parts together, sorted and merged, with what was not checked."""

from __future__ import annotations

import dataclasses
import datetime
import itertools
from typing import Any

import pytest
from msgspec import structs

from tests.conftest import ROOT, Golden
from tests.review.jobs import LORA, PROVIDER, change, context, locate, name_of, running, step, urn
from tests.review.screen import PRICED, TODAY, checked, reviewed, shown_review
from tests.support.documents import README, blocks_of
from tests.support.leaks import GITHUB_TOKEN
from tests.support.samples import environment
from trainform.errors import Problem
from trainform.review.context import Context, User
from trainform.review.fail_on import FAILED, exit_code, parse_fail_on
from trainform.review.forms.text import terminal
from trainform.review.kinds import KINDS
from trainform.review.model import Level, NotChecked, Outcome, Report
from trainform.review.preview import Message, PolicyResult, State, Step
from trainform.review.report import build_report, dependents
from trainform.review.whole import review_of
from trainform.rules.limits.table import REVIEW_CODES
from trainform.spec.environment import Environment

SCREEN = ROOT / "tests" / "review" / "golden" / "screen.txt"


def with_preview(context: Context, **more: Any) -> Context:
    return dataclasses.replace(context, preview=structs.replace(context.preview, **more))


def waiver(finding: str, owner: str = "team-lead", until: str = "2026-12-31", rule: str = "TF-IMG-2") -> dict[str, Any]:
    day = datetime.date.fromisoformat(until)
    return {"rule": rule, "finding": finding, "reason": "the registry moves", "owner": owner, "until": day}


def of_code(report: Report, code: str) -> list[Any]:
    return [finding for finding in report.findings if finding.code == code]


def test_the_screen_of_the_readme(golden: Golden) -> None:
    """What a person reads first."""
    text = terminal(shown_review(), 100)
    golden(SCREEN, text)
    assert text.count("\n") <= 12
    shown = next(block for block in blocks_of("text", README) if block.text.startswith("Review of "))
    assert shown.text == text
    [report] = shown_review().stacks
    assert (report.not_checked, report.capacity.verdict) == ([], "now")


def test_of_a_preview_that_is_not_whole_the_amounts_are_not_known() -> None:
    report = build_report(with_preview(reviewed(), incomplete=True))
    assert (report.cost.known, report.capacity.verdict) == (False, "unknown")
    assert report.cost.unknown == "the preview is not complete."
    assert [effect.kind for effect in report.effects][-1] == "unknown"


def test_findings_are_sorted_and_are_there_once() -> None:
    found = build_report(reviewed(), checked([])).findings
    levels = [Level[finding.level] for finding in found]
    assert levels == sorted(levels, reverse=True)
    for _, same in itertools.groupby(found, key=lambda finding: finding.level):
        codes = [(finding.code, finding.object) for finding in same]
        assert codes == sorted(codes)
    assert len({(finding.code, finding.fingerprint) for finding in found}) == len(found)


def test_findings_of_the_limits() -> None:
    report = build_report(reviewed(), checked([]))
    [image] = of_code(report, "TF-IMG-2")
    assert (image.category, image.level, image.field, image.waived) == ("limits", "high", "image", False)
    assert image.place == locate("image")
    assert image.title.endswith(".")
    assert image.why.startswith("The limit of the environment says: ")
    assert image.title[0].isupper()
    assert {finding.level for finding in of_code(report, "TF-RUN-1")} == {"medium"}


def test_a_waiver_that_applies_takes_its_finding_out_of_the_count() -> None:
    [image] = of_code(build_report(reviewed(), checked([])), "TF-IMG-2")
    report = build_report(reviewed(), checked([waiver(image.fingerprint)]))
    [waived] = of_code(report, "TF-IMG-2")
    assert waived.waived
    assert exit_code(review_of([report]), parse_fail_on("limits")) == 3  # TF-RUN-1
    only = checked([waiver(image.fingerprint)], {"severity": {"TF-IMG-2": "error"}})
    assert exit_code(review_of([build_report(reviewed(), only)]), parse_fail_on("limits")) == 0
    [use] = report.waivers
    assert (use.code, use.fingerprint, use.owner, use.until, use.state, use.why) == (
        "TF-IMG-2", image.fingerprint, "team-lead", "2026-12-31", "applies", "",
    )  # fmt: skip


def test_a_finding_of_the_review_can_be_waived() -> None:
    """As those of limits: by code and fingerprint, where the environment names who may agree to it."""
    allows = {"waivable": {"TR-RESTART-1": ["team-lead"]}}
    [plain] = of_code(build_report(reviewed(), checked([])), "TR-RESTART-1")
    [found] = of_code(build_report(reviewed(), checked([], allows)), "TR-RESTART-1")
    assert "waivers" not in plain.fix
    assert f'{{rule: TR-RESTART-1, finding: "{found.fingerprint}", reason: "…", owner: "team-lead"' in found.fix
    given = [waiver(found.fingerprint, rule="TR-RESTART-1"), waiver("0123456789abcdef", rule="TR-RESTART-1")]
    report = build_report(reviewed(), checked(given, allows))
    assert [finding.waived for finding in of_code(report, "TR-RESTART-1")] == [True]
    assert exit_code(review_of([report]), parse_fail_on("restart")) == 0
    assert [(use.state, use.why) for use in report.waivers] == [
        ("applies", ""),
        ("void", f"The finding has changed: TR-RESTART-1 finds {found.fingerprint} here now."),
    ]
    late = build_report(
        reviewed(), checked([waiver(found.fingerprint, until="2026-11-22", rule="TR-RESTART-1")], allows)
    )
    assert not of_code(late, "TR-RESTART-1")[0].waived


def test_every_kind_of_finding_can_be_waived_but_secrets_gates_and_environments() -> None:
    assert {kind.code for kind in KINDS} >= REVIEW_CODES
    categories = {kind.category for kind in KINDS if kind.code in REVIEW_CODES}
    assert {kind.code for kind in KINDS if kind.category in categories} - REVIEW_CODES == {
        "TR-RESTART-6",
        "TR-SECURITY-9",
    }


def test_waivers_that_do_not_apply() -> None:
    [image] = of_code(build_report(reviewed(), checked([])), "TF-IMG-2")
    here = image.fingerprint
    given = [
        waiver(here, until="2026-11-22"),
        waiver("0123456789abcdef"),
        waiver(here, owner="somebody"),
        waiver("0123456789abcdef", rule="TF-COST-1"),
    ]
    report = build_report(reviewed(), checked(given))
    assert [(use.state, use.why) for use in report.waivers] == [
        ("expired", "Its last day was 2026-11-22."),
        ("void", f"The finding has changed: TF-IMG-2 finds {here} here now."),
        ("refused", "The environment dev does not allow waivers of TF-IMG-2 with this owner."),
        ("refused", "The environment dev does not allow waivers of this rule."),
    ]
    assert not of_code(report, "TF-IMG-2")[0].waived


def test_a_policy_and_the_rule_of_its_name_find_one_thing() -> None:
    context = reviewed()
    [image] = of_code(build_report(context, checked([])), "TF-IMG-2")
    urn = context.jobs[0].steps[-1].urn
    results = (
        PolicyResult(
            "TF-IMG-2", "mandatory", urn, f"image: no digest. Write one (TF-IMG-2, finding {image.fingerprint})"
        ),
        PolicyResult("no-friday", "advisory", urn, "it is Friday", "calendar"),
        PolicyResult("no-monday", "disabled", urn, "it is Monday", "calendar"),
    )
    report = build_report(with_preview(context, policies=results), checked([]))
    assert of_code(report, "TF-IMG-2") == [image]
    [friday] = of_code(report, "no-friday")
    assert (friday.level, friday.title) == ("medium", "It is Friday.")
    assert friday.why == "It is a rule of the policy pack calendar (advisory)."
    assert not of_code(report, "no-monday")


@pytest.mark.parametrize("level", ["mandatory", "advisory", "remediate"])
def test_a_secret_in_a_message_is_masked(level: str) -> None:
    context = reviewed()
    result = PolicyResult("no-token", level, context.jobs[0].steps[0].urn, f"the token {GITHUB_TOKEN} is in it")
    message = Message("error", f"login with {GITHUB_TOKEN} failed")
    report = build_report(
        with_preview(context, policies=(result,), messages=(message,), failed=f"no access by {GITHUB_TOKEN}")
    )
    assert GITHUB_TOKEN not in report.model_dump_json()


def test_outcomes() -> None:
    assert build_report(reviewed()).outcome is Outcome.findings
    same = change(LORA, LORA, running(name_of(LORA)), environment=Environment.model_validate(PRICED), today=TODAY)
    quiet = checked([], {"severity": {}})
    assert build_report(same, quiet).outcome is Outcome.clean
    assert build_report(same, quiet, [NotChecked(what="cluster", reason="It is off.")]).outcome is Outcome.incomplete
    report = build_report(with_preview(same, failed="the program ended with an error"), quiet)
    assert report.outcome is Outcome.failed
    assert report.headline == "The preview failed: the program ended with an error"
    assert exit_code(review_of([report]), parse_fail_on("high")) == FAILED


@pytest.mark.parametrize(
    ("failed", "told", "rest"),
    [
        (
            "2 problems on the cluster arn:aws:eks:\nthe queue night does not exist\n  fix: pulumi up -s dev\n"
            "the claim data does not exist\n  fix: correct its name",
            "the queue night does not exist",
            [
                "2 problems on the cluster arn:aws:eks:",
                "  fix: pulumi up -s dev",
                "the claim data does not exist",
                "  fix: correct its name",
            ],
        ),
        ("error: no stack named 'x' found\n  fix: pulumi stack select --create x", "no stack named 'x' found", [
            "  fix: pulumi stack select --create x"
        ]),
        ("error: ", "the engine does not report why", []),
        ("\n".join(str(number) for number in range(30)), "0", [*map(str, range(1, 21)), "and 9 more lines"]),
    ],
)  # fmt: skip
def test_a_failed_preview_has_the_lines_of_the_engine(failed: str, told: str, rest: list[str]) -> None:
    context = with_preview(reviewed(), failed=failed, messages=(Message("error", failed),))
    report = build_report(context)
    assert (report.headline, report.failure) == (f"The preview failed: {told}", rest)
    assert failed.strip() == "error:" or report.messages == [], "it is told once"


def test_a_failed_preview_has_the_problems_of_the_files_as_data() -> None:
    """Where the program has ended with the same problems."""
    files = structs.replace(
        checked([]),
        problems=(
            Problem("roles", None, "the pods need 9 nodes", "ask for fewer", "b.yaml", 6),
            Problem("image", "x:1", "no digest", "write one", "a.yaml", 9, "TF-IMG-2", "0123456789abcdef"),
        ),
    )
    report = build_report(with_preview(reviewed(), failed="2 problems:\na.yaml:9: image\n  why: no digest"), files)
    assert report.headline == "The preview failed: a.yaml:9: image = x:1: no digest"
    assert report.failure == [
        "  fix: write one",
        "  rule: TF-IMG-2, finding 0123456789abcdef",
        "b.yaml:6: roles",
        "  why: the pods need 9 nodes",
        "  fix: ask for fewer",
    ]
    assert "TF-IMG-2" not in {finding.code for finding in report.findings}, "it is told once"
    other = build_report(with_preview(reviewed(), failed="the state is locked"), files)
    assert (other.headline, other.failure) == ("The preview failed: the state is locked", [])


def test_a_preview_that_failed_leaves_nothing_to_be_taken_for_an_answer() -> None:
    """Its program ended before it had any object: that nothing changes, costs or is short would be a claim."""
    report = build_report(with_preview(reviewed(), failed="the program ended", steps=()), None)
    nothing = build_report(dataclasses.replace(with_preview(reviewed(), failed="the program ended", steps=()), jobs=()))
    assert [(effect.kind, effect.sentence) for effect in nothing.effects] == [
        ("unknown", "What would change is unknown: the preview failed.")
    ]
    assert nothing.cost.unknown == "the preview failed."
    assert nothing.capacity.verdict == report.capacity.verdict == "unknown"
    assert NotChecked(what="preview", reason="It failed, so what it has not reached is not checked.") in (
        nothing.not_checked
    )
    assert nothing.facts == []
    some = build_report(with_preview(reviewed(), failed="the program ended"))
    assert [effect.kind for effect in some.effects][-1] == "unknown"
    assert len(some.effects) > 1
    assert not {finding.category for finding in some.findings} & {"cost", "capacity"}


def test_what_the_preflight_could_not_check_is_no_message() -> None:
    told = Message("info", "not checked: Secret hf: this account has no permission to read it: rbac")
    report = build_report(with_preview(reviewed(), messages=(told, Message("warning", "the namespace warns"))))
    assert (
        NotChecked(what="preflight", reason="Secret hf: this account has no permission to read it: rbac.")
        in report.not_checked
    )
    assert [message.text for message in report.messages] == ["the namespace warns"]


def test_who_has_checked_the_limits() -> None:
    by = "The limits of the environment were checked by "
    ran = with_preview(reviewed(), packs={"trainform": "", "calendar": ""})
    assert build_report(reviewed(), checked([])).limits == f"{by}trainform in the stack's files."
    assert build_report(ran, checked([])).limits == f"{by}trainform in the stack's files and the policy pack trainform."
    assert build_report(ran).limits == f"{by}the policy pack trainform."
    report = build_report(reviewed())
    assert report.limits == ""
    assert "limits" in {part.what for part in report.not_checked}


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
