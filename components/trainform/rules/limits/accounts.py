"""The service accounts of pods, with whose rights their processes speak to the API server."""

from __future__ import annotations

from collections.abc import Iterator

from trainform.errors import list_names
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment

FIELDS = ("serviceAccountName", "serviceAccount")
"""The second one is deprecated, and counts where the first one is empty."""
DEFAULT_ACCOUNT = "default"
FIX = "remove it, or ask the platform team for limits.service_accounts"


def service_accounts(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Service accounts that the environment does not allow. Pods may always name none, or `default`."""
    allowed = [DEFAULT_ACCOUNT, *environment.limits.service_accounts]
    for template in judged.templates:
        field = next((field for field in FIELDS if template.spec.get(field)), None)
        if field is not None and template.spec[field] not in allowed:
            listed = list_names(dict.fromkeys(allowed))
            reason = f"the environment {environment.name} does not allow this service account (allowed: {listed})"
            yield Finding(f"spec.{field}", template.spec[field], reason, FIX, template)
