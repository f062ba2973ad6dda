"""Waivers: findings of the environment's rules that are accepted for a time, with a reason."""

import datetime
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from trainform.console.escaping import strip_invisible
from trainform.spec.base_model import Model, NonEmpty
from trainform.spec.limits import RuleCode
from trainform.spec.metadata import OnChange
from trainform.spec.names import FINGERPRINT
from trainform.spec.refusal import refusal


def _written(reason: str) -> str:
    """Return the reason. Refuses the ellipsis of the waiver that `trainform check` offers, and invisible text."""
    if not strip_invisible(reason).strip(" .…"):
        raise refusal("the waiver gives no reason", "write why the finding is accepted")
    return reason


class Waiver(Model, on_change=OnChange.NO_OBJECT):
    """One finding that is accepted. It ends when the finding changes, or after its last day."""

    rule: RuleCode = Field(description="Code of the rule, which the environment's `limits.waivable` names.")
    finding: Annotated[str, StringConstraints(pattern=FINGERPRINT)] = Field(
        description="Fingerprint of the finding, from `trainform check` or `trainform review`."
    )
    reason: Annotated[NonEmpty, AfterValidator(_written)] = Field(description="Why the finding is accepted.")
    owner: NonEmpty = Field(description="Owner of the waiver, whom `limits.waivable` names for the rule.")
    until: datetime.date = Field(description="Last day on which it holds (2026-12-31).")
