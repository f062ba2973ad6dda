"""`trainform plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trainform.cli.results import Result, Results, reads_experiments, show_json
from trainform.console.lines import echo, note, terminal_width

if TYPE_CHECKING:
    from trainform.job.check import CheckedJob, CheckedPlatform


@reads_experiments
def command(results: Results, as_json: bool) -> None:
    """Show what will run: roles, pods, ranks, ports, variables, objects.

    The plan is computed from the files alone; `pulumi preview -s STACK` compares with the cluster. Without an
    experiment, it shows the objects of each environment's own stack. With --output json, several plans are one list.
    """
    if as_json:
        show_json(results, _as_data)
        return
    width = terminal_width()
    for number, result in enumerate(results.or_raise()):
        echo(*([""] if number else []))
        if result.platform is not None:
            _show_environment(result.platform, width)
        if result.job is not None:
            _show_job(result, result.job, width)


def _as_data(result: Result) -> dict[str, Any]:
    from msgspec import to_builtins

    from trainform.cli.plan_text import overlaid
    from trainform.plan.export import as_data

    checked = result.job
    if checked is None:
        manifests = result.checked.or_raise().manifests
        return {"environment": result.checked.environment, "objects": [manifest.body for manifest in manifests]}
    values = to_builtins(overlaid(checked.sources[0]))
    more = {"release": checked.release, "overlaid": values, "tried": [*result.tried]}
    return {**as_data(checked.or_raise().plan), **more}


def _show_environment(checked: CheckedPlatform, width: int) -> None:
    from trainform.cli.plan_text import platform

    echo(*platform(checked.or_raise(), width))
    note(*(f"Note: {text}" for text in checked.or_raise().warnings))


def _show_job(result: Result, checked: CheckedJob, width: int) -> None:
    from trainform.cli.plan_text import headline, notes, overlaid, sections

    job = checked.or_raise()
    plan = job.plan
    echo(*headline(plan, checked.release, result.tried, width))
    echo(*sections(plan, job.manifests, overlaid(checked.sources[0]), width))
    note(*notes(plan, width))
