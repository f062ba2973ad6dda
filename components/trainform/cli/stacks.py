"""`trainform stacks`."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trainform.cli.app import prints_data
from trainform.cli.arguments import WHICH_ENVIRONMENT, environment_option
from trainform.cli.forms import Form, FormOption, show_data
from trainform.errors import TrainformError
from trainform.project import ENVIRONMENTS, known_names, known_stacks, project_root, require_project
from trainform.secrets import masked
from trainform.terminal.lines import echo, note

if TYPE_CHECKING:
    from trainform.deployed.overview import Overview, Row
    from trainform.spec.environment import Environment

SECONDS = 5.0
FILE, RELEASE, UNKNOWN = "file", "release", "unknown"
"""What a stack follows."""
COLUMNS = ("experiment", "environment", "release", "revision", "phase", "accelerators", "cost per hour", "age", "stack")
DRIFT = "drift"
"""The column that is shown where it was asked for, before the last one."""


EnvironmentsOption = Annotated[
    list[str] | None, environment_option(f"{WHICH_ENVIRONMENT} May be repeated. Default: all of the project.")
]


DriftOption = Annotated[
    bool,
    typer.Option("--drift", help="Also say of each whether somebody has changed its objects by hand: more reads."),
]


@prints_data
def command(
    environments: EnvironmentsOption = None, drift: DriftOption = False, form: FormOption = Form.TERMINAL
) -> None:
    """Show what is deployed in all environments: phase, accelerators, cost, age.

    It reads the clusters of the environments: what `pulumi up` has recorded there, from this checkout or another one.
    Of an environment whose cluster cannot be read the reason is told, and the others are shown. With --drift a column
    says of each whether its objects are as they were deployed; `trainform drift` says what differs.

    Exit code: 0, or 1 if an environment could not be read.
    """
    from trainform.deployed.overview import overview
    from trainform.spec.stack import project_name

    root = project_root()
    require_project(root)
    loaded = _loaded(environments, root)
    found = overview(loaded, SECONDS)
    outcomes = _outcomes(found.rows, loaded) if drift else [None] * len(found.rows)
    own = {f"{project_name(root)}/{stack}" for stack in known_stacks(root)}
    described = [
        _described(row, outcome, *_followed(row.stack, own, root))
        for row, outcome in zip(found.rows, outcomes, strict=True)
    ]
    rows = masked(described)
    FORMS[form](rows, found)
    if found.not_read:
        raise typer.Exit(1)


def _loaded(names: Sequence[str] | None, root: Path) -> list[Environment]:
    """The models of the environments: those that are named, or all of the project."""
    from trainform.check_files import check_environment

    chosen = names if names else known_names(ENVIRONMENTS, root)
    return [check_environment(name, None if names else root).checked() for name in dict.fromkeys(chosen)]


def _outcomes(rows: Sequence[Row], environments: Sequence[Environment]) -> list[str]:
    """For each row what came of holding its objects beside what was deployed."""
    from trainform.drift.report import Target, find_drift

    models = {environment.name: environment for environment in environments}
    targets = []
    for row in rows:
        project, _, stack = row.stack.rpartition("/")
        name = (
            stack if stack else f"{row.experiment}.{row.environment}"
        )  # the record of an earlier trainform names none
        targets.append(Target(name, row.experiment, models[row.environment], project))
    return [stack.outcome.value for stack in find_drift(targets).stacks]


def _described(row: Row, drift: str | None, follows: str, release: str | None) -> dict[str, Any]:
    """A row as data. drift: None if nobody has looked."""
    from trainform.deployed.overview import age

    cost = None if row.cost is None else {"amount": float(row.cost.amount), "currency": row.cost.currency}
    return {
        "experiment": row.experiment,
        "environment": row.environment,
        "namespace": row.namespace,
        "stack": row.stack,
        "release": release,
        "follows": follows,
        "revision": row.revision,
        "run": row.run,
        "job": row.job,
        "phase": row.phase,
        "accelerators": dict(row.accelerators),
        "cost_per_hour": cost,
        "created": row.created,
        "age": age(row.created, datetime.datetime.now(datetime.UTC)),
        "drift": drift,
        "unreadable": row.unreadable,
    }


def _followed(stack: str, own: Collection[str], root: Path) -> tuple[str, str | None]:
    """What the stack's config names, and the release if that is one. Nobody here knows it of the stacks of other
    projects and checkouts, and of a config that cannot be read."""
    from trainform.errors import InputError
    from trainform.spec.stack import named_release

    if stack not in own:
        return UNKNOWN, None
    try:
        release = named_release(stack.rpartition("/")[2], root)
    except InputError:
        return UNKNOWN, None
    return (FILE, None) if release is None else (RELEASE, release)


# --- forms

FOLLOWED = {FILE: "follows file", UNKNOWN: UNKNOWN}


def _columns(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [*COLUMNS[:-1], *([DRIFT] if any(row["drift"] is not None for row in rows) else []), COLUMNS[-1]]


def _cells(row: Mapping[str, Any]) -> list[str]:
    cost = row["cost_per_hour"]
    return [
        row["experiment"],
        row["environment"],
        FOLLOWED[row["follows"]] if row["release"] is None else row["release"],
        row["revision"],
        row["phase"] if not row["unreadable"] else "the record cannot be read",
        _counted(row["accelerators"]),
        "" if cost is None else f"{cost['amount']:.2f} {cost['currency']}",
        row["age"],
        *([] if row["drift"] is None else [row["drift"]]),
        row["stack"],
    ]


def _counted(accelerators: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in accelerators.items())


def _totals(found: Overview) -> str:
    """How many there are, as far as that is known, and what those that run take and cost together."""
    from collections import Counter
    from decimal import Decimal

    if found.is_blind:
        return "nothing could be read, so nobody knows what is deployed"
    costs: dict[str, Decimal] = {}
    counts: Counter[str] = Counter()
    for row in found.rows:
        if row.cost is not None:
            counts.update(row.accelerators)
            costs[row.cost.currency] = costs.get(row.cost.currency, Decimal(0)) + row.cost.amount
    number = len(found.rows)
    where = " in the environments that could be read" if found.not_read else ""
    parts = [f"{number} experiment{'' if number == 1 else 's'} deployed{where}"]
    if costs:
        parts += [f"those that cost something: {_counted(dict(sorted(counts.items())))}"]
        parts += [" and ".join(f"{amount:.2f} {currency}" for currency, amount in sorted(costs.items())) + " per hour"]
    return ", ".join(parts)


def _as_terminal(rows: Sequence[Mapping[str, Any]], found: Overview) -> None:
    from trainform.terminal.screen import screen

    console = screen()
    if rows:
        table = [_columns(rows), *map(_cells, rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for cells in table:
            line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
            console.print(line.rstrip(), soft_wrap=True)
        console.print()
    console.print(_totals(found), soft_wrap=True)
    for row in rows:
        if row["unreadable"]:
            note(f"note: {row['unreadable']}", err=True)
    for name, error in found.not_read.items():
        echo(*_told(name, error), err=True)


def _told(name: str, error: TrainformError) -> list[str]:
    return [f"not read: the environment {name}", *(f"  {line}" for line in error.lines())]


def _as_markdown(rows: Sequence[Mapping[str, Any]], found: Overview) -> None:
    from trainform.review.forms.markdown import prose

    if rows:
        columns = _columns(rows)
        echo(f"| {' | '.join(columns)} |", f"|{' --- |' * len(columns)}")
        for row in rows:
            cells = (prose(cell.replace("|", r"\x7c")) if cell else "" for cell in _cells(row))
            echo(f"| {' | '.join(cells)} |")
        echo("")
    echo(prose(f"{_totals(found)}."))
    for name, error in found.not_read.items():
        echo("", prose(" ".join(_told(name, error))))


def _as_json(rows: Sequence[Mapping[str, Any]], found: Overview) -> None:
    not_read = [{"environment": name, "error": error.as_dict()} for name, error in found.not_read.items()]
    show_data({"ok": not not_read, "stacks": list(rows), "not_read": not_read})


FORMS = {Form.TERMINAL: _as_terminal, Form.MARKDOWN: _as_markdown, Form.JSON: _as_json}
