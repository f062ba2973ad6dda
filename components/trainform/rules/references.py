"""Rules for names that refer to something, for mounts, and for an environment by itself.

Volcano's webhook checks the amounts of queues at a preview.
"""

from __future__ import annotations

import itertools
import posixpath
import re
from collections.abc import Collection, Iterator, Mapping

from trainform import defaults
from trainform.errors import MOST_NAMES, Problem, list_names
from trainform.manifests.pods import needs_files
from trainform.plan.model import Plan, RolePlan
from trainform.rules.limits.table import ALWAYS_HOLDS, BY_CODE, WAIVABLE, unknown_code
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.limits import VolumeType
from trainform.spec.names import END, RESOURCE, did_you_mean, matches
from trainform.spec.quantities import is_too_small, is_whole, too_small
from trainform.spec.queue_fields import QueueRequest
from trainform.spec.roles import Amounts
from trainform.spec.storage import ONE_POD

BYTES = ("memory", "ephemeral-storage")  # resources that are counted in bytes


def reference_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield references to kinds, classes, resources and roles that do not exist."""
    fields = {"cpu": "cpu", "memory": "memory"}
    fields |= {offered.resource: f"accelerators.{kind}" for kind, offered in environment.accelerators.items()}
    if environment.rdma is not None and not experiment.network.rdma:  # with it, a role may have another number
        fields[environment.rdma.resource] = "network.rdma"
    for name, role in experiment.roles.items():
        for kind in role.accelerators:
            path = f"roles.{name}.accelerators.{kind}"
            yield from unknown(path, kind, environment.accelerators, "kind of accelerator")
        for resource, given in role.resources.items():
            path = f"roles.{name}.resources.{resource}"
            yield from _resource_problems(path, resource, given)
            if resource in fields:
                reason = "the resource has a field of its own"
                fix = f"remove it here; write `{fields[resource]}`"
                yield Problem(path, None if isinstance(given, Amounts) else given, reason, fix)
    for key, volume in experiment.storage.items():
        yield from unknown(f"storage.{key}.class", volume.storage_class, environment.storage_classes, "storage class")
    if experiment.network.rdma and environment.rdma is None:
        reason = f"the experiment asks for RDMA, which the environment {environment.name} does not have"
        yield Problem("network.rdma", True, reason, "remove it, or choose another environment")
    for path, name in _named_roles(experiment):
        if name not in experiment.roles:
            reason = "the experiment has no role of this name"
            yield Problem(path, name, reason, f"known: {list_names(experiment.roles)}")


def _named_roles(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield the path and the name of each role to which a field refers."""
    lists = {f"storage.{key}.roles": volume.roles for key, volume in experiment.storage.items()}
    lists |= {f"prepare[{index}].roles": step.roles for index, step in enumerate(experiment.prepare)}
    lists["ssh.roles"] = None if experiment.ssh is None else experiment.ssh.roles
    for path, names in lists.items():
        yield from ((f"{path}[{index}]", name) for index, name in enumerate([] if names is None else names))
    over_ssh = experiment.launcher.over_ssh
    if over_ssh is not None and over_ssh.role is not None:
        yield f"launcher.{experiment.launcher.kind}.role", over_ssh.role


def unknown(path: str, name: str | None, known: Collection[str], word: str) -> list[Problem]:
    """Return a problem if the environment does not define the name. None is not a name."""
    if name is None or name in known:
        return []
    others = f"known: {list_names(known)}" if known else "add it to the environment"
    # a comparison is slow, and every name in a file may be wrong
    fix = did_you_mean(name, itertools.islice(known, MOST_NAMES)) or others
    return [Problem(path, name, f"the environment has no {word} of this name", fix)]


def amount_problems(path: str, amounts: dict[str, str]) -> Iterator[Problem]:
    """Yield wrong quantities by resource name or accelerator kind: only CPU may be a fraction."""
    for name, quantity in amounts.items():
        yield from _amount_problems(f"{path}.{name}", name, quantity)


def _amount_problems(path: str, resource: str, quantity: str) -> Iterator[Problem]:
    if resource != "cpu" and not is_whole(quantity):
        reason = "the value is a fraction; Kubernetes counts it in whole numbers"
        yield Problem(path, quantity, reason, "write a whole number")
    elif resource in BYTES and is_too_small(quantity):
        yield Problem(path, quantity, *too_small(quantity))


def _resource_problems(path: str, resource: str, given: str | Amounts) -> Iterator[Problem]:
    """Yield wrong quantities: of one amount, or of a request and a limit."""
    if not isinstance(given, Amounts):
        yield from _amount_problems(path, resource, given)
        return
    for side, quantity in given.user_set().items():
        yield from _amount_problems(f"{path}.{side}", resource, quantity)


AMOUNTS = ("capability", "deserved", "guarantee")


def _environment_queues(environment: Environment) -> Iterator[Problem]:
    """Yield the problems of the queues of an environment."""
    parents = _parents(environment)
    own_ancestors = _own_ancestors(parents)
    for name, request in environment.queues.items():
        yield from _queue_problems(f"queues.{name}", request, parents, name in own_ancestors, environment)
    if environment.admission != defaults.VOLCANO and environment.queues:
        reason = f"the queues are Volcano's, and in this environment {defaults.ADMITS[environment.admission]}"
        yield Problem("queues", None, reason, "remove them, or write `admission: volcano`")
    if environment.admission == defaults.KUEUE and environment.mpi_job == "v1":
        yield Problem("mpi_job", "v1", "Kueue admits no jobs of this version", "write v2beta1")
    if environment.workload_priorities:
        yield from _workload_priorities(environment)
    if defaults.ROOT_QUEUE in environment.queues:
        reason = "the queue is Volcano's own and cannot be changed"
        yield Problem(f"queues.{defaults.ROOT_QUEUE}", None, reason, "choose another name")


def _workload_priorities(environment: Environment) -> Iterator[Problem]:
    if environment.admission != defaults.KUEUE:
        admits = defaults.ADMITS[environment.admission]
        reason = f"WorkloadPriorityClasses are Kueue's, and in this environment {admits}"
        yield Problem("workload_priorities", True, reason, "remove it, or write `admission: kueue`")
    if environment.priority_classes:
        reason = (
            "they are PriorityClasses of pods, and experiments name WorkloadPriorityClasses (`workload_priorities`)"
        )
        fix = "create WorkloadPriorityClasses with kubectl, and list their names in `limits.priority_classes`"
        yield Problem("priority_classes", None, reason, f"remove them; {fix}")


def job_queue_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield the problems of the queue that an experiment names or brings along."""
    if environment.admission == defaults.NONE:
        if experiment.queue != defaults.QUEUE:
            reason = f"in this environment {defaults.ADMITS[defaults.NONE]} (`admission: none`)"
            yield Problem("queue", None, reason, "remove it, or use an environment with another admission")
        return
    name, request = plan.queue.name, plan.queue.request
    known = {**environment.queues, defaults.QUEUE: None}
    if request is not None:
        parents = _parents(environment)
        own_ancestors = _own_ancestors({**parents, name: request.parent})
        yield from _queue_problems("queue", request, parents, name in own_ancestors, environment)
        if name in (*known, defaults.ROOT_QUEUE):
            reason = "the name belongs to a queue of the environment or of Volcano"
            yield Problem("queue.name", name, reason, f"write `queue: {name}` to use it, or choose another name")
        return
    if environment.admission == defaults.KUEUE:
        return  # the preflight looks for the LocalQueue in the cluster
    yield from unknown("queue", name, known, "queue")
    children = [child for child, queue in environment.queues.items() if queue.parent == name]
    if children:
        reason = "the queue has queues below it, and Volcano takes jobs into leaves only"
        yield Problem("queue", name, reason, f"known: {list_names(children)}")


def _queue_problems(
    path: str, request: QueueRequest, parents: Collection[str], own_ancestor: bool, environment: Environment
) -> Iterator[Problem]:
    for field in AMOUNTS:
        amounts: dict[str, str] = getattr(request, field)
        yield from amount_problems(f"{path}.{field}", amounts)
        for key in amounts:
            if not matches(RESOURCE, key):
                yield from unknown(f"{path}.{field}.{key}", key, environment.accelerators, "kind of accelerator")
    yield from unknown(f"{path}.parent", request.parent, parents, "queue")
    if own_ancestor and request.parent in parents and request.parent != defaults.ROOT_QUEUE:
        reason = "the parent makes the queue its own ancestor"
        yield Problem(f"{path}.parent", request.parent, reason, f"write {defaults.ROOT_QUEUE}, or leave it out")


def _parents(environment: Environment) -> dict[str, str]:
    """Return the parent of each queue by its name. The root has none, which is ""."""
    return {defaults.ROOT_QUEUE: "", **{name: request.parent for name, request in environment.queues.items()}}


def _own_ancestors(parents: Mapping[str, str]) -> set[str]:
    """Return the queues that are above themselves. Each queue is visited once."""
    own_ancestors: set[str] = set()
    visited: set[str] = set()
    for name in parents:
        line: list[str] = []
        while name in parents and name not in visited:
            visited.add(name)
            line.append(name)
            name = parents[name]
        if name in line:
            own_ancestors.update(line[line.index(name) :])
    return own_ancestors


OWN_FOLDER = "choose a folder of your own, such as /mnt/data"
OWN_VOLUMES = (defaults.SHARED_MEMORY_VOLUME, defaults.LAUNCH_VOLUME, defaults.SSH_VOLUME, defaults.HOSTFILE)


def mount_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield the problems of the paths of volumes and checkouts, and of the names of volumes."""
    steps = {step.name: index for index, step in enumerate(experiment.prepare)}
    everywhere: dict[str, str] = {}
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
        everywhere |= paths
        claims: dict[str, str] = {}
        for mount in role.mounts:
            if mount.claim is None:
                continue
            if mount.claim in claims:
                reason = f"the volume mounts a claim that {claims[mount.claim]} mounts already (role {role.name})"
                fix = "mount it once, at a folder above both paths"
                yield Problem(f"storage.{mount.volume}", mount.claim, reason, fix)
            claims.setdefault(mount.claim, f"storage.{mount.volume}")
    yield from _file_problems(experiment, everywhere)
    taken = {checkout.volume for role in plan.roles for checkout in role.checkouts}
    taken |= {defaults.FILES_VOLUME} if experiment.files else set()
    for key in experiment.storage:
        if key in OWN_VOLUMES or key in taken or key.removeprefix("key-") in taken:
            yield Problem(f"storage.{key}", None, "the name is one that trainform uses itself", "choose another name")
    yield from _system_paths(experiment)
    yield from _single_pod_claims(plan)


def _file_problems(experiment: Experiment, mounted: Mapping[str, str]) -> Iterator[Problem]:
    """Yield files that were not read, and files inside or above a mount or another file. mounted: owners by path."""
    mounts = {_normalized(path): f"the mount of {owner}" for path, owner in mounted.items()}
    above = {folder: owner for path, owner in mounts.items() for folder in _folders_above(path)}
    for path, file in experiment.files.items():
        if file.text is None:
            reason = "the content of the file is unknown: a model that is rendered directly reads no files"
            yield Problem(f"files.{path}.file", file.file, reason, "write `text`, or call `check_experiment`")
        holders = (folder for folder in _folders_above(path) if folder in mounts or folder in experiment.files)
        inside = next((mounts.get(folder, f"the file {folder}") for folder in holders), None)
        places = {"that of": mounts.get(path), "inside": inside, "above": above.get(path)}
        where = next((word for word, owner in places.items() if owner is not None), None)
        if where is not None:
            yield Problem(f"files.{path}", path, f"the path is {where} {places[where]}", "choose another path")


def _folders_above(path: str) -> Iterator[str]:
    """Yield the folders that hold the path, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path


def _single_pod_claims(plan: Plan) -> Iterator[Problem]:
    """Yield claims that only one pod can mount, but that several pods mount."""
    mounting: dict[str, int] = {}
    for role in plan.roles:
        for claim in filter(None, (mount.claim for mount in role.mounts)):
            mounting[claim] = mounting.get(claim, 0) + role.replicas
    for made in plan.claims:
        pods = mounting.get(made.name, 0)
        if ONE_POD in made.request.access_modes and pods > 1:
            reason = f"one pod at a time mounts such a claim, and {pods} pods are to: the others would never start"
            fix = "write `[ReadWriteMany]`, or limit the volume by `roles` to one pod"
            yield Problem(f"storage.{made.key}.access_modes", ONE_POD, reason, fix)


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
        if _normalized(path).startswith(f"{_normalized(folder)}/"):
            reason = (
                f"the path is inside {folder}, which holds {what} and is read-only: no container of the role "
                f"{role.name} would start"
            )
            yield Problem(where, path, reason, OWN_FOLDER)


def _system_paths(experiment: Experiment) -> Iterator[Problem]:
    mounts = {f"storage.{key}.mount": volume.mount for key, volume in experiment.storage.items()}
    steps = enumerate(experiment.prepare)
    mounts |= {f"files.{path}": path for path in experiment.files}
    mounts |= {f"prepare[{index}].git.path": step.git.path for index, step in steps if step.git is not None}
    for field, mount in mounts.items():
        if _hides_system(mount):
            reason = "the mount would hide a folder of the system that every process needs"
            yield Problem(field, mount, reason, OWN_FOLDER)


# Folders of images that a volume may not hide: without them no program starts. A volume may be inside /dev and /etc,
# but not inside the kernel's folders.
_PROGRAMS = ("bin", "lib", "lib32", "lib64", "libx32", "sbin")
SYSTEM_FOLDERS = frozenset(
    ["", "/dev", "/etc", "/proc", "/sys", "/usr", *(f"{above}/{name}" for above in ("", "/usr") for name in _PROGRAMS)]
)
KERNEL_FOLDERS = ("/proc/", "/sys/")
_LIBRARIES = re.compile(rf"(/usr)?/lib/[a-z0-9_]+-linux-[a-z0-9]+{END}")  # of one architecture, in Debian


def _normalized(path: str) -> str:
    """Return the normal path of a folder in a container, without `/` at its end; "" for the root."""
    return f"/{posixpath.normpath(f'/{path}').strip('/')}".rstrip("/")


def _hides_system(path: str) -> bool:
    """Return True if a mount at the path would hide a folder that every process needs."""
    folder = _normalized(path)
    return folder in SYSTEM_FOLDERS or folder.startswith(KERNEL_FOLDERS) or _LIBRARIES.match(folder) is not None


JOB_VOLUME_TYPES: tuple[VolumeType, ...] = ("configMap", "emptyDir", "secret")


def environment_problems(environment: Environment) -> list[Problem]:
    """Return every problem of the environment."""
    rules = (_environment_queues, _claims, _accelerators, _codes, _limits)
    return [problem for rule in rules for problem in rule(environment)]


def _claims(environment: Environment) -> Iterator[Problem]:
    classes = environment.storage_classes
    for name, claim in environment.claims.items():
        yield from unknown(f"claims.{name}.class", claim.storage_class, classes, "storage class")
    for name in environment.storage_prices:
        yield from unknown(f"storage_prices.{name}", name, classes, "storage class")


def _accelerators(environment: Environment) -> Iterator[Problem]:
    owners: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}
    for kind, accelerator in environment.accelerators.items():
        nodes = (accelerator.resource, tuple(sorted(accelerator.node_selector.items())))
        if nodes in owners:
            reason = f"the resource is that of {owners[nodes]} too, on the same nodes"
            fix = "give one of the two kinds a node_selector, or remove it"
            yield Problem(f"accelerators.{kind}.resource", accelerator.resource, reason, fix)
        owners.setdefault(nodes, kind)
        if environment.rdma is not None and accelerator.resource == environment.rdma.resource:
            reason = f"the resource is that of the accelerator {kind}"
            yield Problem("rdma.resource", accelerator.resource, reason, "correct one of the two")


def _limits(environment: Environment) -> Iterator[Problem]:
    """Yield limits that no experiment could meet in this environment."""
    limits = environment.limits
    for kind in JOB_VOLUME_TYPES:
        if kind not in limits.volume_types:
            reason = f"the list has no {kind}, of which trainform makes volumes itself, so no experiment could run"
            yield Problem("limits.volume_types", None, reason, f"add {kind}")
    if environment.admission == defaults.VOLCANO:
        known = {**environment.queues, defaults.QUEUE: None}
        for index, name in enumerate(() if limits.queues is None else limits.queues):
            yield from unknown(f"limits.queues[{index}]", name, known, "queue")
    most = limits.max_cost_per_hour
    prices = [kind.price_per_hour for kind in environment.accelerators.values()]
    if most is not None and any(price is not None and price.currency != most.currency for price in prices):
        reason = "the accelerators have prices in another currency, so nothing can be compared"
        yield Problem("limits.max_cost_per_hour.currency", most.currency, reason, "write all prices in one currency")


def _codes(environment: Environment) -> Iterator[Problem]:
    for field, known in (("severity", BY_CODE.keys()), ("waivable", WAIVABLE)):
        for code in getattr(environment.limits, field):
            path = f"limits.{field}.{code}"
            if code not in known:
                yield Problem(path, None, *unknown_code(code, known))
            elif code in BY_CODE and BY_CODE[code].fixed:
                yield Problem(path, None, ALWAYS_HOLDS, "remove it")
