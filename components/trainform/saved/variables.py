"""The variables of the shell by which Pulumi's Kubernetes provider writes and deletes objects otherwise. No preview shows them.

With PULUMI_K8S_ENABLE_PATCH_FORCE it takes fields from other managers, without a conflict; with PULUMI_K8S_ENABLE_SERVER_SIDE_APPLY=false it has
another manager, and overwrites what others have.
"""

from __future__ import annotations

from collections.abc import Mapping

OF_PROVIDER = ("PULUMI_K8S_", "PULUMI_KUBERNETES_")
WITHOUT_EFFECT = ("PULUMI_K8S_CLIENT_", "PULUMI_K8S_SUPPRESS_", "PULUMI_K8S_HELM_")
"""How fast it asks, what it warns of, and where Helm keeps its files."""


def provider_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables with their values, by name."""
    names = sorted(name for name in environ if name.startswith(OF_PROVIDER) and not name.startswith(WITHOUT_EFFECT))
    return {name: environ[name] for name in names}
