"""Folders of containers at which an operator mounts files of its own. The API server takes no pod with two mounts at one path, and Trainer replaces
the other one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainform.backends.backend import Backend
from trainform.errors import Problem
from trainform.manifests.shapes import mappings
from trainform.manifests.templates import Template
from trainform.plan.model import Plan, RolePlan
from trainform.rules.limits.origins import in_patch, patch_of
from trainform.spec.experiment import Experiment


def own_mount_problems(
    experiment: Experiment, plan: Plan, backend: Backend, templates: Iterable[Template]
) -> Iterator[Problem]:
    """A problem for each volume, checkout and patch that mounts something at such a folder. templates: those with the user's patches."""
    folders = backend.own_mounts(plan)
    found: dict[str, Problem] = {}
    for template in templates if folders else ():
        role = plan.by_name.get(template.role)
        if role is None:
            continue  # a template of somebody else
        for place, container in template.named_containers():
            for mount in mappings(container.get("volumeMounts")):
                path = mount.get("mountPath")
                if isinstance(path, str) and path.rstrip("/") in folders.get(role.name, ()):
                    where = _field(f"{place}.volumeMounts", str(mount.get("name")), role, plan, experiment)
                    reason = "the operator mounts its own files at this path"
                    found.setdefault(where, Problem(where, path, reason, "choose another path"))
    yield from found.values()


def _field(place: str, volume: str, role: RolePlan, plan: Plan, experiment: Experiment) -> str:
    """The user's field from which the mount of this volume comes."""
    if any(mount.volume == volume for mount in role.mounts):
        return f"storage.{volume}.mount"
    steps = [step.name for step in experiment.prepare]
    for checkout in role.checkouts:
        if checkout.volume == volume:
            return f"prepare[{steps.index(checkout.step)}].git.path"
    patch = patch_of(role, plan)
    return f"{patch}.{in_patch(f'{place}.{volume}', role)}" if role.overrides else patch
