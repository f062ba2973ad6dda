"""`trainform doctor`."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from trainform.cli.app import prints
from trainform.cli.arguments import DATA, WHICH_ENVIRONMENT, Form, environment_option, option
from trainform.cli.jobs import from_input

FIX = "  fix: "
STYLES = {"not checked": "dim", "note": "yellow", "missing": "red"}
Data = dict[str, Any]

ENVIRONMENT = (
    f"{WHICH_ENVIRONMENT} Checks its context, the permissions in its namespace, and that its references exist. Without "
    "it: the current context."
)
FOR = (
    "Exit code 1 if something is missing for one of these: check, preview, review, up, rehearse, sandbox, demo, test "
    "(`make test`), environment (its own stack) and so on; several with commas."
)
TIMEOUT = "The longest time for all checks; a check without an answer by then counts as missing."
EnvironmentOption = Annotated[str | None, environment_option(ENVIRONMENT)]
ForOption = Annotated[list[str] | None, option("VERBS", FOR, "--for")]
TimeoutOption = Annotated[float, typer.Option("--timeout", min=0.5, max=600, metavar="SECONDS", help=TIMEOUT)]


@prints(*DATA)
def command(
    environment: EnvironmentOption = None,
    verbs: ForOption = None,
    timeout: TimeoutOption = 3.5,
    *,
    form: Form,
) -> None:
    """Check this machine and the cluster, and show how to install what is missing.

    It changes nothing, and lists the commands that are ready. Exit code: 0, also if something is missing, since few
    users need everything; with --for, 1 if something is missing for one of those commands; 2 if an option or the
    environment's file is wrong.
    """
    from trainform.console.lines import echo_json
    from trainform.job.check import check_environment
    from trainform.local.doctor.check_runs import Request, run_checks
    from trainform.local.doctor.checks import CHECKS, VERBS, apply_sandbox_fix
    from trainform.spec.load import project_root

    chosen = _chosen([] if verbs is None else verbs)
    offered = None if environment is None else check_environment(from_input(environment)).or_raise()
    request = Request(project_root(), offered, timeout)
    findings = apply_sandbox_fix(run_checks(CHECKS, request), request)
    made = {
        check.name: {
            "state": finding.state,
            "found": finding.text,
            "fix": finding.fix,
            "needed_for": list(check.verbs),
            "details": finding.details,
        }
        for check in CHECKS
        if (finding := findings.get(check.name)) is not None
    }
    verdicts = {verb: _verdict(verb, made) for verb in VERBS}
    ready = all(verdicts[verb]["ready"] for verb in chosen)
    if form is Form.JSON:
        echo_json({"ready": ready, "asked": chosen, "checks": made, "verbs": verdicts})
    else:
        _print(made, verdicts, {name: finding.brief for name, finding in findings.items()})
    if not ready:
        raise typer.Exit(1)


def _chosen(texts: Sequence[str]) -> list[str]:
    """Return the commands in texts such as `up,rehearse`. Raises `InputError` if one is unknown."""
    from trainform.errors import InputError, Problem
    from trainform.local.doctor.checks import VERBS

    names = [name.strip() for text in texts for name in text.split(",") if name.strip()]
    unknown = dict.fromkeys(name for name in names if name not in VERBS)
    if unknown:
        raise InputError([Problem("--for", ", ".join(unknown), "is not a command", f"choose from {', '.join(VERBS)}")])
    return names


def _verdict(verb: str, made: Data) -> Data:
    """Return what is missing for a command."""
    needed = {name: check["state"] for name, check in made.items() if verb in check["needed_for"]}
    missing = [name for name, state in needed.items() if state == "missing"]
    return {
        "ready": not missing,
        "missing": missing,
        "not_checked": [name for name, state in needed.items() if state == "not checked"],
    }


def _print(made: Data, verdicts: Data, briefs: Mapping[str, str]) -> None:
    from rich.text import Text

    from trainform.console.lines import escaped
    from trainform.console.screen import screen

    console = screen()
    for style, line in _lines(made, verdicts, briefs):
        pasted = line.startswith(FIX) or not console.is_terminal  # such a line is not broken
        console.print(Text(escaped(line), style=STYLES.get(style, "")), soft_wrap=pasted)


def _lines(made: Data, verdicts: Data, briefs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield a line for this machine, one for the cluster and one for the commands that are ready; then what is missing,
    with its fix."""
    from trainform.local.doctor.checks import IN_CLUSTER, ON_MACHINE

    for place, checks in (("this machine", ON_MACHINE), ("cluster", IN_CLUSTER)):
        well = [briefs[name] for name in (check.name for check in checks) if made.get(name, {}).get("state") == "ok"]
        if any(well):
            yield "", f"{place}: {', '.join(filter(None, well))}"
    verbs: dict[str, list[str]] = {}
    for verb, verdict in verdicts.items():
        verbs.setdefault(", ".join(map(_title, verdict["missing"])), []).append(verb)
    for missing, named in verbs.items():
        commands = "all commands" if len(named) == len(verdicts) else ", ".join(named)
        yield "", f"not ready: {commands} ({missing} missing)" if missing else f"ready: {commands}"
    wanting = [name for state in STYLES for name, check in made.items() if check["state"] == state]
    for (state, fix), names in itertools.groupby(wanting, key=lambda name: (made[name]["state"], made[name]["fix"])):
        for name in names:
            yield state, f"{state}: {_title(name)}: {made[name]['found']}"
        if fix:
            yield "", f"{FIX}{fix}"


def _title(name: str) -> str:
    return name.replace("_", " ")
