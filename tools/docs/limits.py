"""`docs/reference/limits.md`: the rules of an environment's limits, generated from their table."""

from __future__ import annotations

from tools.docs.markdown import page, paragraph, table
from trainform.rules.limits.rule import Rule
from trainform.rules.limits.table import RULES

INTRODUCTION = """\
Written by `make golden` from the table in `components/trainform/rules/limits`.

The rules judge rendered objects, with all merge patches. `trainform check`, `pulumi preview` and `pulumi up` apply \
them to experiments and to an environment's own stack. The rules do not see variables from a ConfigMap or Secret, nor \
[objects of other programs](../how-to/policy-pack.md#what-it-does-not-cover)."""

ALLOW = """\
`allowed by` names the fields of [`limits` in the environment](environment.md#limits) that open a rule for all \
experiments. A severity also lowers a rule for all, and a waiver accepts one finding; neither works for a rule that is \
`always` an error."""

SEVERITIES = """\
`limits: {severity: {TF-IMG-2: warning}}` in the environment changes the severity of a rule. An `error` stops `check` \
and `up`. A `warning` is a note of `check` and `plan`, and a warning of a preview. `off` turns the rule off."""

WAIVERS = """\
The environment names who may own waivers of a rule: `limits: {waivable: {TF-COST-1: [team-lead]}}`. `trainform check` \
then prints the waiver of a finding, for the experiment's `waivers`. Add a reason and the last day (in UTC, at most \
`limits.longest_waiver` away):

`- {rule: TF-COST-1, finding: "1a2b3c4d5e6f7081", reason: "a deadline", owner: "team-lead", until: 2026-12-31}`

A waiver is bound to rule, place and value: another value is another finding. A waiver without its finding is a note. \
It changes no object and no revision, and whoever reviews the file checks the owner. Findings of a review are waived \
in [the same way](../how-to/agree-to-a-finding.md)."""


def limits_page() -> str:
    """Return the page with a row for every rule."""
    return page(
        "# Limits",
        *map(paragraph, INTRODUCTION.split("\n\n")),
        paragraph(ALLOW),
        table(("code", "rule", "severity", "allowed by"), map(_row, RULES)),
        "## Severities",
        paragraph(SEVERITIES),
        "## Waivers",
        *map(paragraph, WAIVERS.split("\n\n")),
    )


def _row(rule: Rule) -> tuple[str, str, str, str]:
    fields = ", ".join(f"`{field}`" for field in rule.limits)
    return rule.code, rule.title, f"{rule.severity}, always" if rule.fixed else rule.severity, fields
