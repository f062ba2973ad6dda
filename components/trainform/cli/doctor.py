"""`trainform doctor`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trainform.cli.app import prints_data
from trainform.cli.arguments import WHICH_ENVIRONMENT, JsonOption, environment_option, from_input

if TYPE_CHECKING:
    from trainform.doctor.model import Check, Findings, Verdict
    from trainform.terminal.screen import Screen

STYLES = {"ok": "green", "note": "yellow", "missing": "red", "not checked": "dim"}

EnvironmentOption = Annotated[
    str | None,
    environment_option(
        f"{WHICH_ENVIRONMENT} Looks in its context for what it names: namespace, queues, classes, claims. Without "
        "it: the current context."
    ),
]
ForOption = Annotated[
    list[str] | None,
    typer.Option(
        "--for",
        metavar="VERBS",
        help="Exit code 1 if one of these lacks something: check, preview, up, rehearse, sandbox, demo, test "
        "(`make test`), environment "
        "(its own stack) and so on; several with commas.",
        show_default=False,
    ),
]
TimeoutOption = Annotated[
    float,
    typer.Option(
        "--timeout",
        min=0.5,
        max=600,
        metavar="SECONDS",
        help="The most time for everything; what has not answered by then counts as missing.",
    ),
]


@prints_data
def command(
    environment: EnvironmentOption = None,
    verbs: ForOption = None,
    timeout: TimeoutOption = 3.5,
    as_json: JsonOption = False,
) -> None:
    """Show what is missing for which command, and what installs it.

    Changes nothing. Exit code: 0, also if something is missing, since not everybody needs everything; with --for 1 if
    one of those commands lacks something; 2 if an option or the environment's file is wrong.
    """
    from trainform.doctor.checks import CHECKS
    from trainform.doctor.looking import look
    from trainform.doctor.model import Asked, verdicts
    from trainform.examine import examine_environment
    from trainform.spec.load import project_root
    from trainform.terminal.lines import echo_json

    chosen = _chosen([] if verbs is None else verbs)
    offered = None if environment is None else examine_environment(from_input(environment)).checked()
    findings = look(CHECKS, Asked(project_root(), offered, timeout))
    found = verdicts(CHECKS, findings)
    if as_json:
        echo_json(_as_data(CHECKS, findings, found, chosen))
    else:
        _print(CHECKS, findings, found)
    if not all(verdict.ready for verdict in found if verdict.verb in chosen):
        raise typer.Exit(1)


def _chosen(texts: Sequence[str]) -> list[str]:
    """The verbs in words like `up,rehearse`; InputError with the known ones for any other."""
    from trainform.doctor.model import VERBS
    from trainform.errors import InputError, Problem

    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    unknown = [name for name in dict.fromkeys(names) if name not in VERBS]
    if unknown:
        raise InputError([Problem("--for", ", ".join(unknown), "is no verb", f"choose from {', '.join(VERBS)}")])
    return names


def _as_data(
    checks: Sequence[Check], findings: Findings, found: Sequence[Verdict], chosen: Sequence[str]
) -> dict[str, Any]:
    return {
        "ready": all(verdict.ready for verdict in found if verdict.verb in chosen),
        "asked": list(chosen),
        "checks": {
            check.name: {
                "state": findings[check.name].state,
                "found": findings[check.name].text,
                "fix": findings[check.name].fix,
                "needed_for": list(check.verbs),
                "details": findings[check.name].details,
            }
            for check in checks
            if check.name in findings
        },
        "verbs": {
            verdict.verb: {
                "ready": verdict.ready,
                "missing": list(verdict.missing),
                "not_checked": list(verdict.unknown),
            }
            for verdict in found
        },
    }


def _print(checks: Sequence[Check], findings: Findings, found: Sequence[Verdict]) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from trainform.doctor.model import fixes
    from trainform.terminal.screen import PIPED_WIDTH, screen

    console = screen(piped_width=PIPED_WIDTH)
    table = Table("check", "state", "found", "needed for", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in table.columns:
        column.overflow = "fold"
    for check in checks:
        if check.name in findings:
            finding = findings[check.name]
            state = Text(finding.state, style=STYLES[finding.state])
            table.add_row(_words(check.name), state, finding.text, ", ".join(check.verbs))
    console.print(table)
    _print_verdicts(console, found)
    mended = fixes(checks, findings)
    if mended:
        console.print()
        console.print("What mends it:")
    for name, fix in mended.items():
        console.print(f"  {_words(name)}: {fix}", soft_wrap=True)


def _print_verdicts(console: Screen, found: Sequence[Verdict]) -> None:
    """Verbs that lack the same stand in one line."""
    lines: dict[str, list[str]] = {}
    for verdict in found:
        reasons = [f"{_listed(verdict.missing)} missing"] if verdict.missing else []
        reasons += [f"{_listed(verdict.unknown)} not checked"] if verdict.unknown and not verdict.missing else []
        lines.setdefault(f"{'ready' if verdict.ready else 'not ready'}|{'; '.join(reasons)}", []).append(verdict.verb)
    for line, verbs in lines.items():
        state, _, reason = line.partition("|")
        console.print(f"{state}: {', '.join(verbs)}{f' ({reason})' if reason else ''}", soft_wrap=True)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(_words, names))


def _words(name: str) -> str:
    return name.replace("_", " ")
