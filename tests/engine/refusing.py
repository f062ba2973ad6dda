"""A cluster that refuses at `pulumi up` what it accepts in dry runs: an admission policy that came, or a quota that was
used up, meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.engine.live import Live, until

LABEL = {"example.com/training": "forbidden"}
REASON = "the platform team does not allow this training"


@contextmanager
def refusing(live: Live, namespace: str, *, dry_runs: bool = False) -> Iterator[None]:
    """While it is open the API server refuses to make objects with the label in the namespace, in dry runs only where
    `dry_runs` says so."""
    allowed = "false" if dry_runs else "has(request.dryRun) && request.dryRun"
    group = "admissionregistration.k8s.io/v1"
    anything = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"], "operations": ["CREATE"]}
    where = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    policy = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": namespace},
        "spec": {
            "matchConstraints": {"resourceRules": [anything], "objectSelector": {"matchLabels": LABEL}},
            "validations": [{"expression": allowed, "message": REASON}],
        },
    }
    binding = {
        "apiVersion": group,
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": namespace},
        "spec": {
            "policyName": namespace,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": where},
        },
    }
    for body in (policy, binding):
        live.make(body)
    try:
        until(lambda: _refuses(live, namespace), "the policy to hold")
        yield
    finally:
        for body in (binding, policy):
            live.remove(body)
    until(lambda: not _refuses(live, namespace), "the policy to be gone")


def _refuses(live: Live, namespace: str) -> bool:
    """The server learns of policies a moment after they were made."""
    metadata: dict[str, Any] = {"name": "probe", "labels": LABEL}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
    made = live.request("POST", live.path("configmaps", namespace), body).status_code == 201
    live.delete("configmaps", "probe", namespace)
    return not made
