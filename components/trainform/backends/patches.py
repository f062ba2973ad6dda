"""The user's merge patches: they are applied here, and looked at by rules that only an experiment with patches needs to import."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import structs

from trainform.backends.backend import Backend
from trainform.errors import Problem
from trainform.manifests.manifest import Manifest, override_key
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.merge_patch import merge_patch


def check_patches(
    plan: Plan, backend: Backend, rendered: list[Manifest], render: Callable[[Plan], list[Manifest]]
) -> tuple[list[Problem], list[Problem], Plan]:
    """What the server refuses, and what changes objects that the plan decides: as `patch_rules.checked`."""
    if not plan.overrides:
        return [], [], plan
    from trainform.backends import patch_rules

    return patch_rules.checked(plan, backend, rendered, render)


def pod_problems(
    plan: Plan, backend: Backend, render: Callable[[Plan], list[Manifest]], environment: Environment
) -> list[Problem]:
    """What would make other pods than the planned ones: as `patched_pods.problems`."""
    if not plan.overrides:
        return []
    from trainform.backends import patched_pods

    return patched_pods.problems(plan, backend, render, environment)


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
