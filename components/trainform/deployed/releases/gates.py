"""The gates before a promotion: what the target's environment requires of the source. Pure functions in a table."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, get_args

from msgspec import Struct

from trainform.backends.outcome import Outcome
from trainform.console.lines import strip_invisible
from trainform.console.secrets import secret_in
from trainform.deployed.releases.release import GateWaiver
from trainform.errors import Problem, list_names
from trainform.spec.environment import Environment, GateName, Promotion
from trainform.spec.names import did_you_mean
from trainform.spec.quantities import seconds

Result = Literal["passed", "refused", "waived"]
Refusal = tuple[str, str]
"""Reason and fix."""
NAMES: tuple[GateName, ...] = get_args(GateName)
OPTION, REASON = "--waive", "--reason"
HALF = re.compile("[\ud800-\udfff]")
"""A byte on the command line that is not UTF-8, as Python decodes it."""


class Facts(Struct, frozen=True):
    """Facts about the source at the time of the promotion."""

    environment: str
    outcome: Outcome | None
    """The outcome of its job; None if the job no longer exists."""
    tags: tuple[str, ...]
    """Paths of the images that the experiment names without a digest."""
    commit: str
    """The commit of git at the last `pulumi up`; "" if Pulumi's history has none."""
    dirty: bool | None
    now: datetime.datetime
    """With its time zone."""
    changed: bool = False
    """A `pulumi up` changed the job object in place after its end."""


class GateResult(Struct, frozen=True):
    """The result of a gate that the environment sets. reason, fix: of a refusal, also where it is waived."""

    gate: GateName
    result: Result
    reason: str = ""
    fix: str = ""
    waiver: GateWaiver | None = None


Gate = Callable[[Promotion, Facts], Refusal | None]


def _from(promotion: Promotion, facts: Facts) -> Refusal | None:
    if facts.environment in promotion.sources:
        return None
    names = list_names(promotion.sources)
    reason = f"releases come from {names} only, and the source is in the environment {facts.environment}"
    return reason, f"promote it to a stack of {names} first, then from there"


def _succeeded(promotion: Promotion, facts: Facts) -> Refusal | None:
    if facts.outcome is None:
        return "the job of the source no longer exists, so its outcome is unknown", AGAIN
    if facts.outcome.word == "succeeded":
        return (CHANGED, AGAIN) if facts.changed else None
    if facts.outcome.word == "not ended":
        return "the job of the source has not ended yet", "wait for its end"
    return f"the job of the source has {WORDS[facts.outcome.word]}", AGAIN


def _digest(promotion: Promotion, facts: Facts) -> Refusal | None:
    if not facts.tags:
        return None
    names = list_names(facts.tags)
    return (
        f"{names} {'names' if len(facts.tags) == 1 else 'name'} an image without a digest",
        "write it as IMAGE@sha256:…, run `pulumi up` of the source, and promote that",
    )


def _soak(promotion: Promotion, facts: Facts) -> Refusal | None:
    refused = _succeeded(promotion, facts)
    if refused is not None:
        return refused
    done = "" if facts.outcome is None else facts.outcome.at
    try:
        passed = facts.now - datetime.datetime.fromisoformat(done)
    except (TypeError, ValueError):  # no time, or one without a zone
        return "the time at which the job of the source succeeded is unknown", AGAIN
    soak = datetime.timedelta(seconds=seconds(str(promotion.soak)))
    if passed >= soak:
        return None
    until = datetime.datetime.fromisoformat(done) + soak
    return (
        f"the job of the source succeeded less than {promotion.soak} ago, at {done}",
        f"promote it after {until.astimezone(datetime.UTC).strftime('%Y-%m-%d %H:%M:%S')} UTC",
    )


def _clean(promotion: Promotion, facts: Facts) -> Refusal | None:
    if not facts.commit or facts.dirty is None:
        reason = "Pulumi's history has no commit of git for the last `pulumi up` of the source"
    elif facts.dirty:
        reason = f"the last `pulumi up` of the source ran with changes that were not in the commit {facts.commit}"
    else:
        return None
    return reason, "commit all files, run `pulumi up` of the source in that commit, and promote that"


AGAIN = "run it again in the source's stack (`run`), and promote it when it has succeeded"
CHANGED = "the job of the source was changed in place after its end, so what is deployed there has not run"
WORDS = {
    "failed": "failed",
    "stopped": "been stopped",
    "succeeded in part": "succeeded in part only: its operator calls it complete, but some of its pods failed",
}
GATES: Mapping[GateName, tuple[Callable[[Promotion], bool], Gate]] = {
    "from": (lambda promotion: bool(promotion.sources), _from),
    "succeeded": (lambda promotion: promotion.succeeded, _succeeded),
    "digest": (lambda promotion: promotion.digest, _digest),
    "soak": (lambda promotion: promotion.soak is not None, _soak),
    "clean": (lambda promotion: promotion.clean, _clean),
}
"""Two functions for each gate: whether the environment sets it, and why it refuses. In the order of reports."""


def required_gates(promotion: Promotion) -> tuple[GateName, ...]:
    """Return the gates that the environment sets."""
    return tuple(gate for gate, (is_set, _) in GATES.items() if is_set(promotion))


def needs_release(promotion: Promotion) -> bool:
    """Return whether stacks of the environment must follow a release."""
    return bool(required_gates(promotion)) if promotion.required is None else promotion.required


def promote_command(experiment: str, stack: str, environment: Environment) -> str:
    """Return the command that promotes the experiment to the stack of the environment."""
    source = next(iter(environment.promotion.sources), "ENV")
    return f"trainform promote {experiment} --from {source} --to {stack}"


def judge(environment: Environment, facts: Facts, waivers: Sequence[GateWaiver] = ()) -> tuple[GateResult, ...]:
    """Return the result of each gate that is set. A waiver counts if the environment lets this person waive it."""
    waived = {waiver.gate: waiver for waiver in waivers}
    return tuple(
        _judge_gate(environment, facts, gate, waived.get(gate)) for gate in required_gates(environment.promotion)
    )


def _judge_gate(environment: Environment, facts: Facts, gate: GateName, waiver: GateWaiver | None) -> GateResult:
    _, refusal = GATES[gate]
    refused = refusal(environment.promotion, facts)
    if refused is None:
        return GateResult(gate, "passed")
    reason, fix = refused
    allowed = environment.promotion.waivable.get(gate, [])
    if waiver is None:
        more = f"; or {list_names(allowed)} may waive it: {OPTION} {gate} --reason …" if allowed else ""
        return GateResult(gate, "refused", reason, f"{fix}{more}")
    if names_of(waiver.by).isdisjoint(allowed):
        who = f"{list_names(allowed)} may waive it here, not {waiver.by}" if allowed else "it cannot be waived here"
        return GateResult(gate, "refused", f"{reason}, and {who}", fix)
    return GateResult(gate, "waived", reason, fix, waiver)


def names_of(person: str) -> set[str]:
    """Return the names by which a list may call `NAME <EMAIL>`: the whole, the name, the address."""
    name, _, rest = person.partition(" <")
    return {person, name, rest.removesuffix(">")} - {""}


def waiver_problems(waivers: Sequence[GateWaiver], environment: Environment) -> Iterator[Problem]:
    """Yield what is wrong with waivers, whoever writes them: an unknown gate, a gate that is not set, no reason."""
    for waiver in waivers:
        gate = next((name for name in GATES if name == waiver.gate), None)
        if gate is None:
            fix = did_you_mean(waiver.gate, NAMES) or f"known: {list_names(NAMES)}"
            yield Problem(OPTION, waiver.gate, "this is not a gate", fix)
        elif not GATES[gate][0](environment.promotion):
            reason = f"the environment {environment.name} does not set this gate"
            yield Problem(OPTION, waiver.gate, reason, "leave it out")
    for reason in dict.fromkeys(waiver.reason for waiver in waivers):
        yield from reason_problems(reason)


def reason_problems(reason: str) -> Iterator[Problem]:
    """Yield what is wrong with a reason, which stays in a release."""
    if not strip_invisible(reason).strip(" .…"):
        yield Problem(REASON, None, "no reason is given", "write why, for those who read the release")
    elif HALF.search(reason):
        yield Problem(REASON, None, "the reason is not UTF-8", "write it in UTF-8")
    elif secret_in(reason) is not None:
        yield Problem(REASON, None, "the reason holds what looks like a secret", "leave it out")
