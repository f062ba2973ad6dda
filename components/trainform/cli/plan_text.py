"""A plan as text. It fits the terminal, and names are never broken, so that they can be copied."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from trainform import defaults
from trainform.console.lines import wrapped
from trainform.console.terminal import GAP, in_columns
from trainform.errors import Problem
from trainform.job.render_platform import RenderedPlatform
from trainform.manifests.manifest import Manifest, override_key
from trainform.plan.launch.launch import TF_CONFIG
from trainform.plan.model import EnvVar, Plan, RolePlan
from trainform.spec.layers import LayerValue
from trainform.spec.read import Source
from trainform.spec.roles import EnvSource, InitContainer


class OverlaidValue(Struct, frozen=True):
    """A value as it may be shown."""

    path: str  # in the experiment
    value: str
    before: str | None  # None for a new field
    place: str  # path of the overlay, or `--set`
    source: str
    line: int  # 0 if the value is in no file


def overlaid(source: Source) -> list[OverlaidValue]:
    """Return every value that an overlay sets, in the order in which they are applied."""
    return [
        _overlaid(value, source.locate(Problem(value.path, None, "", "")))
        for layer in source.layers
        for value in layer.values
        if source.origin(value.path)[0] == value.place  # a later layer may have set it anew
    ]


def _overlaid(value: LayerValue, at: Problem) -> OverlaidValue:
    new, before = (Problem(value.path, each, "", "").shown_value for each in (value.value, value.before))
    return OverlaidValue(value.path, "null" if new is None else new, before, value.place, at.source, at.line)


def _overlaid_row(value: OverlaidValue) -> tuple[str, str, str]:
    """Return the new value, the one that it replaces, and its origin: `environments.prod, line 12`."""
    place = value.place.removesuffix(f".{value.path}").removesuffix(f" {value.path}")
    before = "new" if value.before is None else f"in place of {value.before}"
    return f"{value.path}={value.value}", before, f"{place}, line {value.line}" if value.line else place


LABEL = 12  # columns of the labels on the left
COUNTS = {"WORLD_SIZE": "nodes", "NUM_PROCESSES": "processes", "JAX_NUM_PROCESSES": "nodes"}


def headline(plan: Plan, release: str | None, tried: Sequence[str], width: int) -> list[str]:
    """Return the first line, with experiment, release, environment and job object, and a line with the values of
    `--set`."""
    again = f", run {plan.run}" if plan.run > 1 else ""
    job = f"{plan.backend} job {plan.namespace}/{plan.job} (revision {plan.revision}{again})"
    released = "" if release is None else f", release {release},"
    first = wrapped(f"{plan.experiment}{released} in {plan.environment}: {job}", width)
    return [*first, *wrapped(f"Tried, in no file: {', '.join(tried)}", width)] if tried else first


def platform(rendered: RenderedPlatform, width: int) -> Iterator[str]:
    """Yield the objects of an environment's own stack."""
    environment = rendered.environment
    yield from wrapped(f"{environment.name}: an environment in the namespace {environment.namespace.name}", width)
    rows = [("kind", "name"), *((each.body["kind"], each.body["metadata"]["name"]) for each in rendered.manifests)]
    yield from ("", "Objects", *in_columns(rows, width))


def sections(plan: Plan, manifests: Iterable[Manifest], overlaid: Sequence[OverlaidValue], width: int) -> Iterator[str]:
    """Yield overlaid values, roles, variables, objects and totals."""
    if overlaid:
        tried = "" if all(value.line for value in overlaid) else ", or tried"
        yield from ("", f"For {plan.environment} alone{tried}", *in_columns(map(_overlaid_row, overlaid), width))
    for role in plan.roles:
        yield from ("", *_role(plan, role, width))
    for roles, rows in _variables(plan).items():
        yield from ("", f"Variables of {roles}", *in_columns(rows, width))
    yield from ("", "Objects", *in_columns([("key", "object", "at a change"), *_objects(manifests)], width))
    yield ""
    for label, text in _summary(plan):
        yield from _labelled(label, wrapped(text, width - LABEL), indent="")


def notes(plan: Plan, width: int) -> Iterator[str]:
    """Yield the notes on what is allowed but may surprise."""
    for note in plan.notes:
        yield from _labelled("Note", wrapped(note, width - LABEL), indent="")


# --- lines


def _labelled(label: str, lines: Sequence[str], indent: str = GAP) -> Iterator[str]:
    """Yield the lines, the first one with the label."""
    for first, line in zip(itertools.chain([label], itertools.repeat("")), lines, strict=False):
        yield f"{indent}{first:<{LABEL - len(indent)}}{line}".rstrip()


# --- roles


def _role(plan: Plan, role: RolePlan, width: int) -> Iterator[str]:
    pods = f"{role.replicas} pod{'' if role.replicas == 1 else 's'}"
    fewer = f", starts with {role.min_available} of them" if role.min_available < role.replicas else ""
    yield from wrapped(f"Role {role.name}: {pods}, {_ranks(role)}{fewer}", width)
    room = width - LABEL
    entrypoint = () if role.command else ("ENTRYPOINT",)
    runs = (*entrypoint, *(role.args if role.launched or entrypoint else role.command))
    rows: dict[str, list[str]] = {
        "pods": wrapped(_names(plan, role), room),
        "image": wrapped(role.image, room),
        "each pod": wrapped(", ".join(_each(role)), room),
        "claims": _mounted(role, room, claims=True),
        "volumes": _mounted(role, room, claims=False),
        "ports": wrapped(", ".join(_ports(role)), room),
        "before": [line for index, step in enumerate(role.init) for line in _step(role, index, step, room)],
        "runs": wrapped(" ".join(runs), room),
        "folder": [] if role.working_dir is None else wrapped(role.working_dir, room),
        "to end": [] if role.grace_seconds is None else [f"{role.grace_seconds} s after SIGTERM"],
        "nodes": [line for text in _nodes(role) for line in wrapped(text, room)],
    }
    for label, lines in rows.items():
        yield from _labelled(label, lines)


def _mounted(role: RolePlan, width: int, *, claims: bool) -> list[str]:
    """Return the lines of the mounts that are claims, or of all others with the kind of their source."""
    mounts = [mount for mount in role.mounts if (mount.claim is not None) == claims]
    texts = (f"{'' if claims else f'{mount.kind} '}{mount.source} at {mount.path}" for mount in mounts)
    return [line for text in texts for line in wrapped(text, width)]


def _step(role: RolePlan, index: int, step: InitContainer, width: int) -> list[str]:
    """Return the lines of an init container: a step of `prepare`, or one of the role."""
    word = "prepare" if index < len(role.prepared) else "init container"
    git = next((checkout.git for checkout in role.checkouts if checkout.step == step.name), None)
    if git is not None and word == "prepare":
        does = f"commit {git.commit} of {git.repository} in {git.path}"
    else:
        does = " ".join(step.command if step.command is not None else ["the image's own command"])
    where = ""
    if step.name in role.in_first_pod and word == "prepare":
        where, does = ", in the first pod alone", " ".join(step.command[2:])
    image = "" if step.image is None else f" (image {step.image})"
    return wrapped(f"{word} {step.name}{where}: {does}{image}", width)


def _ports(role: RolePlan) -> Iterable[str]:
    """Yield the ports by purpose, with the first and last number if each replica has its own."""
    for purpose in dict.fromkeys(port.name for ports in role.ports for port in ports):
        found = [port for ports in role.ports for port in ports if port.name == purpose]
        last = f"-{found[-1].number}" if len(found) > 1 else ""
        yield f"{purpose} {found[0].number}{last}{' (host)' if found[0].host else ''}"


def _each(role: RolePlan) -> Iterable[str]:
    if role.accelerators is not None:
        yield f"{role.accelerators[1]} {role.accelerators[0]}"
    for resource, request in role.resources.items():
        if resource in {"cpu", "memory"}:
            limit = role.limits.get(resource, "none")
            yield f"{resource} {request}" if limit == request else f"{resource} {request} (limit {limit})"
    if role.shared_memory is not None:
        yield f"shared memory {role.shared_memory}"


def _nodes(role: RolePlan) -> Iterable[str]:
    for word in ("require", "avoid", "prefer") if role.node_affinity is not None else ():
        yield from (f"{word} {key}: {', '.join(values)}" for key, values in getattr(role.node_affinity, word).items())


def _ranks(role: RolePlan) -> str:
    if not role.ranked or role.replicas == 0:
        return "no rank"
    first, last = role.rank(0), role.rank(role.replicas - 1)
    if first is None:  # an evaluator is not in the world; torchrun assigns the ranks of an elastic job
        return "ranks by torchrun" if role.scales_in_place else "no rank"
    return f"rank {first}" if first == last else f"ranks {first}-{last}"


def _names(plan: Plan, role: RolePlan) -> str:
    if role.replicas == 0:
        return "none (paused)"
    groups = list(role.groups())
    first = plan.naming.pod_name(plan.job, groups[0].name, 0)
    last = plan.naming.pod_name(plan.job, groups[-1].name, groups[-1].replicas - 1)
    return first if first == last else f"{first} to {last}"


# --- variables


def _variables(plan: Plan) -> dict[str, list[tuple[str, str]]]:
    """Return `NAME=value` and its origin, grouped by the roles that have it."""
    found: dict[tuple[str, str], list[str]] = {}
    for role in plan.roles:
        for variable in role.env:
            row = (f"{variable.name}={_shown(variable)}", _origin(variable))
            found.setdefault(row, []).append(role.name)
    for name, text in _scripted(plan).items():
        # the launch script keeps a variable that the user sets
        scripted = [
            role.name
            for role in plan.roles
            if role.launched and role.ranked and all(variable.name != name for variable in role.env)
        ]
        found |= {(f"{name}=({text})", "launch script"): scripted} if scripted else {}
    by_roles: dict[str, list[tuple[str, str]]] = {}
    for row, roles in found.items():
        every = len(roles) == len(plan.roles) > 1
        by_roles.setdefault("all roles" if every else ", ".join(roles), []).append(row)
    return by_roles


def _origin(variable: EnvVar) -> str:
    """Return the field from which a variable comes; for a variable of the user, without its name."""
    return variable.origin.removesuffix(f".{variable.name}") if _is_own(variable) else variable.origin


def _is_own(variable: EnvVar) -> bool:
    """Return True if the user sets the variable."""
    return variable.origin.endswith(f"env.{variable.name}")


def _scripted(plan: Plan) -> dict[str, str]:
    """Return the variables that the launch script adds on each pod."""
    if plan.launcher == "tensorflow":
        return {"TF_CONFIG": "cluster and own task"} if TF_CONFIG in plan.files else {}
    if not any(role.rank(0) is not None for role in plan.roles) or plan.launches is not None:
        return {}
    jax = {"JAX_PROCESS_ID": "RANK", "JAX_COORDINATOR_ADDRESS": "MASTER_ADDR:MASTER_PORT"}
    return {"RANK": "offset + index"} | (jax if plan.launcher == "jax" else {})


def _shown(variable: EnvVar) -> str:
    value: str | EnvSource = variable.value
    if isinstance(value, str):
        counted = None if _is_own(variable) else COUNTS.get(variable.name)
        return value if counted is None else f"{value} ({counted})"
    if value.field is not None:
        return f"(field {value.field})"
    word, reference = ("Secret", value.secret) if value.secret is not None else ("ConfigMap", value.config_map)
    return f"({word} {reference.name}, key {reference.key})" if reference is not None else ""


# --- objects and totals


def _objects(manifests: Iterable[Manifest]) -> Iterator[tuple[str, str, str]]:
    for manifest in manifests:
        kept = "grows; kept" if manifest.keep else "in place"
        life = kept if manifest.revision is None else "new revision"
        yield override_key(manifest), f"{manifest.body['kind']} {manifest.body['metadata']['name']}", life


def _summary(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the totals as label and text."""
    accelerators = ", ".join(f"{count} {kind}" for kind, count in plan.totals.accelerators.items())
    world = f"{plan.world.nodes} nodes, {plan.world.processes} processes"
    bounds = "" if plan.world.bounds is None else f" (elastic, {plan.world.bounds[0]} to {plan.world.bounds[1]} nodes)"
    by_name = plan.naming.agent is None  # otherwise pods have no names to which others could connect
    meeting = f", meeting at {plan.rendezvous.address}:{plan.rendezvous.port}" if by_name else ""
    yield from (("Image", f"{image}, here {name}") for image, name in plan.images.items())
    yield "World", f"{world}{bounds}{meeting}"
    if plan.mounted_files:
        yield "Files", ", ".join(file.path for file in plan.mounted_files)
    if plan.ssh is not None:
        made = f"keys of rotation {plan.ssh.rotation}" if plan.ssh.made else "not made here"
        ports = "" if plan.ssh.ports else f", port {plan.ssh.port}"
        yield "SSH", f"Secret {plan.ssh.secret} ({made}) at {plan.ssh.folder} in {', '.join(plan.ssh.roles)}{ports}"
    if plan.hosts:
        slots = ", ".join(f"{host.address} slots={host.slots}" for host in plan.hosts[:3])
        yield "Hosts", f"{slots}{f' and {len(plan.hosts) - 3} more' if len(plan.hosts) > 3 else ''}"
    if plan.ends_with:
        yield "Ends", f"with {' or '.join(ending.pods for ending in plan.ends_with)}"
    if plan.max_run_seconds is not None:
        yield "Time", f"at most {plan.max_run_seconds} s"
    totals = [f"{plan.totals.pods} pods", accelerators if accelerators else "no accelerators"]
    totals += [f"cpu {plan.totals.cpu}"] if plan.totals.cpu else []
    totals += [f"memory {plan.totals.memory}"] if plan.totals.memory else []
    cost = plan.totals.cost_per_hour
    totals += [] if cost is None else [f"{cost.text} per hour (prices of {cost.as_of})"]
    yield "Totals", f"{', '.join(totals)}"
    yield "Queue", _queue(plan)
    yield from (("Patched", f"{path} changes what trainform rendered") for path in plan.overrides)


def _queue(plan: Plan) -> str:
    """Return the queue of the job, and when its pods start."""
    if plan.admission == defaults.NONE:
        return "none: each pod starts when it fits, whether the others fit or not"
    own = "" if plan.queue.request is None else " (own)"
    least = "all pods" if plan.min_available == plan.totals.pods else f"{plan.min_available} of {plan.totals.pods} pods"
    starts = f"the job starts when {least} fit, as a gang"
    if plan.naming.gang_of_role and len(plan.roles) > 1:
        starts = "each role starts when all its pods fit, as a gang, one role after the other"
    return f"{plan.queue.name}{own}, and {starts}"
