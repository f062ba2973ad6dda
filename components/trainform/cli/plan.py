"""`trainform plan`: the plan as tables."""

from __future__ import annotations

import json
from collections.abc import Iterable

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from trainform.backends.job import job_manifests
from trainform.backends.patches import override_key
from trainform.cli.arguments import EnvironmentOption, ExperimentArgument, JsonOption, RunOption
from trainform.examine import examine
from trainform.plan.export import as_data
from trainform.plan.model import EnvVar, Plan, RolePlan

PIPED_WIDTH = 160  # a file or a pager wraps by itself; a table cut at 80 columns would lose names


def command(
    experiment: ExperimentArgument, environment: EnvironmentOption, run: RunOption = 1, as_json: JsonOption = False
) -> None:
    """Show what will run: roles, pods, ranks, ports, environment, totals, names."""
    plan = examine(experiment, environment, run).plan()
    if as_json:
        typer.echo(json.dumps(as_data(plan), indent=2))
        return
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, width=PIPED_WIDTH)
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
            ", ".join(f"{port.number}{' (host)' if port.host else ''}" for port in role.ports),
            " ".join(role.args if role.ranked else role.command),
            _names(plan, role),
        )
    return table


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
    if first is None:
        return "by torchrun"
    return str(first) if first == last else f"{first}-{last}"


def _names(plan: Plan, role: RolePlan) -> str:
    if role.replicas == 0:
        return "none (paused)"
    stem = f"{plan.job}-{role.name}-"
    return f"{stem}0" if role.replicas == 1 else f"{stem}0 … {role.replicas - 1}"


def _env(plan: Plan) -> Table:
    """A row per value; roles with the same value share it."""
    rows: dict[tuple[str, str, str], list[str]] = {}
    for role in plan.roles:
        for variable in role.env:
            origin = variable.origin.replace(f"roles.{role.name}.", "")
            rows.setdefault((variable.name, _shown(variable), origin), []).append(role.name)
    rank = "computed on the pod: offset + index" if plan.world.bounds is None else "given by torchrun at run time"
    table = _table(f"Environment (RANK is {rank})", "variable", "value", "roles", "from")
    for (name, value, origin), roles in rows.items():
        table.add_row(name, value, "all" if len(roles) == len(plan.roles) else ", ".join(roles), origin)
    return table


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
        life = "new revision" if manifest.follows_revision else kept
        table.add_row(override_key(manifest), manifest.body["kind"], manifest.body["metadata"]["name"], life)
    return table


def _summary(plan: Plan) -> Iterable[str]:
    accelerators = ", ".join(f"{count} {kind}" for kind, count in plan.totals.accelerators.items())
    world = f"{plan.world.nodes} nodes, {plan.world.processes} processes"
    bounds = "" if plan.world.bounds is None else f" (elastic, {plan.world.bounds[0]} to {plan.world.bounds[1]} nodes)"
    yield f"World   {world}{bounds}, meeting at {plan.rendezvous.address}:{plan.rendezvous.port}"
    totals = [f"{plan.totals.pods} pods", accelerators if accelerators else "no accelerators"]
    totals += [f"cpu {plan.totals.cpu}"] if plan.totals.cpu else []
    totals += [f"memory {plan.totals.memory}"] if plan.totals.memory else []
    totals += [f"{plan.totals.cost_per_hour.replace(' (', ' per hour (')}"] if plan.totals.cost_per_hour else []
    yield f"Totals  {', '.join(totals)}"
    yield f"Queue   {plan.queue.name}{'' if plan.queue.request is None else ' (own)'}, gang of {plan.min_available}"
    yield from (f"Patched {path} changes what trainform rendered" for path in plan.overrides)
    yield from (f"Note    {note}" for note in plan.notes)
