"""`docs/reference/launch-contract.md`: the launch contract, generated from the tables that are used to render it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tools.docs.markdown import item, page, paragraph
from trainform import defaults
from trainform.backends.table import BACKENDS
from trainform.manifests.env import KEPT_PREFIX
from trainform.manifests.ssh_files import FILES as SSH_FILES
from trainform.plan.launch.launch import FILES, SCRIPT_VARIABLES
from trainform.plan.variables import REPLICA_INDEX, VARIABLES
from trainform.spec.launchers import LAUNCHERS

INTRODUCTION = """\
Written by `make golden` from the tables in `components/trainform/plan/variables.py` and `plan/launch/launch.py`, so \
it says what is \
rendered.

What a launcher needs to know is worked out on the plan. It stands in the pod template as plain values, in a preview \
as plain changes, and \
`trainform plan` shows where each comes from. A template cannot hold the replica's index, since all replicas of a role \
share it. The index \
comes from the operator's label (see [below](#what-comes-from-the-operator)) into `TRAINFORM_REPLICA_INDEX`, and a \
short script computes \
the rest and hands over to the launcher with `exec`. `trainform render` prints the script."""

RULES = (
    (
        "**Scope.** Only pods of ranked roles, and the pod that launches, get these variables; unranked roles get "
        "the user's alone."
    ),
    "**Override.** A variable of the same name in `roles.<role>.env` wins over one in `env`, which wins over "
    "everything here, also over what the script computes and what the operator appends.",
    (
        "**Two numbers.** `WORLD_SIZE` counts nodes (pods of ranked roles), `NUM_PROCESSES` training processes over "
        "all of them."
    ),
)
REHEARSE = """\
`trainform rehearse EXPERIMENT -e ENV --probe` runs the plan's pods in containers and checks that the world forms."""
IN_WORDS = f"""\
`$(NAME)` in a value or in a word of a command is put in by Kubernetes, before the container starts. It can be any \
variable of the container: \
trainform puts each behind those that its value refers to, wherever they stand in files, so `OUT: \
$(ROOT)/$({REPLICA_INDEX})` works.

Kubernetes leaves everything else as it stands, and says nothing. `trainform check` refuses a name that only the \
launch script sets \
(`$(RANK)`): read it in the program, or in a shell (`[sh, -c, 'run $RANK']`). It does not look at other names, such as \
a typing error, \
`$(HOSTNAME)`, or `PATH: /opt/bin:$(PATH)`, of which only the image knows the value. `$$(NAME)` is the text `$(NAME)`.

A shell's `$NAME` or `${{NAME}}` is nothing to Kubernetes: write `$(NAME)` where no shell reads it (`command: [python, \
train.py, $(OUT)]`). Into the \
command of a lifecycle hook Kubernetes puts nothing, and into that of a probe only what stands in `env` with its \
value."""


def contract_page() -> str:
    """Markdown: variables per launcher, the files that pods find, what the operators add."""
    return page(
        "# The launch contract",
        *map(paragraph, INTRODUCTION.split("\n\n")),
        "\n".join(map(item, RULES)),
        paragraph(REHEARSE),
        *_launchers(),
        "## Variables in values and commands",
        *map(paragraph, IN_WORDS.split("\n\n")),
        *_files(),
        *_operators(),
    )


def _launchers() -> Iterator[str]:
    yield "## Variables by launcher"
    yield paragraph("Each is a value in the pod template, but for those that are set by the launch script.")
    for launcher in LAUNCHERS:
        yield f"### {launcher}"
        rows = [(variable.name, variable.text) for variable in VARIABLES[launcher]]
        rows += [
            (name, f"set by the launch script. {text[0].upper()}{text[1:]}")
            for name, text in SCRIPT_VARIABLES[launcher].items()
        ]
        yield _items(rows)
    yield paragraph(
        "Every launched pod also has: `TRAINFORM_<PURPOSE>_PORT` for each port that it opens itself (rendezvous, "
        f"ssh, tensorflow), and `{REPLICA_INDEX}`."
    )


def _files() -> Iterator[str]:
    yield "## Files"
    yield paragraph(f"In `{defaults.LAUNCH_MOUNT}`, from a ConfigMap that carries the revision in its name:")
    yield _items(FILES.items())
    yield paragraph(
        "DeepSpeed also finds the hostfile where it looks by itself, at "
        f"`{defaults.DEEPSPEED_MOUNT}/{defaults.HOSTFILE}`."
    )
    yield paragraph(
        "In `~/.ssh` of the user that the pods run as (`run_as.home`, else `/root`), from a Secret whose keys follow "
        "from the stack's secret:"
    )
    yield _items(SSH_FILES.items())


def _operators() -> Iterator[str]:
    yield "## What comes from the operator"
    yield paragraph(
        f"Some operators put variables of their own over those that stand in the template. A variable `X` of the plan \
or of yours that \
such an operator would overwrite stands in the template as `{KEPT_PREFIX}X`. The container's command then begins with \
`env X=$({KEPT_PREFIX}X)`, so that the process gets your value, and `$(X)` in commands and values refers to it too."
    )
    yield paragraph("Each operator gives a pod its index by a label, and adds to pods:")
    for name, backend in BACKENDS.items():
        yield f"### {name}"
        yield paragraph(f"Index of a replica: label `{backend.INDEX_LABEL}`.")
        yield paragraph(f"Adds: {backend.ADDS}.")


def _items(rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join(item(f"`{name}`: {text}") for name, text in rows)
