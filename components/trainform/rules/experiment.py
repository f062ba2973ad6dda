"""Rules on an experiment in its environment: names that are unknown, too long or taken twice.

`rules.limits` has the environment's limits; what only one operator cannot do, its backend refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trainform import defaults
from trainform.errors import Problem
from trainform.plan.model import Plan, group_name
from trainform.plan.variables import RESERVED_PREFIX
from trainform.rules.launchers import (
    accelerate_problems,
    restart_problems,
    ssh_launcher_problems,
    tensorflow_problems,
)
from trainform.rules.metadata import metadata_problems
from trainform.rules.network import address_problems, port_problems, prepare_problems, ssh_problems
from trainform.rules.quantities import resource_problems
from trainform.rules.queues import job_queue_problems
from trainform.rules.references import reference_problems
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.names import LABEL_MAX, REPOSITORY_MAX, is_too_long

# Folders that a volume may not hide; inside /dev and /etc there is room for one, inside the kernel's own there is none.
SYSTEM_FOLDERS = ("", "/dev", "/etc", "/proc", "/sys")
OWN_VOLUMES = (defaults.SHARED_MEMORY_VOLUME, defaults.LAUNCH_VOLUME, defaults.SSH_VOLUME, defaults.HOSTFILE)
KERNEL_FOLDERS = ("/proc/", "/sys/")

Rule = Callable[[Experiment, Environment, Plan], Iterator[Problem]]


def plan_problems(experiment: Experiment, environment: Environment, plan: Plan) -> list[Problem]:
    """Every problem of the experiment in this environment."""
    return [problem for rule in RULES for problem in rule(experiment, environment, plan)]


def _names(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """The longest pod name becomes a hostname, so it must fit a DNS label; the other derived names are shorter or may be longer."""
    elastic = experiment.launcher.elastic
    for role in plan.roles:
        most = role.replicas if elastic is None or not role.ranked else max(role.replicas, elastic.max_nodes)
        last = max(most - 1, 0)
        longest = plan.naming.pod_name(
            plan.job, *((group_name(role.group, last), 0) if role.per_replica else (role.group, last))
        )
        over = len(longest) - LABEL_MAX
        if over > 0:
            yield Problem(
                f"roles.{role.name}",
                None,
                f"the pod name {longest} has {len(longest)} characters; a hostname has at most {LABEL_MAX}",
                f"shorten the experiment's or the role's name by {over}",
            )
    for claim in plan.claims:
        if len(claim.name) > LABEL_MAX:
            yield Problem(
                f"storage.{claim.key}",
                None,
                f"the claim name {claim.name} has {len(claim.name)} characters (limit {LABEL_MAX})",
                f"shorten one of the names by {len(claim.name) - LABEL_MAX}",
            )


def _mapped_images(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    for image, name in plan.images.items():
        if is_too_long(name):
            reason = (
                f"the environment maps the image to {name}, whose path has more than {REPOSITORY_MAX} characters in its "
                "registry"
            )
            yield Problem("image", image, reason, "shorten it, or the path in `registries` of the environment")


def _role_names(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    for planned in plan.roles:
        name = planned.name
        stem, _, number = name.rpartition("-")
        if number.isdigit() and stem in experiment.roles:
            yield Problem(
                f"roles.{name}", None, f"the name reads like replica {number} of the role {stem}: its pods are called …-{name}-0 beside …-{name}, and a Service of that replica would have its name", "rename one of the two roles"
            )  # fmt: skip
        seen = {defaults.MAIN_CONTAINER, *(init.name for init in planned.init[: len(planned.prepared)])}
        for index, init in enumerate(experiment.roles[name].init):
            if init.name in seen:
                yield Problem(
                    f"roles.{name}.init[{index}].name",
                    init.name,
                    "the name is that of another container of the pod",
                    "rename it",
                )
            seen.add(init.name)


def _volumes(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    steps: dict[str, int] = {}
    for index, step in enumerate(experiment.prepare):
        steps.setdefault(step.name, index)
    for role in plan.roles:
        paths: dict[str, str] = {}
        claims: dict[str, str] = {}
        if role.shared_memory is not None:
            paths[defaults.SHARED_MEMORY_MOUNT] = "shared_memory"
        if role.launched or role.stays or role.checkouts:
            paths[defaults.LAUNCH_MOUNT] = "the launch script"
        if role.ssh and plan.ssh is not None:
            paths[plan.ssh.folder] = "the SSH identity"
        if role.launched and plan.launcher == "deepspeed":
            paths[defaults.DEEPSPEED_MOUNT] = "DeepSpeed's hostfile"
        for checkout in role.checkouts:
            path = checkout.git.path.rstrip("/")
            if path in paths:
                yield Problem(
                    f"prepare[{steps[checkout.step]}].git.path",
                    checkout.git.path,
                    f"the path is the mount of {paths[path]} too (role {role.name})",
                    "choose another path",
                )
            paths.setdefault(path, f"the step {checkout.step}")
        for mount in role.mounts:
            where = f"storage.{mount.volume}"
            path = mount.path.rstrip("/")
            if path in paths:
                yield Problem(
                    f"{where}.mount",
                    mount.path,
                    f"the path is the mount of {paths[path]} too (role {role.name})",
                    "choose another path, or limit one to other roles",
                )
            if mount.claim in claims:
                yield Problem(
                    where,
                    mount.claim,
                    f"the volume mounts a claim that {claims[mount.claim]} mounts already (role {role.name})",
                    "mount it once, at a folder above both paths",
                )
            paths.setdefault(path, where)
            claims.setdefault(mount.claim, where)
    taken = {checkout.volume for role in plan.roles for checkout in role.checkouts}
    for key in experiment.storage:
        if key in OWN_VOLUMES or key.removeprefix("key-") in taken:
            yield Problem(f"storage.{key}", None, "the name is one that trainform uses itself", "choose another name")
    yield from _system_paths(experiment)


def _system_paths(experiment: Experiment) -> Iterator[Problem]:
    mounts = {f"storage.{key}.mount": volume.mount for key, volume in experiment.storage.items()}
    mounts |= {
        f"prepare[{index}].git.path": step.git.path
        for index, step in enumerate(experiment.prepare)
        if step.git is not None
    }
    for field, mount in mounts.items():
        path = mount.rstrip("/")
        if path in SYSTEM_FOLDERS or path.startswith(KERNEL_FOLDERS):
            yield Problem(
                field,
                mount,
                "the mount would hide a folder of the system that every process needs",
                "choose a folder of your own, such as /mnt/data",
            )


def _env(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    written = {"env": experiment.env}
    for name, role in experiment.roles.items():
        written[f"roles.{name}.env"] = role.env
        written |= {f"roles.{name}.init[{index}].env": init.env for index, init in enumerate(role.init)}
    written |= {f"prepare[{index}].env": step.env for index, step in enumerate(experiment.prepare)}
    for path, env in written.items():
        for variable in env:
            if variable.startswith(RESERVED_PREFIX):
                yield Problem(
                    f"{path}.{variable}",
                    None,
                    f"the name starts with {RESERVED_PREFIX}, which trainform uses itself",
                    "rename it",
                )


def _ranks(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    for name, role in experiment.roles.items():
        if role.ranked and role.replicas == 0:
            yield Problem(
                f"roles.{name}.replicas",
                0,
                "the ranked role must have at least one pod",
                "write 1 or more, or `ranked: false`",
            )
        if not role.ranked and role.command is None and name != plan.launches:
            yield Problem(
                f"roles.{name}.command",
                None,
                "the command is missing: the launcher starts ranked roles only",
                "add `command: […]`",
            )
        if role.min_available is not None and role.min_available > role.replicas:
            yield Problem(
                f"roles.{name}.min_available",
                role.min_available,
                f"the number is more than the replicas of the role ({role.replicas})",
                f"write {role.replicas} or less",
            )
        if role.min_available is not None and role.ranked and experiment.elastic:
            yield Problem(
                f"roles.{name}.min_available",
                role.min_available,
                "the number is decided by the bounds of the elastic job",
                "remove it; change min_nodes",
            )
    if plan.min_available == 0:
        yield Problem(
            "roles",
            None,
            "the roles have min_available 0 together, which counts as all pods",
            "leave min_available out on one role",
        )
    bounds = plan.world.bounds
    if bounds is not None and not bounds[0] <= plan.world.nodes <= bounds[1]:
        yield Problem(
            "roles",
            None,
            f"the roles have {plan.world.nodes} ranked pods, outside min_nodes {bounds[0]} and max_nodes {bounds[1]}",
            "change replicas or the bounds",
        )


RULES: tuple[Rule, ...] = (
    _names,
    _mapped_images, _role_names, reference_problems, job_queue_problems, resource_problems, metadata_problems, _volumes, port_problems, address_problems, ssh_problems,
    prepare_problems, _env, _ranks, accelerate_problems, ssh_launcher_problems, tensorflow_problems, restart_problems
)  # fmt: skip
