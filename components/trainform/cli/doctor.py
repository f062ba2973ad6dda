"""`trainform doctor`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trainform.cli.app import prints_data
from trainform.cli.arguments import WHICH_ENVIRONMENT, JsonOption, environment_option, from_input

if TYPE_CHECKING:
    from trainform.doctor.model import Check, Findings, Verdict

STYLES = {"note": "yellow", "missing": "red", "not checked": "dim"}

EnvironmentOption = Annotated[
    str | None,
    environment_option(
        f"{WHICH_ENVIRONMENT} Checks that what it names exists in its context: namespace, queues, classes, claims. "
        "Without it: the current context."
    ),
]
ForOption = Annotated[
    list[str] | None,
    typer.Option(
        "--for",
        metavar="VERBS",
        help="Exit code 1 if something is missing for one of these: check, preview, review, up, rehearse, sandbox, demo, test "
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
        help="The longest time for all checks; a check without an answer by then counts as missing.",
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

    Changes nothing. Exit code: 0, also if something is missing, since few users need everything; with --for, 1 if
    something is missing for one of those commands; 2 if an option or the environment's file is wrong.
    """
    from trainform.check_files import check_environment
    from trainform.doctor.checks import CHECKS
    from trainform.doctor.model import Request, verdicts
    from trainform.doctor.runner import run_checks
    from trainform.doctor.sandbox import sandbox_fix, with_sandbox_fix
    from trainform.spec.load import project_root
    from trainform.terminal.lines import echo_json

    chosen = _chosen([] if verbs is None else verbs)
    offered = None if environment is None else check_environment(from_input(environment)).checked()
    request = Request(project_root(), offered, timeout)
    findings = with_sandbox_fix(run_checks(CHECKS, request), sandbox_fix(request))
    found = verdicts(CHECKS, findings)
    if as_json:
        echo_json(_as_data(CHECKS, findings, found, chosen))
    else:
        _print(CHECKS, findings, found)
    if not all(verdict.ready for verdict in found if verdict.verb in chosen):
        raise typer.Exit(1)


def _chosen(texts: Sequence[str]) -> list[str]:
    """Return the commands in texts such as `up,rehearse`. Raises `InputError` with the known ones for any other."""
    from trainform.doctor.model import VERBS
    from trainform.errors import InputError, Problem

    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    unknown = [name for name in dict.fromkeys(names) if name not in VERBS]
    if unknown:
        raise InputError([Problem("--for", ", ".join(unknown), "is not a command", f"choose from {', '.join(VERBS)}")])
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
    from rich.text import Text

    from trainform.cli.doctor_text import lines
    from trainform.terminal.lines import terminal_width
    from trainform.terminal.screen import screen

    console = screen()
    for state, line in lines(checks, findings, found, terminal_width()):
        console.print(Text(line, style=STYLES.get(state, "")), soft_wrap=True)
