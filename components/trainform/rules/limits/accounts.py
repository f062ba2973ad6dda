"""The service accounts of pods, with whose rights their processes speak to the API server."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.errors import list_names
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding, Raw
from trainform.spec.environment import Environment

FIELDS = (
    "serviceAccountName",
    "serviceAccount",
)  # the second one is deprecated, and counts where the first one is empty
DEFAULT_ACCOUNT = "default"
MADE = "made by the operator"
RAW_FIX = "use another one, or ask the platform team for limits.service_accounts"


def service_accounts(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Service accounts that the environment does not allow. Pods that name none have the one that their operator makes for them, or `default`."""
    allowed = environment.limits.service_accounts
    for template in judged.templates if allowed is not None else ():
        field = next((field for field in FIELDS if template.spec.get(field)), FIELDS[0])
        given = template.spec.get(field)
        name = given or template.account or DEFAULT_ACCOUNT
        if allowed is not None and name not in allowed:
            listed = list_names(allowed) if allowed else "none"
            reason = f"the environment {environment.name} does not allow this service account (allowed: {listed})"
            fix = "write another `service_account`, or ask the platform team for limits.service_accounts"
            if name == template.account:
                reason = f"the operator makes this service account for pods that name none; {reason}"
            # its name changes with the revision
            bound = MADE if template.account and not given else None
            where = f"spec.{field}"
            yield Finding(where, name, reason, fix, template, bound=bound, raw=Raw(where, RAW_FIX))
