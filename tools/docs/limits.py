"""`docs/reference/limits.md`: the rules of an environment's limits, generated from their table."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from tools.docs.limit_examples import EXAMPLES
from tools.docs.markdown import item, page, paragraph
from trainform.rules.limits.rule import Rule
from trainform.rules.limits.table import RULES

INTRODUCTION = """\
Written by `make golden` from the table in `components/trainform/rules/limits`.

The rules judge what is rendered, with all merge patches: whatever a field, `pod_overrides` or `manifest_overrides` \
makes of a pod is \
judged in the same way. `trainform check`, `pulumi preview` and `pulumi up` apply them to experiments and, as \
`trainform check -e ENV`, \
to the objects of an environment's own stack. What a rule allows stands in [`limits` of the \
environment](environment.md#limits).

The rules do not see variables that pods take from a ConfigMap or Secret. What other programs make is for \
admission in \
the cluster: [what the policy pack does not cover](../how-to/policy-pack.md#what-it-does-not-cover)."""

SEVERITIES = """\
The environment chooses how much a finding counts: `limits: {severity: {TF-IMG-2: warning}}`. An `error` stops `check` \
and `up`, a \
`warning` is a note of `check` and `plan` and a warning of a preview, and `off` looks for nothing. A rule that is \
`error, always` can \
neither be lowered nor waived."""

WAIVERS = """\
An experiment may have a finding in spite of its rule if the environment names those who may agree to it:

`limits: {waivable: {TF-COST-1: [team-lead]}}`

`trainform check` then ends the fix of such a finding with the waiver, in which the reason and the last day are still \
to be written. It \
goes to the experiment's `waivers`:

`- {rule: TF-COST-1, finding: "1a2b3c4d5e6f7081", reason: "a deadline", owner: "team-lead", until: 2026-12-31}`

A waiver is for one finding. It is bound to the rule, the place and the value by the fingerprint, which stays the same \
in another \
revision or run, and whatever else changes in the experiment. Another value is another finding. After the last day the \
finding counts \
again, and says so; the day is that of UTC. The last day may be as far away as `limits.longest_waiver` says. A waiver \
without its finding is a note. A waiver changes no object and no revision: who \
may write `owner` is for a review of the file to see.

Findings of a review can be waived in the same way: [Agree to a finding](../how-to/agree-to-a-finding.md)."""


def limits_page() -> str:
    """Markdown: every rule with an example that breaks it."""
    return page(
        "# Limits",
        *map(paragraph, INTRODUCTION.split("\n\n")),
        "\n".join(item(f"[{rule.code}](#{rule.code.lower()}) ({_severity(rule)}): {rule.title}") for rule in RULES),
        "## Severities",
        paragraph(SEVERITIES),
        "## Waivers",
        *map(paragraph, WAIVERS.split("\n\n")),
        "## The rules",
        *(block for rule in RULES for block in _section(rule)),
    )


def _severity(rule: Rule) -> str:
    return f"{rule.severity}, always" if rule.fixed else rule.severity


def _section(rule: Rule) -> Iterator[str]:
    """The section of a rule: what it reads, an example, and what the check prints."""
    yield f"### {rule.code}"
    fields = ", ".join(f"`limits.{field}`" for field in rule.limits)
    read = f"Read from the environment: {fields}." if fields else ""
    yield paragraph(f"{rule.title} Severity: {_severity(rule)}. {read}".strip())
    example = EXAMPLES[rule.code]
    yield _indented(_as_yaml(example.written))
    if example.limits != "{}":
        yield "In an environment with"
        yield _indented(_as_yaml(f"limits: {{{example.limits}}}"))
    yield "`trainform check` says:"
    yield _indented("\n".join(example.problem(rule.code).lines()))


def _as_yaml(written: str) -> str:
    return yaml.safe_dump(yaml.safe_load(written), sort_keys=False).removesuffix("\n")


def _indented(text: str) -> str:
    """A block of code whose lines are as short as those of a paragraph."""
    shown = []
    for line in text.split("\n"):
        margin = " " * (len(line) - len(line.lstrip()) + 4)
        shown.append(paragraph(line.strip(), margin, f"{margin}  "))
    return "\n".join(shown)
