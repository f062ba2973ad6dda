"""`docs/reference/launch-contract.md`: the launch contract, generated from the tables that are used to render it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tools.docs.markdown import item, page, paragraph, table
from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.manifests.env import KEPT_PREFIX
from trainform.manifests.ssh_files import FILES as SSH_FILES
from trainform.plan.launch.launch import FILES, SCRIPT_VARIABLES
from trainform.plan.variables import MASKED, REPLICA_INDEX, VARIABLES
from trainform.spec.launchers import LAUNCHERS

INTRODUCTION = """\
Written by `make golden` from `components/trainform/plan/variables.py` and `plan/launch/launch.py`.

The launcher's variables are plain values in the pod template, so a preview shows each change; `trainform plan` shows \
where each comes from. Only the index of a replica is not in the template, which all replicas of a role share: the \
operator gives it by a label, and the launch script computes the rest and starts the launcher with `exec`. \
`trainform render` prints the script."""
ENDING = (
    "`run.sh` is process 1. It passes TERM, INT and QUIT on (without GNU's `env` all as TERM), reaps, and ends with "
    "the exit code of the launcher. Processes that the launcher leaves behind may delay the end by two seconds.",
    "After a failure it writes why to the pod's status, in `terminated.message`: torchrun's error file (with "
    "`@record`), else the first traceback of standard error, else its last 20 lines; before it torchrun's rank and "
    "exit code. At most 3,000 bytes.",
    f"Values of variables from Secrets (`{MASKED}` has their names) are `***` there, if they have at least six "
    "characters. Other spellings, such as base64, are not replaced.",
    "Standard error itself passes at once and unchanged. Without `awk`, `tee`, `mktemp`, `mkfifo` or a writable folder "
    "(`/tmp`, `/dev/shm`) the job runs the same, and the status has no message.",
    "Main containers without it (`entrypoint`, roles without ranks) have `terminationMessagePolicy: "
    "FallbackToLogsOnError`: the end of their log, with nothing masked. Steps of `prepare` leave no message.",
)

RULES = (
    "Only pods of ranked roles, and the pod that launches, get these variables.",
    "`roles.<role>.env` wins over `env`, and both win over the plan, the launch script and the operator.",
)
IN_WORDS = (
    "Kubernetes replaces `$(NAME)` in a value or a command by any variable of the container: trainform sorts the "
    f"variables, so `OUT: $(ROOT)/$({REPLICA_INDEX})` works. `$$(NAME)` is the text `$(NAME)`.",
    "`check` refuses a name that only the launch script sets (`$(RANK)`): read it in the program or in a shell, `[sh, "
    "-c, 'run $RANK']`. Kubernetes leaves any other unknown name as it is, also `$(PATH)` of the image.",
    "`$NAME` is for a shell: write `$(NAME)` where no shell reads it, as in `command: [python, train.py, $(OUT)]`.",
    "In a probe only the values in `env` are replaced, and in a lifecycle hook nothing is.",
)


def contract_page() -> str:
    """Markdown: variables per launcher, the files that pods find, what the operators add."""
    return page(
        "# The launch contract",
        *map(paragraph, INTRODUCTION.split("\n\n")),
        "\n".join(map(item, RULES)),
        *_launchers(),
        "## Variables in values and commands",
        "\n".join(map(item, IN_WORDS)),
        *_files(),
        "## The end of a container",
        "\n".join(map(item, ENDING)),
        *_operators(),
    )


def _launchers() -> Iterator[str]:
    yield "## Variables by launcher"
    launchers: dict[tuple[str, str], list[str]] = {}
    for launcher in LAUNCHERS:
        for variable in VARIABLES[launcher]:
            launchers.setdefault((f"`{variable.name}`", variable.text), []).append(launcher)
        for names, text in SCRIPT_VARIABLES[launcher].items():
            shown = ", ".join(f"`{name}`" for name in names.split(", "))
            launchers.setdefault((f"{shown} (1)", text), []).append(launcher)
    rows = [(names, _listed(found), text) for (names, text), found in launchers.items()]
    yield table(("variable", "launchers", "value"), rows)
    yield paragraph(
        f"(1) Set by the launch script. Every launched pod also has `{REPLICA_INDEX}`, and `TRAINFORM_<PURPOSE>_PORT` "
        "for each port that it opens itself (rendezvous, ssh, tensorflow)."
    )


def _listed(launchers: Sequence[str]) -> str:
    """Return the launchers in few words."""
    others = [launcher for launcher in LAUNCHERS if launcher not in launchers]
    if len(others) > 1:
        return ", ".join(launchers)
    return f"all but {others[0]}" if others else "all"


def _files() -> Iterator[str]:
    yield "## Files"
    yield paragraph(f"In `{defaults.LAUNCH_MOUNT}`, from a ConfigMap with the revision in its name:")
    yield _items(FILES.items())
    yield paragraph(f"DeepSpeed also finds the hostfile at `{defaults.DEEPSPEED_MOUNT}/{defaults.HOSTFILE}`.")
    yield paragraph("In `~/.ssh` (`run_as.home`, else `/root`), from a Secret:")
    yield _items(SSH_FILES.items())


def _operators() -> Iterator[str]:
    yield "## What the operator adds"
    yield paragraph(
        f"An operator may put its own variables over those in the template. Where it would overwrite a variable `X`, \
the template has `{KEPT_PREFIX}X`, and the container's command begins with `env X=$({KEPT_PREFIX}X)`: the process gets \
the value of the plan, or yours."
    )
    yield "\n".join(
        item(f"**{name}**: the index in the label `{backend.INDEX_LABEL}`; {backend.ADDS}.")
        for name, backend in BACKENDS.items()
    )


def _items(rows: Iterable[tuple[str, str]]) -> str:
    return "\n".join(item(f"`{name}`: {text}") for name, text in rows)
