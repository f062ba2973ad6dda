"""The user's merge patches: they are applied here. Their rules are imported only for an experiment with patches."""

from __future__ import annotations

from msgspec import structs

from trainform.manifests.manifest import Manifest, override_key
from trainform.plan.model import Plan
from trainform.spec.merge_patch import merge_patch


def override_paths(plan: Plan, manifest: Manifest) -> list[str]:
    """Paths of the user's fields whose merge patches are in the object. Patches of roles are in the job object."""
    key = override_key(manifest)
    roles = [f"roles.{role.name}.pod_overrides" for role in plan.roles if role.overrides] if key == "job" else []
    return [*roles, *([f"manifest_overrides.{key}"] if key in plan.manifest_overrides else [])]


def patched(plan: Plan, manifest: Manifest) -> Manifest:
    """The object with the user's merge patch applied."""
    patch = plan.manifest_overrides.get(override_key(manifest))
    if patch is None:
        return manifest
    return structs.replace(manifest, body=merge_patch(manifest.body, patch))
