"""The volumes of pods, and the mounts of their containers."""

from __future__ import annotations

from typing import Any

from trainform import defaults
from trainform.manifests.manifest import without_empty
from trainform.plan.launch.prepare import KEY_MOUNT
from trainform.plan.model import Checkout, Plan, RolePlan

# SSH refuses a private key that the group of its owner may read. For a user other than root the kubelet makes the file
# readable for the pod's fsGroup, but its owner is still root, and SSH checks only files that the user owns
# (sshkey_perm_ok).
PRIVATE = 0o400


def volume_mounts(plan: Plan, role: RolePlan) -> list[dict[str, Any]]:
    """The mounts of each container of the role's pods."""
    mounts = [
        without_empty(
            {
                "name": mount.volume,
                "mountPath": mount.path,
                "subPath": mount.sub_path,
                "readOnly": True if mount.read_only else None,
            }
        )
        for mount in role.mounts
    ]
    if role.shared_memory is not None:
        mounts.append({"name": defaults.SHARED_MEMORY_VOLUME, "mountPath": defaults.SHARED_MEMORY_MOUNT})
    mounts += [{"name": checkout.volume, "mountPath": checkout.git.path} for checkout in role.checkouts]
    if needs_files(role):
        mounts.append({"name": defaults.LAUNCH_VOLUME, "mountPath": defaults.LAUNCH_MOUNT, "readOnly": True})
    if needs_hostfile(plan, role):
        mounts.append({"name": defaults.HOSTFILE, "mountPath": defaults.DEEPSPEED_MOUNT, "readOnly": True})
    if role.ssh and plan.ssh is not None:
        mounts.append({"name": defaults.SSH_VOLUME, "mountPath": plan.ssh.folder, "readOnly": True})
    return mounts


def key_mounts(role: RolePlan) -> dict[str, list[dict[str, Any]]]:
    """The mounts of private keys for checkouts, by the name of the only init container that gets them: the one that
    makes the checkout."""
    mounts: dict[str, list[dict[str, Any]]] = {}
    for checkout in role.checkouts:
        if checkout.git.key is not None:
            mount = {"name": _key_volume(checkout), "mountPath": f"{KEY_MOUNT}/{checkout.step}", "readOnly": True}
            mounts.setdefault(checkout.step, []).append(mount)
    return mounts


def needs_files(role: RolePlan) -> bool:
    """True if the pods mount the launch files, since one of them starts the pods, keeps them running or runs in a step
    before."""
    return role.launched or role.stays or bool(role.checkouts or role.in_first_pod)


def needs_hostfile(plan: Plan, role: RolePlan) -> bool:
    """True if the pods mount the hostfile at DeepSpeed's default path, so that its launcher, also in a user's shell,
    needs no option."""
    return plan.launcher == "deepspeed" and role.launched


def _key_volume(checkout: Checkout) -> str:
    return f"key-{checkout.volume}"  # no name of a step gives a checkout this volume name


def volumes(plan: Plan, role: RolePlan) -> list[dict[str, Any]]:
    """The volumes of the role's pods."""
    found: list[dict[str, Any]] = [
        {"name": mount.volume, "persistentVolumeClaim": {"claimName": mount.claim}} for mount in role.mounts
    ]
    if role.shared_memory is not None:
        found.append(
            {"name": defaults.SHARED_MEMORY_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": role.shared_memory}}
        )
    found += [{"name": checkout.volume, "emptyDir": {}} for checkout in role.checkouts]
    found += [
        {"name": _key_volume(checkout), "secret": {"secretName": checkout.git.key.name, "defaultMode": PRIVATE}}
        for checkout in role.checkouts
        if checkout.git.key is not None
    ]
    if needs_files(role):
        files = {"name": plan.launch_files, "defaultMode": 0o555}
        found.append({"name": defaults.LAUNCH_VOLUME, "configMap": files})
        if needs_hostfile(plan, role):
            item = {"key": defaults.HOSTFILE, "path": defaults.HOSTFILE}
            found.append({"name": defaults.HOSTFILE, "configMap": {**files, "defaultMode": 0o444, "items": [item]}})
    if role.ssh and plan.ssh is not None:
        found.append({"name": defaults.SSH_VOLUME, "secret": {"secretName": plan.ssh.secret, "defaultMode": PRIVATE}})
    return found
