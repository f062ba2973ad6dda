"""Findings of the policy packs of a preview."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from trainform.console.secrets import masked_lines
from trainform.console.sections import sentence
from trainform.review.kinds import fingerprint
from trainform.review.limits import LIMIT_SAYS
from trainform.review.model import Category, Finding
from trainform.review.preview import PolicyResult, Preview
from trainform.rules.limits.table import BY_CODE

LEVELS = {"mandatory": "high", "advisory": "medium", "remediate": "low"}
"""A mandatory policy stops `pulumi up`."""
_FINGERPRINT = re.compile(r"finding ([0-9a-f]{16})\)$")


def policy_findings(preview: Preview) -> Iterator[Finding]:
    """Yield a finding for each result of a policy that counts."""
    yield from (_finding(result) for result in preview.policies if result.level != "disabled")


def packs_of(preview: Preview) -> tuple[str, ...]:
    """Return the names of the policy packs that ran, where the preview has them."""
    return tuple(sorted({*(preview.packs or ()), *(result.pack for result in preview.policies)} - {""}))


def refusal(results: Iterable[PolicyResult]) -> str:
    """Return the message of the first policy that stops the change, with its name; "" if none does."""
    stopping = next((result for result in results if LEVELS.get(result.level) == "high"), None)
    if stopping is None:
        return ""
    said = " ".join(stopping.text.split())
    return f"the policy {stopping.policy} refuses {stopping.urn.rpartition('::')[2]}: {said}"


def _finding(result: PolicyResult) -> Finding:
    text = masked_lines(result.text.strip())
    rule = BY_CODE.get(result.policy)
    own = _FINGERPRINT.search(text) if rule is not None else None
    pack, level = f"the policy pack {result.pack}" if result.pack else "a policy pack", result.level or "no level"
    return Finding.model_validate({
        "code": result.policy,
        "category": Category.limits,
        "level": LEVELS.get(result.level, "medium"),
        "object": result.urn.rpartition("::")[2],
        "title": sentence(text),
        "why": f"It is a rule of {pack} ({level})." if rule is None else LIMIT_SAYS.format(rule.title),
        "fix": "Change what the policy names, or ask those who own the policy pack.",
        "fingerprint": fingerprint(result.policy, result.urn, "", None, text) if own is None else own[1],
    })  # fmt: skip
