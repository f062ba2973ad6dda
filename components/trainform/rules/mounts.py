"""Mounts of volumes and checkouts: each at its own path, and none over a folder that processes need."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from trainform import defaults
from trainform.errors import Problem
from trainform.manifests.pods import needs_files
from trainform.plan.model import Plan, RolePlan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.names import END
from trainform.spec.storage import ONE_POD

OWN_VOLUMES = (defaults.SHARED_MEMORY_VOLUME, defaults.LAUNCH_VOLUME, defaults.SSH_VOLUME, defaults.HOSTFILE)


def mount_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield the problems of the paths of volumes and checkouts, and of the names of volumes."""
    steps = {step.name: index for index, step in enumerate(experiment.prepare)}
    for role in plan.roles:
        files = _own_files(plan, role)
        paths = dict(files)
        if role.shared_memory is not None:
            paths[defaults.SHARED_MEMORY_MOUNT] = "shared_memory"
        mounted = [
            (f"prepare[{steps[each.step]}].git.path", each.git.path, f"the step {each.step}") for each in role.checkouts
        ]
        mounted += [(f"storage.{mount.volume}.mount", mount.path, f"storage.{mount.volume}") for mount in role.mounts]
        for where, path, owner in mounted:
            if path.rstrip("/") in paths:
                reason = f"the path is the mount of {paths[path.rstrip('/')]} too (role {role.name})"
                yield Problem(where, path, reason, "choose another path, or limit one to other roles")
            yield from _inside(where, path, files, role)
            paths.setdefault(path.rstrip("/"), owner)
        claims: dict[str, str] = {}
        for mount in role.mounts:
            if mount.claim in claims:
                reason = f"the volume mounts a claim that {claims[mount.claim]} mounts already (role {role.name})"
                fix = "mount it once, at a folder above both paths"
                yield Problem(f"storage.{mount.volume}", mount.claim, reason, fix)
            claims.setdefault(mount.claim, f"storage.{mount.volume}")
    taken = {checkout.volume for role in plan.roles for checkout in role.checkouts}
    for key in experiment.storage:
        if key in OWN_VOLUMES or key.removeprefix("key-") in taken:
            yield Problem(f"storage.{key}", None, "the name is one that trainform uses itself", "choose another name")
    yield from _system_paths(experiment)
    yield from _single_pod_claims(plan)


def _single_pod_claims(plan: Plan) -> Iterator[Problem]:
    """Yield claims that only one pod can mount, but that several pods mount."""
    mounting: dict[str, int] = {}
    for role in plan.roles:
        for mount in role.mounts:
            mounting[mount.claim] = mounting.get(mount.claim, 0) + role.replicas
    for claim in plan.claims:
        pods = mounting.get(claim.name, 0)
        if ONE_POD in claim.request.access_modes and pods > 1:
            reason = f"one pod at a time mounts such a claim, and {pods} pods are to: the others would never start"
            fix = "write `[ReadWriteMany]`, or limit the volume by `roles` to one pod"
            yield Problem(f"storage.{claim.key}.access_modes", ONE_POD, reason, fix)


def _own_files(plan: Plan, role: RolePlan) -> dict[str, str]:
    """Return the read-only folders of the pod with files of trainform, each with its content."""
    folders = {}
    if needs_files(role):
        folders[defaults.LAUNCH_MOUNT] = "the launch script"
    if role.ssh and plan.ssh is not None:
        folders[plan.ssh.folder] = "the SSH identity"
    if role.launched and plan.launcher == "deepspeed":
        folders[defaults.DEEPSPEED_MOUNT] = "DeepSpeed's hostfile"
    return folders


def _inside(where: str, path: str, files: Mapping[str, str], role: RolePlan) -> Iterator[Problem]:
    for folder, what in files.items():
        if is_inside(path, folder):
            reason = (
                f"the path is inside {folder}, which holds {what} and is read-only: no container of the role "
                f"{role.name} would start"
            )
            yield Problem(where, path, reason, "choose a folder of your own, such as /mnt/data")


def _system_paths(experiment: Experiment) -> Iterator[Problem]:
    mounts = {f"storage.{key}.mount": volume.mount for key, volume in experiment.storage.items()}
    mounts |= {
        f"prepare[{index}].git.path": step.git.path
        for index, step in enumerate(experiment.prepare)
        if step.git is not None
    }
    for field, mount in mounts.items():
        if hides_system(mount):
            yield Problem(field, mount, *HIDES)


# Folders of images that a volume may not hide: without them no program starts. A volume may be inside /dev and /etc,
# but not inside the kernel's folders.
SYSTEM_FOLDERS = frozenset(
    {
        *("", "/dev", "/etc", "/proc", "/sys", "/usr"),
        *(
            f"{above}/{folder}"
            for above in ("", "/usr")
            for folder in ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
        ),
    }
)
KERNEL_FOLDERS = ("/proc/", "/sys/")
_LIBRARIES = re.compile(rf"(/usr)?/lib/[a-z0-9_]+-linux-[a-z0-9]+{END}")  # of one architecture, in Debian

HIDES = (
    "the mount would hide a folder of the system that every process needs",
    "choose a folder of your own, such as /mnt/data",
)
"""Reason and fix for a mount that hides such a folder."""


def normalized(path: str) -> str:
    """Return the normal path of a folder in a container, without `/` at its end; "" for the root."""
    return f"/{posixpath.normpath(f'/{path}').strip('/')}".rstrip("/")


def hides_system(path: str) -> bool:
    """Return True if a mount at the path would hide a folder that every process needs."""
    folder = normalized(path)
    return folder in SYSTEM_FOLDERS or folder.startswith(KERNEL_FOLDERS) or _LIBRARIES.match(folder) is not None


def is_inside(path: str, folder: str) -> bool:
    """Return True if the path is below the folder."""
    return normalized(path).startswith(f"{normalized(folder)}/")
