"""What findings mean for each verb."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trainform.cli.main import VERBS as COMMANDS
from trainform.doctor.checks import CHECKS
from trainform.doctor.model import VERBS, Check, Finding, State, Verdict, fixes, verdicts

NAMES = [check.name for check in CHECKS]
FINDINGS = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(State).map(lambda state: Finding(state, "found", "mend it")) for name in NAMES}
)


def found(**states: State) -> dict[str, Finding]:
    return {name: Finding(state, "found") for name, state in states.items()}


def of(verb: str, **states: State) -> Verdict:
    return next(verdict for verdict in verdicts(CHECKS, found(**states)) if verdict.verb == verb)


def test_every_command_has_a_verdict() -> None:
    assert set(COMMANDS) - {"doctor", "completion"} <= set(VERBS)
    assert [verdict.verb for verdict in verdicts(CHECKS, {})] == list(VERBS)


def test_a_check_is_made_after_those_it_builds_upon() -> None:
    """Else two of them would wait for each other."""
    assert len(NAMES) == len(set(NAMES))
    for place, check in enumerate(CHECKS):
        assert {*check.needs, *check.after} <= set(NAMES[:place]), check.name
        assert set(check.verbs) <= set(VERBS), check.name


def test_files_need_nothing() -> None:
    needed = {verb for check in CHECKS for verb in check.verbs}
    assert set(VERBS) - needed == {"init", "new", "check", "plan", "render", "schema"}


def test_each_verb_has_needs_of_its_own() -> None:
    assert of("rehearse", docker=State.MISSING, cluster=State.MISSING, tool_chain=State.MISSING).missing == ("docker",)
    assert of("sandbox", docker=State.MISSING, cluster=State.MISSING, tool_chain=State.MISSING).missing == (
        "tool_chain",
    )
    assert of("up", docker=State.MISSING, cluster=State.MISSING, rights=State.UNKNOWN) == Verdict(
        "up", ("cluster",), ("rights",)
    )
    assert of("preview", rights=State.MISSING).ready
    assert of("review", rights=State.MISSING).ready
    assert of("review", pulumi=State.MISSING, cluster=State.UNKNOWN) == Verdict("review", ("pulumi",), ("cluster",))
    assert not of("up", rights=State.MISSING).ready
    assert of("up", environment_rights=State.MISSING).ready
    assert not of("environment", environment_rights=State.MISSING).ready


def test_a_review_needs_what_its_preview_needs() -> None:
    of_verb = {verb: [check.name for check in CHECKS if verb in check.verbs] for verb in ("preview", "review")}
    assert of_verb["review"] == of_verb["preview"]


def test_what_could_not_be_looked_at_is_not_missing() -> None:
    verdict = of("up", rights=State.UNKNOWN, pip=State.NOTE, cluster=State.OK)
    assert (verdict.ready, verdict.unknown) == (True, ("rights",))


@given(FINDINGS)
def test_a_verb_is_ready_where_nothing_that_it_needs_is_missing(findings: dict[str, Finding]) -> None:
    missing = {name for name, finding in findings.items() if finding.state is State.MISSING}
    for verdict in verdicts(CHECKS, findings):
        needed = {check.name for check in CHECKS if verdict.verb in check.verbs}
        assert verdict.ready == (not needed & missing)
        assert set(verdict.missing) == needed & missing


@given(FINDINGS)
def test_what_is_right_is_not_mended(findings: dict[str, Finding]) -> None:
    wanting = {name for name, finding in findings.items() if finding.state in (State.MISSING, State.NOTE)}
    assert set(fixes(CHECKS, findings)) == wanting


def test_nothing_to_type_is_not_shown() -> None:
    check = Check("python", lambda request, findings: Finding(State.OK, ""))
    assert fixes([check], {"python": Finding(State.MISSING, "none", "")}) == {}
