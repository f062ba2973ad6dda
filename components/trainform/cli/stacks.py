"""`trainform stacks`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import structs

from trainform.cli import candidates
from trainform.cli.app import prints
from trainform.cli.arguments import DATA, WHICH_ENVIRONMENT, Form, environment_option, option
from trainform.console.lines import echo, echo_json, note
from trainform.console.secrets import masked
from trainform.console.sections import counted
from trainform.console.terminal import in_columns
from trainform.project import ENVIRONMENTS, known_names, known_stacks, require_project

if TYPE_CHECKING:
    from trainform.deployed.overview import Overview, Row
    from trainform.deployed.stacks import ProjectStack

SECONDS = 5.0
UNKNOWN = "unknown"
COLUMNS = ("experiment", "environment", "phase", "accelerators", "age", "cost/h", "state")
OWNER = "owner"
"""The column after `COLUMNS`, shown if a row has a value."""
MORE_COLUMNS = ("release", "revision", "stack")

ENVIRONMENT_HELP = f"{WHICH_ENVIRONMENT} May be repeated. Default: all of the project."
EnvironmentsOption = Annotated[list[str] | None, environment_option(ENVIRONMENT_HELP)]
ExperimentOption = Annotated[str | None, option("NAME", "Show this experiment.", autocompletion=candidates.experiments)]
QueueOption = Annotated[str | None, option("NAME", "Show experiments of this queue.")]
OwnerOption = Annotated[str | None, option("TEXT", "Show experiments whose `owner` contains this text.")]


@prints(*DATA)
def command(
    environments: EnvironmentsOption = None,
    experiment: ExperimentOption = None,
    queue: QueueOption = None,
    owner: OwnerOption = None,
    *,
    form: Form,
) -> None:
    """List the experiments that are deployed: phase, accelerators, age, cost.

    It reads the records of `pulumi up` from the clusters of all environments, also those of other checkouts. The state
    is `pending` if the stack's file or release differs from the deployed experiment. What cannot be read is reported,
    and the rest is shown.

    Exit code: 0, or 1 if something could not be read.
    """
    from trainform.deployed.overview import overview
    from trainform.deployed.stacks import load_project_stacks
    from trainform.job.check import check_environment

    root = require_project()
    names = environments or known_names(ENVIRONMENTS, root)
    loaded = [check_environment(name, None if environments else root).or_raise() for name in dict.fromkeys(names)]
    found = overview(loaded, SECONDS)
    stacks = {stack.full_name: stack for stack in load_project_stacks(known_stacks(root), root)[0]}
    filters = {"experiment": experiment, "queue": queue, OWNER: owner}
    rows = [row for row in found.rows if _matches(row, filters)]
    described = masked([_described(row, stacks.get(row.stack), root) for row in rows])
    if form is Form.JSON:
        not_read = [{"environment": name, "error": error.as_dict()} for name, error in found.not_read.items()]
        echo_json({"ok": not not_read, "stacks": described, "not_read": not_read})
    else:
        _print(described, found, _totals(rows, found))
    if found.not_read:
        raise typer.Exit(1)


def _matches(row: Row, filters: Mapping[str, str | None]) -> bool:
    """Return whether the row has these values; an owner matches by a part of it."""
    return all(
        value is None or (value.lower() in row.owner.lower() if field == OWNER else value == getattr(row, field))
        for field, value in filters.items()
    )


def _described(row: Row, stack: ProjectStack | None, root: Path) -> dict[str, Any]:
    """Return a row as data. stack: None if it belongs to another project or checkout, or if its file cannot be read."""
    from trainform.cluster.live_drift import age, utc_now

    cost = None if row.cost is None else {"amount": float(row.cost.amount), "currency": row.cost.currency}
    return {
        **{field: value for field, value in structs.asdict(row).items() if field not in ("cost", "content")},
        "state": UNKNOWN if stack is None else _state(row, stack, root),
        "release": None if stack is None else stack.stack.release,
        "cost_per_hour": cost,
        "age": age(row.created, utc_now()),
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


# --- text


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
        row["release"] or "",
        row["revision"],
        row["stack"],
    ]


def _counted(accelerators: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in accelerators.items())


def _totals(rows: Sequence[Row], found: Overview) -> str:
    """Return the number of experiments, with the accelerators and the cost of those that have a cost."""
    costs, counts = dict[str, Decimal](), Counter[str]()
    for row in rows:
        if row.cost is not None:
            counts.update(row.accelerators)
            costs[row.cost.currency] = costs.get(row.cost.currency, Decimal(0)) + row.cost.amount
    cost = " and ".join(f"{amount:.2f} {currency}" for currency, amount in sorted(costs.items()))
    parts = [counted(len(rows), "experiment"), _counted(dict(sorted(counts.items()))), f"{cost}/h" if cost else ""]
    unread = f"; not read completely: {', '.join(found.not_read)}" if found.not_read else ""
    return f"{', '.join(filter(None, parts))}{unread}"


def _print(rows: Sequence[Mapping[str, Any]], found: Overview, totals: str) -> None:
    if rows:
        extra = [OWNER] if any(row[OWNER] for row in rows) else []
        table = [[*COLUMNS, *extra, *MORE_COLUMNS], *(_cells(row, extra) for row in rows)]
        echo(*in_columns(table, sys.maxsize), "")  # a row is one line, for grep
    echo(totals)
    note(*(f"note: {row['unreadable']}" for row in rows if row["unreadable"]), err=True)
    for name, error in found.not_read.items():
        echo(f"not read completely: the environment {name}", *(f"  {line}" for line in error.lines()), err=True)
