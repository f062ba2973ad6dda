"""The service accounts of pods, with whose rights their processes speak to the API server."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.errors import list_names
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment

FIELDS = (
    "serviceAccountName",
    "serviceAccount",
)  # the second one is deprecated, and counts where the first one is empty
DEFAULT_ACCOUNT = "default"


def service_accounts(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Service accounts that the environment does not allow. Pods that name none have `default`."""
    allowed = environment.limits.service_accounts
    for template in judged.templates if allowed is not None else ():
        field = next((field for field in FIELDS if template.spec.get(field)), FIELDS[0])
        name = template.spec.get(field) or DEFAULT_ACCOUNT
        if allowed is not None and name not in allowed:
            listed = list_names(allowed) if allowed else "none"
            reason = f"the environment {environment.name} does not allow this service account (allowed: {listed})"
            fix = "write another `service_account`, or ask the platform team for limits.service_accounts"
            yield Finding(f"spec.{field}", name, reason, fix, template)
