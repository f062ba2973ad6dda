"""The first output of the demo: a short plan, its manifests, and the steps that follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainform.plan.model import Plan, RolePlan
from trainform.render import RenderedJob
from trainform.terminal.screen import Screen
from trainform.toolchain import DOWNLOAD_GB, PendingWork, build_time

# Name, description, and duration on 2 cores.
STEPS = (
    ("sandbox", "etcd, API server, Volcano and {nodes} simulated nodes start", "10 s"),
    ("environment", "pulumi up: namespace, queue and shared claims", "5 s"),
    ("experiment", "pulumi preview, then pulumi up: the manifests above", "5 s"),
    ("pods", "Volcano places {pods} pods as a gang", "2 s"),
)


def show_intro(console: Screen, job: RenderedJob, nodes: int, pending: PendingWork) -> None:
    """Show the plan, the manifests and the steps. Lines have at most 80 columns, unless a name is longer: names are never cut."""
    plan = job.plan
    console.print(
        f"{plan.experiment} in {plan.environment}: {plan.backend} job {plan.job}", style="bold", soft_wrap=True
    )
    for line in _aligned([_role(role) for role in plan.roles]):
        console.print(line, no_wrap=True, overflow="ellipsis")
    console.print(_world(plan), soft_wrap=True)
    manifests = [(manifest.body["kind"], manifest.body["metadata"]["name"]) for manifest in job.manifests]
    _show(console, "Its manifests", _aligned(manifests))
    _show(console, "What comes now", _aligned([*_tool_chain(pending), *_steps(plan, nodes)]))
    if pending.names:
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
    """Return the rows as lines with aligned cells."""
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


def _tool_chain(pending: PendingWork) -> Iterator[tuple[str, ...]]:
    ways = [f"downloaded ({DOWNLOAD_GB} GB)"] if pending.downloads else []
    ways += [f"built ({build_time(pending.parts)})"] if pending.parts else []
    if pending.names and ways:
        yield "tool chain", f"{' or '.join(ways)}, once"


def _steps(plan: Plan, nodes: int) -> Iterator[tuple[str, ...]]:
    for name, what, time in STEPS:
        yield name, f"{what.format(nodes=nodes, pods=plan.totals.pods)}, {time}"
