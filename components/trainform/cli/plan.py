"""`trainform plan`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainform.cli.app import prints_data
from trainform.cli.arguments import (
    ChosenEnvironmentOption,
    ExperimentArgument,
    JsonOption,
    RunOption,
    StackOption,
    choose,
)
from trainform.terminal.lines import echo, echo_json, note, terminal_width

if TYPE_CHECKING:
    from trainform.plan.model import Plan


@prints_data
def command(
    experiment: ExperimentArgument = None,
    environment: ChosenEnvironmentOption = None,
    stack: StackOption = None,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what will run: roles, pods, ranks, ports, variables, objects.

    It is computed from the files alone. `pulumi preview -s STACK` compares with the cluster.
    """
    from trainform.cli.overlaid import as_rows, overlaid
    from trainform.cli.plan_text import headline, notes, origin, sections
    from trainform.plan.export import as_data

    checked = choose(experiment, environment, stack, run).check()
    job = checked.checked()
    plan, values = job.plan, overlaid(checked.sources[0])
    if as_json:
        echo_json({**as_data(plan), "overlaid": as_rows(values)})
        return
    columns = terminal_width()
    echo(*headline(plan, columns))
    note(*origin(_usual_stack(plan) if stack is None else stack, columns))
    echo(*sections(plan, job.manifests, values, columns))
    note(*notes(plan, columns))


def _usual_stack(plan: Plan) -> str:
    """Return the stack that `trainform new` creates for the two files, or STACK if there is none."""
    from trainform.project import project_root

    name = f"{plan.experiment}.{plan.environment}"
    return name if (project_root() / "stacks" / f"Pulumi.{name}.yaml").is_file() else "STACK"
