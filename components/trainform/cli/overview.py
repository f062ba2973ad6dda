"""What the demo shows before anything is made: the plan in short, its manifests, and what will come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainform.backends.job import job_manifests
from trainform.plan.model import Plan, RolePlan
from trainform.terminal.screen import Screen
from trainform.toolchain import DOWNLOAD_GB, Outlook, build_time

# What, in which words, and how long on 2 cores.
STEPS = (
    ("sandbox", "etcd, API server, Volcano and {nodes} simulated nodes start", "10 s"),
    ("environment", "pulumi up: namespace, queue and shared claims", "5 s"),
    ("experiment", "pulumi preview, then pulumi up: the manifests above", "5 s"),
    ("pods", "Volcano places {pods} pods as a gang", "2 s"),
)


def show_overview(console: Screen, plan: Plan, nodes: int, outlook: Outlook) -> None:
    """In 80 columns, as far as names are not longer than that: they are never cut."""
    console.print(
        f"{plan.experiment} in {plan.environment}: {plan.backend} job {plan.job}", style="bold", soft_wrap=True
    )
    for line in _aligned([_role(role) for role in plan.roles]):
        console.print(line, no_wrap=True, overflow="ellipsis")
    console.print(_world(plan), soft_wrap=True)
    manifests = [(manifest.body["kind"], manifest.body["metadata"]["name"]) for manifest in job_manifests(plan)]
    _show(console, "Its manifests", _aligned(manifests))
    _show(console, "What comes now", _aligned([*_tool_chain(outlook), *_steps(plan, nodes)]))
    if outlook.names:
        words = f"{plan.experiment} -e {plan.environment}"
        whole = [f"  .venv/bin/trainform {verb} {words}" for verb in ("plan", "render")]
        _show(console, "Meanwhile, in another terminal here: the whole plan, and the manifests", whole)
    console.print()


def _show(console: Screen, title: str, lines: Sequence[str]) -> None:
    console.print()
    console.print(title, style="bold", soft_wrap=True)
    for line in lines:
        console.print(line, soft_wrap=True)


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The rows with their cells below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(["", *(cell.ljust(width) for cell, width in zip(row, widths, strict=True))]).rstrip() for row in rows
    ]


def _role(role: RolePlan) -> tuple[str, ...]:
    runs = " ".join(role.args if role.launched else role.command)
    return role.name, f"{role.replicas} pod{'' if role.replicas == 1 else 's'}", ", ".join(_each(role)), runs


def _each(role: RolePlan) -> Iterator[str]:
    if role.accelerators is not None:
        yield f"{role.accelerators[1]} {role.accelerators[0]}"
    if role.shared_memory is not None:
        yield f"shm {role.shared_memory}"


def _world(plan: Plan) -> str:
    world = f"{plan.world.nodes} nodes, {plan.world.processes} processes"
    return f"  {world}, in queue {plan.queue.name} as a gang of {plan.min_available}"


def _tool_chain(outlook: Outlook) -> Iterator[tuple[str, ...]]:
    ways = [f"downloaded ({DOWNLOAD_GB} GB)"] if outlook.downloads else []
    ways += [f"built ({build_time(outlook.parts)})"] if outlook.parts else []
    if outlook.names and ways:
        yield "tool chain", f"{' or '.join(ways)}, once"


def _steps(plan: Plan, nodes: int) -> Iterator[tuple[str, ...]]:
    for name, what, time in STEPS:
        yield name, f"{what.format(nodes=nodes, pods=plan.totals.pods)}, {time}"
