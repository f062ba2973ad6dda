"""`trainform plan`: the plan as tables."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.table import Table

from trainform.backends.job import job_manifests
from trainform.backends.patches import override_key
from trainform.cli.arguments import EnvironmentOption, ExperimentArgument, JsonOption, RunOption
from trainform.examine import examine
from trainform.plan.export import as_data
from trainform.plan.launch import TF_CONFIG
from trainform.plan.model import EnvVar, Plan, RolePlan
from trainform.terminal.lines import echo_json
from trainform.terminal.screen import PIPED_WIDTH, screen


def command(
    experiment: ExperimentArgument, environment: EnvironmentOption, run: RunOption = 1, as_json: JsonOption = False
) -> None:
    """Show what will run: roles, pods, ranks, ports, environment, totals, names."""
    plan = examine(experiment, environment, run).plan()
    if as_json:
        echo_json(as_data(plan))
        return
    console = screen(piped_width=PIPED_WIDTH)
    console.print(_headline(plan))
    for table in (_roles(plan), _env(plan), _objects(plan)):
        console.print()
        console.print(table)
    console.print()
    for line in _summary(plan):
        console.print(line, soft_wrap=True)


def _headline(plan: Plan) -> str:
    again = f", run {plan.run}" if plan.run > 1 else ""
    return f"{plan.experiment} in {plan.environment}: {plan.backend} job {plan.namespace}/{plan.job} (revision {plan.revision}{again})"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _roles(plan: Plan) -> Table:
    table = _table("Roles", "role", "pods", "ranks", "gang", "each pod", "ports", "runs", "names")
    for role in plan.roles:
        table.add_row(
            role.name,
            str(role.replicas),
            _ranks(role),
            str(role.min_available),
            ", ".join(_each(role)),
            ", ".join(_ports(role)),
            " ".join(role.args if role.launched else role.command),
            _names(plan, role),
        )
    return table


def _ports(role: RolePlan) -> Iterable[str]:
    """By purpose; the first and last number where each replica has its own."""
    for purpose in dict.fromkeys(port.name for ports in role.ports for port in ports):
        found = [port for ports in role.ports for port in ports if port.name == purpose]
        last = f"-{found[-1].number}" if len(found) > 1 else ""
        yield f"{purpose} {found[0].number}{last}{' (host)' if found[0].host else ''}"


def _each(role: RolePlan) -> Iterable[str]:
    if role.accelerators is not None:
        yield f"{role.accelerators[1]} {role.accelerators[0]}"
    yield from (
        f"{resource} {quantity}" for resource, quantity in role.resources.items() if resource in {"cpu", "memory"}
    )
    if role.shared_memory is not None:
        yield f"shm {role.shared_memory}"
    yield from (f"{mount.claim} at {mount.path}" for mount in role.mounts)


def _ranks(role: RolePlan) -> str:
    if not role.ranked:
        return "none"
    first, last = role.rank(0), role.rank(role.replicas - 1)
    if first is None:  # an evaluator stands outside of the world; an elastic job numbers itself
        return "by torchrun" if role.scales_in_place else "none"
    return str(first) if first == last else f"{first}-{last}"


def _names(plan: Plan, role: RolePlan) -> str:
    if role.replicas == 0:
        return "none (paused)"
    names = [plan.naming.pod_name(plan.job, group.name, group.replicas - 1) for group in role.groups()]
    first = plan.naming.pod_name(plan.job, next(role.groups()).name, 0)
    return first if first == names[-1] else f"{first} … {names[-1].removeprefix(f'{plan.job}-{role.group}-')}"


def _env(plan: Plan) -> Table:
    """A row per value; roles with the same value share it."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for role in plan.roles:
        for variable in role.env:
            origin = variable.origin.replace(f"roles.{role.name}.", "")
            rows.setdefault((variable.name, _shown(variable), origin), []).append(role.name)
    table = _table("Environment", "variable", "value", "roles", "from")
    for (name, value, origin), roles in rows.items():
        table.add_row(name, value, "all" if len(roles) == len(plan.roles) else ", ".join(roles), origin)
    scripted = [role.name for role in plan.roles if role.launched and role.ranked]
    for name, text in _scripted(plan).items():
        table.add_row(
            name, f"({text})", "all" if len(scripted) == len(plan.roles) else ", ".join(scripted), "launch script"
        )
    return table


def _scripted(plan: Plan) -> dict[str, str]:
    """What the launch script adds on each pod."""
    if plan.launcher == "tensorflow":
        return {"TF_CONFIG": "cluster and own task"} if TF_CONFIG in plan.files else {}
    if not any(role.rank(0) is not None for role in plan.roles) or plan.launches is not None:
        return {}
    return {"RANK": "offset + index"}


def _shown(variable: EnvVar) -> str:
    value = variable.value
    if isinstance(value, str):
        return value
    if value.field is not None:
        return f"(field {value.field})"
    word, reference = ("Secret", value.secret) if value.secret is not None else ("ConfigMap", value.config_map)
    return f"({word} {reference.name}, key {reference.key})" if reference is not None else ""


def _objects(plan: Plan) -> Table:
    table = _table("Objects", "key", "kind", "name", "at a change")
    for manifest in job_manifests(plan):
        kept = "kept at destroy; grows in place" if manifest.keep else "updates in place"
        life = kept if manifest.revision is None else "new revision"
        table.add_row(override_key(manifest), manifest.body["kind"], manifest.body["metadata"]["name"], life)
    return table


def _summary(plan: Plan) -> Iterable[str]:
    accelerators = ", ".join(f"{count} {kind}" for kind, count in plan.totals.accelerators.items())
    world = f"{plan.world.nodes} nodes, {plan.world.processes} processes"
    bounds = "" if plan.world.bounds is None else f" (elastic, {plan.world.bounds[0]} to {plan.world.bounds[1]} nodes)"
    by_name = plan.naming.agent is None  # else pods have no names by which they could meet
    meeting = f", meeting at {plan.rendezvous.address}:{plan.rendezvous.port}" if by_name else ""
    yield f"World   {world}{bounds}{meeting}"
    if plan.ssh is not None:
        made = f"keys of rotation {plan.ssh.rotation}" if plan.ssh.made else "not made here"
        ports = "" if plan.ssh.ports else f", port {plan.ssh.port}"
        yield f"SSH     Secret {plan.ssh.secret} ({made}) at {plan.ssh.folder} in {', '.join(plan.ssh.roles)}{ports}"
    if plan.hosts:
        slots = ", ".join(f"{host.address} slots={host.slots}" for host in plan.hosts[:3])
        yield f"Hosts   {slots}{f' and {len(plan.hosts) - 3} more' if len(plan.hosts) > 3 else ''}"
    if plan.ends_with:
        yield f"Ends    with {' or '.join(ending.pods for ending in plan.ends_with)}"
    totals = [f"{plan.totals.pods} pods", accelerators if accelerators else "no accelerators"]
    totals += [f"cpu {plan.totals.cpu}"] if plan.totals.cpu else []
    totals += [f"memory {plan.totals.memory}"] if plan.totals.memory else []
    totals += [f"{plan.totals.cost_per_hour.replace(' (', ' per hour (')}"] if plan.totals.cost_per_hour else []
    yield f"Totals  {', '.join(totals)}"
    yield f"Queue   {plan.queue.name}{'' if plan.queue.request is None else ' (own)'}, gang of {plan.min_available}"
    yield from (f"Patched {path} changes what trainform rendered" for path in plan.overrides)
    yield from (f"Note    {note}" for note in plan.notes)
