"""`trainform check`."""

from __future__ import annotations

import typer
from msgspec import structs

from trainform.cli.results import Result, Results, reads_experiments
from trainform.console.lines import echo, echo_json, note
from trainform.console.sections import counted
from trainform.errors import InputError, in_order


@reads_experiments
def command(results: Results, as_json: bool) -> None:
    """Find every problem of experiments in an environment, without a cluster.

    All problems of all files are printed at once: the path, the value, the reason, and the fix. Notes report what is
    allowed but may surprise. Without an experiment, each environment is checked with the objects of its own stack. A
    stack must also follow a release where its environment has promotion gates.

    Exit code: 0, or 2 if there is a problem.
    """
    results = structs.replace(results, each=tuple(map(_check_gates, results.each)))
    problems = results.problems()
    if as_json:
        described = {"ok": not problems, "experiments": [_as_dict(result) for result in results.each]}
        if problems:
            echo_json(described | {"error": InputError(problems).as_dict()})
            raise typer.Exit(InputError.exit_code)
        echo_json(described)
        return
    several = len({result.checked.environment for result in results.each if result.checked.environment}) > 1
    for result in results.each:
        if not result.checked.problems:
            echo(_summary(result, several))
            note(*(f"  note: {text}" for text in _notes(result)))
    if problems:
        raise InputError(problems)


def _summary(result: Result, several: bool) -> str:
    """Return the line for a result without problems. several: whether experiments are checked in several
    environments."""
    if result.job is None:
        return f"{result.name}: ok, an environment"
    plan = result.job.or_raise().plan
    pods, accelerators = plan.totals.pods, sum(plan.totals.accelerators.values())
    name = f"{result.name} in {result.checked.environment}" if several else result.name
    amounts = f"{counted(pods, 'pod')}, {counted(accelerators, 'accelerator')}"
    tried = f"; tried, in no file: {', '.join(result.tried)}" if result.tried else ""
    return f"{name}: ok, {amounts}, revision {plan.revision}{tried}"


def _notes(result: Result) -> tuple[str, ...]:
    if result.platform is not None:
        return result.platform.or_raise().warnings
    return () if result.job is None else (*result.job.or_raise().plan.notes, *_lacks(result))


def _check_gates(result: Result) -> Result:
    """Return the result of an experiment's stack with the problems that the environment's gates find."""
    if result.stack is None or result.job is None:
        return result
    from trainform.deployed.releases.evidence import check_gates
    from trainform.project import project_root

    return structs.replace(result, checked=check_gates(result.job, result.stack, project_root()))


def _lacks(result: Result) -> list[str]:
    """Return what the stack's release lacks and the gates allow."""
    job = result.job
    if result.stack is None or job is None or job.release is None:
        return []
    from trainform.deployed.releases.evidence import lacks_of
    from trainform.project import project_root

    lacks = lacks_of(result.stack, job.name, job.release, job.or_raise().environment, project_root())
    return [lack.text for lack in lacks]


def _as_dict(result: Result) -> dict[str, object]:
    problems = in_order(result.checked.problems)
    described: dict[str, object] = {**result.as_dict(), "ok": not problems}
    if not problems:
        if result.job is not None:
            plan = result.job.or_raise().plan
            described |= {
                "job": plan.job,
                "revision": plan.revision,
                "pods": plan.totals.pods,
                "accelerators": plan.totals.accelerators,
            }
        described["notes"] = list(_notes(result))
    return described | {"problems": [problem.as_dict() for problem in problems]}
