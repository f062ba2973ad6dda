"""The launch contract as a page: `docs/launch-contract.md`, written from the tables that render it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainform.backends.job import BACKENDS
from trainform.catalog import defaults
from trainform.identity.files import FILES as SSH_FILES
from trainform.plan.env import REPLICA_INDEX, VARIABLES
from trainform.plan.launch import FILES, SCRIPT_VARIABLES
from trainform.spec.launchers import LAUNCHERS

HEADER = """\
# The launch contract

Written by `make golden` from the tables in `components/trainform/plan/env.py` and `plan/launch.py`, so it says what is rendered.

What a launcher needs to know is worked out on the plan. It stands in the pod template as plain values, in a preview as plain changes, and
`trainform plan` shows where each comes from. A template cannot hold the replica's index, since all replicas of a role share it: the
index comes from the operator's label (see [below](#what-comes-from-the-operator)) into `TRAINFORM_REPLICA_INDEX`, and a short script computes
the rest and hands over to the launcher with `exec`. `trainform render` prints the script.

- **Scope.** Only pods of ranked roles, and the pod that launches, get these variables; extras get the user's alone.
- **Override.** A variable of the same name in `roles.<role>.env` wins over one in `env`, which wins over everything here, also over what
  the script computes and what the operator appends.
- **Two numbers.** `WORLD_SIZE` counts nodes (pods of ranked roles), `NUM_PROCESSES` training processes over all of them.

`trainform rehearse EXPERIMENT -e ENV --probe` runs the plan's pods in containers and checks that the world forms.
"""


def contract_page() -> str:
    """Markdown: variables per launcher, the files that pods find, what the operators add."""
    return "\n".join([HEADER, *_launchers(), *_files(), *_operators()])


def _launchers() -> Iterator[str]:
    yield "## Variables by launcher\n"
    for launcher in LAUNCHERS:
        yield f"### {launcher}\n"
        rows = [(f"`{variable.name}`", variable.text, "template") for variable in VARIABLES[launcher]]
        rows += [(f"`{name}`", text, "launch script") for name, text in SCRIPT_VARIABLES[launcher].items()]
        yield _table(("variable", "value", "set by"), rows)
    yield (
        "Every launched pod has besides: `TRAINFORM_<PURPOSE>_PORT` for each port that it opens itself (rendezvous, ssh, tensorflow), and "
        f"`{REPLICA_INDEX}`.\n"
    )


def _files() -> Iterator[str]:
    yield "## Files\n"
    yield f"In `{defaults.LAUNCH_MOUNT}`, from a ConfigMap that carries the revision in its name:\n"
    yield _table(("file", "what for"), [(f"`{name}`", text) for name, text in FILES.items()])
    yield (
        f"DeepSpeed also finds the hostfile where it looks by itself, at `{defaults.DEEPSPEED_MOUNT}/{defaults.HOSTFILE}`.\n\n"
        "In `~/.ssh` of the user that the pods run as (`run_as.home`, else `/root`), from a Secret whose keys follow from the stack's secret:\n"
    )
    yield _table(("file", "what for"), [(f"`{name}`", text) for name, text in SSH_FILES.items()])


def _operators() -> Iterator[str]:
    yield "## What comes from the operator\n"
    rows = [(name, f"label `{backend.INDEX_LABEL}`", backend.ADDS) for name, backend in BACKENDS.items()]
    yield _table(("backend", "index of a replica", "adds"), rows)


def _table(columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [columns, tuple("---" for _ in columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


if __name__ == "__main__":
    import sys

    sys.stdout.write(contract_page())
