"""Patches of security contexts with which SSH between the pods of a job does not work.

The files of its Secret belong to root, with mode 0400 (`manifests.volumes.PRIVATE`). With an `fsGroup` the kubelet lets that group read them: a user
other than root needs it, and root's own ssh ignores a key that its group may read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from trainform import defaults
from trainform.errors import Problem
from trainform.manifests.shapes import mapping, mappings
from trainform.manifests.templates import Template
from trainform.plan.model import Plan, RolePlan
from trainform.rules.limits.origins import in_patch, patch_of

ROOT = 0
_FIX = "remove it; choose the user of all pods by `run_as: {user: …, home: …}`"
_OF_SESSIONS = ("SETGID", "SETUID", "SYS_CHROOT")


def ssh_user_problems(plan: Plan, templates: Iterable[Template]) -> Iterator[Problem]:
    """A problem for each user and group of a patch that cannot read the keys, or whose ssh does not use them. templates: with the patches."""
    found: dict[str, Problem] = {}
    user = ROOT if plan.run_as is None else plan.run_as.user
    for template, role in _patched(plan, templates):
        pod = mapping(template.spec.get("securityContext"))
        group = pod.get("fsGroup")
        if user == ROOT and group is not None:
            reason = f"the group {group} may then read the pod's SSH keys, and root's ssh uses no key that its group may read"
            _add(found, plan, role, "spec.securityContext.fsGroup", group, reason)
        if user != ROOT and group is None:
            reason = f"without it user {user} cannot read the pod's SSH keys, which belong to root"
            _add(found, plan, role, "spec.securityContext.fsGroup", None, reason)
        for place, container in _with_keys(template):
            own = mapping(container.get("securityContext"))
            where, context = (place, own) if own.get("runAsUser") is not None else ("spec", pod)
            other = context.get("runAsUser")
            if other is not None and other != user:
                reason = (
                    f"the pod's SSH keys are there for {_named(user)}, and ssh and sshd of user {other} cannot use them"
                )
                _add(found, plan, role, f"{where}.securityContext.runAsUser", other, reason)
    yield from found.values()


def ssh_user_notes(plan: Plan, templates: Iterable[Template]) -> Iterator[str]:
    """A note for each role whose sshd runs as root without what it needs of root for a session."""
    found: dict[str, None] = {}
    if plan.run_as is not None and plan.run_as.user != ROOT:
        return
    for template, role in _patched(plan, templates):
        for place, container in _with_keys(template):
            capabilities = mapping(mapping(container.get("securityContext")).get("capabilities"))
            dropped, added = (_names(capabilities.get(field)) for field in ("drop", "add"))
            lost = [name for name in _OF_SESSIONS if {name, "ALL"} & dropped and not {name, "ALL"} & added]
            if lost:
                found[
                    f"role {role.name} ({place}): root's sshd needs {', '.join(lost)} for a session, and the patch drops them, so no other pod may get in; "
                    f"write `add: [{', '.join(lost)}]` beside, or `run_as` with a user other than root"
                ] = None
    yield from found


def _patched(plan: Plan, templates: Iterable[Template]) -> Iterator[tuple[Template, RolePlan]]:
    """The pods with keys, where a patch may have changed them; those of a runtime of somebody else have rules of their own."""
    for template in templates if plan.overrides and plan.ssh is not None and plan.runtime is None else ():
        role = plan.by_name.get(template.role)
        if role is not None and role.ssh:
            yield template, role


def _with_keys(template: Template) -> Iterator[tuple[str, dict[str, Any]]]:
    for place, container in template.named_containers():
        names = {mount.get("name") for mount in mappings(container.get("volumeMounts"))}
        if place.startswith("spec.containers.") and defaults.SSH_VOLUME in names:
            yield place, container


def _names(given: object) -> set[str]:
    return {str(name) for name in given} if isinstance(given, list) else set()


def _named(user: int) -> str:
    return "root" if user == ROOT else f"user {user}"


def _add(found: dict[str, Problem], plan: Plan, role: RolePlan, place: str, value: object, reason: str) -> None:
    path = f"{patch_of(role, plan)}.{in_patch(place, role)}"
    found.setdefault(path, Problem(path, value, reason, _FIX))
