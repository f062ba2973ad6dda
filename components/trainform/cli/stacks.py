"""`trainform stacks`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import structs

from trainform.cli import candidates
from trainform.cli.app import prints
from trainform.cli.arguments import REPORT, WHICH_ENVIRONMENT, Form, environment_option, option, show
from trainform.console.lines import echo, note
from trainform.console.secrets import masked
from trainform.errors import TrainformError
from trainform.project import ENVIRONMENTS, known_names, known_stacks, require_project

if TYPE_CHECKING:
    from trainform.console.sections import Section
    from trainform.deployed.overview import Overview, Row
    from trainform.deployed.stacks import ProjectStack
    from trainform.spec.environment import Environment

SECONDS = 5.0
UNKNOWN, NOT_DEPLOYED = "unknown", "not deployed"
COLUMNS = ("experiment", "environment", "phase", "accelerators", "age", "cost/h", "state")
MORE_COLUMNS = ("release", "revision", "stack")
OWNER, DRIFT = "owner", "drift"
"""Columns between `COLUMNS` and `MORE_COLUMNS`, shown if a row has a value."""


ENVIRONMENT_HELP = f"{WHICH_ENVIRONMENT} May be repeated. Default: all of the project."
DRIFT_HELP = "Add a column with the drift of each stack; this reads more from the cluster."
EnvironmentsOption = Annotated[list[str] | None, environment_option(ENVIRONMENT_HELP)]
ExperimentOption = Annotated[str | None, option("NAME", "Show this experiment.", autocompletion=candidates.experiments)]
QueueOption = Annotated[str | None, option("NAME", "Show experiments of this queue.")]
OwnerOption = Annotated[str | None, option("TEXT", "Show experiments whose `owner` contains this text.")]
DriftOption = Annotated[bool, typer.Option("--drift", help=DRIFT_HELP)]


@prints(*REPORT)
def command(
    environments: EnvironmentsOption = None,
    experiment: ExperimentOption = None,
    queue: QueueOption = None,
    owner: OwnerOption = None,
    drift: DriftOption = False,
    *,
    form: Form,
) -> None:
    """List the experiments that are deployed: phase, accelerators, age, cost.

    It reads the records of `pulumi up` from the clusters of all environments, also those of other checkouts. The state
    is `pending` if the stack's file or release differs from the deployed experiment. An environment whose cluster
    cannot be read is reported, and the others are shown.

    Exit code: 0, or 1 if an environment could not be read.
    """
    from trainform.deployed.overview import overview
    from trainform.deployed.stacks import load_project_stacks
    from trainform.job.check import check_environment

    root = require_project()
    names = environments or known_names(ENVIRONMENTS, root)
    loaded = [check_environment(name, None if environments else root).or_raise() for name in dict.fromkeys(names)]
    found = overview(loaded, SECONDS)
    stacks = {stack.full_name: stack for stack in load_project_stacks(known_stacks(root), root)[0]}
    filters = {"experiment": experiment, "queue": queue, "owner": owner}
    rows = [row for row in (*found.rows, *_not_deployed(found, loaded, stacks.values())) if _matches(row, filters)]
    outcomes = _outcomes(rows, loaded) if drift else [None] * len(rows)
    described = masked(
        [_described(row, outcome, stacks.get(row.stack), root) for row, outcome in zip(rows, outcomes, strict=True)]
    )
    totals = _totals(rows, found)
    if form is Form.TEXT:
        _print(described, found, totals)
    else:
        not_read = [{"environment": name, "error": error.as_dict()} for name, error in found.not_read.items()]
        data = {"ok": not not_read, "stacks": described, "not_read": not_read}
        show(form, data, _sections(described, found, totals))
    if found.not_read:
        raise typer.Exit(1)


def _not_deployed(found: Overview, environments: Sequence[Environment], stacks: Iterable[ProjectStack]) -> list[Row]:
    """Return a row for each stack of the project that follows a release and is not deployed."""
    from trainform.deployed.overview import Row

    read = {environment.name for environment in environments} - found.not_read.keys()
    there = {(row.experiment, row.environment) for row in found.rows}
    return [
        Row(each.experiment, each.environment.name, each.namespace, each.full_name, phase=NOT_DEPLOYED)
        for each in stacks
        if each.stack.release is not None
        and each.environment.name in read
        and (each.experiment, each.environment.name) not in there
    ]


def _matches(row: Row, filters: Mapping[str, str | None]) -> bool:
    """Return whether the row has these values; an owner matches by a part of it."""
    return all(
        value is None or (value.lower() in row.owner.lower() if field == OWNER else value == getattr(row, field))
        for field, value in filters.items()
    )


def _outcomes(rows: Sequence[Row], environments: Sequence[Environment]) -> list[str]:
    """Return the outcome of the drift report for each row."""
    from trainform.deployed.stacks import ProjectStack
    from trainform.spec.stack import Stack
    from trainform.stacks.drift.report import find_drift

    models = {environment.name: environment for environment in environments}
    targets = []
    for row in rows:
        project, _, stack = row.stack.rpartition("/")
        name = stack or f"{row.experiment}.{row.environment}"  # the record of an earlier trainform has none
        named = Stack(row.experiment, row.environment, row.run)
        targets.append(ProjectStack(name, named, row.experiment, models[row.environment], project))
    return [stack.outcome.value for stack in find_drift(targets).stacks]


def _described(row: Row, drift: str | None, stack: ProjectStack | None, root: Path) -> dict[str, Any]:
    """Return a row as data. drift: None without `--drift`. stack: None if it belongs to another project or checkout, or
    if its file cannot be read."""
    from trainform.cluster.live_drift import age, utc_now

    release = None if stack is None else stack.stack.release
    cost = None if row.cost is None else {"amount": float(row.cost.amount), "currency": row.cost.currency}
    return {
        **{field: value for field, value in structs.asdict(row).items() if field not in ("cost", "content")},
        "state": UNKNOWN if stack is None else _state(row, stack, root),
        "release": release,
        "follows": UNKNOWN if stack is None else "file" if release is None else "release",
        "cost_per_hour": cost,
        "age": age(row.created, utc_now()),
        DRIFT: drift,
    }


def _state(row: Row, stack: ProjectStack, root: Path) -> str:
    """Return `pending` if the stack's file or release differs from the deployed experiment."""
    from trainform.deployed.stacks import is_pending
    from trainform.errors import InputError

    if row.unreadable:
        return UNKNOWN
    try:
        return "pending" if is_pending(stack, row.content, root) else "deployed"
    except InputError:
        return UNKNOWN


# --- forms


def _table(rows: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    extra = [name for name in (OWNER, DRIFT) if any(row[name] for row in rows)]
    return [[*COLUMNS, *extra, *MORE_COLUMNS], *(_cells(row, extra) for row in rows)]


def _cells(row: Mapping[str, Any], extra: Sequence[str]) -> list[str]:
    cost = row["cost_per_hour"]
    return [
        row["experiment"],
        row["environment"],
        row["phase"] if not row["unreadable"] else "the record cannot be read",
        _counted(row["accelerators"]),
        row["age"],
        "" if cost is None else f"{cost['amount']:.2f} {cost['currency']}",
        row["state"],
        *(row[name] for name in extra),
        {"file": "follows file", "release": row["release"], UNKNOWN: UNKNOWN}[row["follows"]],
        row["revision"],
        row["stack"],
    ]


def _counted(accelerators: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in accelerators.items())


def _totals(rows: Sequence[Row], found: Overview) -> str:
    """Return the number of experiments, with the accelerators and the cost of those that have a cost."""
    if found.is_blind:
        return "no environment could be read; what is deployed is unknown"
    costs, counts = dict[str, Decimal](), Counter[str]()
    for row in rows:
        if row.cost is not None:
            counts.update(row.accelerators)
            costs[row.cost.currency] = costs.get(row.cost.currency, Decimal(0)) + row.cost.amount
    number = sum(row.phase != NOT_DEPLOYED for row in rows)
    parts = [f"{number} experiment{'' if number == 1 else 's'}"]
    parts += [_counted(dict(sorted(counts.items())))] if counts else []
    parts += (
        [" and ".join(f"{amount:.2f} {currency}" for currency, amount in sorted(costs.items())) + "/h"] if costs else []
    )
    unread = f"; {', '.join(found.not_read)} not read" if found.not_read else ""
    return f"{', '.join(parts)}{unread}"


def _print(rows: Sequence[Mapping[str, Any]], found: Overview, totals: str) -> None:
    from trainform.console.screen import screen

    console = screen()
    if rows:
        table = _table(rows)
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for cells in table:
            line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
            console.print(line.rstrip(), soft_wrap=True)
        console.print()
    console.print(totals, soft_wrap=True)
    for row in rows:
        if row["unreadable"] or row["waits"]:
            note(f"note: {row['unreadable'] or row['waits']}", err=True)
    for name, error in found.not_read.items():
        echo(*_not_read(name, error), err=True)


def _not_read(name: str, error: TrainformError) -> list[str]:
    return [f"not read: the environment {name}", *(f"  {line}" for line in error.lines())]


def _sections(rows: Sequence[Mapping[str, Any]], found: Overview, totals: str) -> list[Section]:
    from trainform.console.sections import Item, Section, Table, bounded

    table = (Table(tuple(map(tuple, _table(rows)))),) if rows else ()
    unread = (Item(" ".join(_not_read(name, error))) for name, error in found.not_read.items())
    return bounded([Section("Stacks", (Item(f"{totals}."), *table)), Section("Not read", tuple(unread))])
