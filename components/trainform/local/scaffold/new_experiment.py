"""A new experiment: the file for each launcher, with the roles that it needs."""

from __future__ import annotations

from enum import StrEnum
from string import Template

from msgspec import Struct, structs

from trainform import defaults
from trainform.local.scaffold.yaml_text import scalar


class LauncherName(StrEnum):
    """The values of `trainform new --launcher`: the launchers of the spec, and elastic torchrun jobs."""

    TORCHRUN = "torchrun"
    TORCHRUN_ELASTIC = "torchrun-elastic"
    ACCELERATE = "accelerate"
    DEEPSPEED = "deepspeed"
    MPI = "mpi"
    TENSORFLOW = "tensorflow"
    JAX = "jax"
    COMMAND = "command"
    ENTRYPOINT = "entrypoint"


_ONE_ROLE = ("worker: {replicas: $nodes$accelerators}",)


class LauncherText(Struct, frozen=True):
    """The text for one launcher, as templates: $nodes and $accelerators are the requested numbers, $others is one node
    less, $fewest is the lower bound of an elastic job, $first and $role are the pod and the role that launch. `note`:
    one line about it."""

    note: str
    launcher: str
    roles: tuple[str, ...] = _ONE_ROLE


# For operators that need the first pod in its own role.
_MASTER_ROLES = ("master: {replicas: 1$accelerators}", "worker: {replicas: $others$accelerators}")
# The launcher pod does not compute, so that the number of workers is free.
_LAUNCHER_ROLES = ("launcher: {ranked: false, cpu: 2, memory: 4Gi, shared_memory: 1Gi}", *_ONE_ROLE)

LAUNCHER_TEXTS = {
    LauncherName.TORCHRUN: LauncherText(
        "torchrun runs on each pod, with the pod's rank and one process for each accelerator.",
        "torchrun: {script: /app/train.py, args: []}",
    ),
    LauncherName.TORCHRUN_ELASTIC: LauncherText(
        "The training goes on with any number of workers within the bounds; within them replicas may change while it "
        "runs.",
        "torchrun: {script: /app/train.py, args: [], elastic: {min_nodes: $fewest, max_nodes: $nodes}, max_restarts: "
        "3}",
    ),
    LauncherName.ACCELERATE: LauncherText(
        "accelerate launch runs on each pod, with the pod's rank and one process for each accelerator.",
        "accelerate: {script: /app/train.py, args: []}",
    ),
    LauncherName.DEEPSPEED: LauncherText(
        "$first starts the processes on all workers over SSH; the image needs DeepSpeed, pdsh and an SSH server.",
        "deepspeed: {script: /app/train.py, args: []$role}",
        _LAUNCHER_ROLES,
    ),
    LauncherName.MPI: LauncherText(
        "$first starts the processes on all workers over SSH; the image needs Open MPI and an SSH server.",
        "mpi: {command: [python, /app/train.py]$role}",
        _LAUNCHER_ROLES,
    ),
    LauncherName.TENSORFLOW: LauncherText(
        "The program finds its parameter servers and workers in TF_CONFIG. A strategy without parameter servers "
        "needs no role `ps`.",
        "tensorflow: {command: [python, /app/train.py]}",
        ("ps: {replicas: 1, cpu: 4, memory: 16Gi}", *_ONE_ROLE),
    ),
    LauncherName.JAX: LauncherText(
        "The program runs on each pod and calls jax.distributed.initialize with JAX_NUM_PROCESSES and JAX_PROCESS_ID.",
        "jax: {command: [python, /app/train.py]}",
    ),
    LauncherName.COMMAND: LauncherText(
        "The command runs on each pod, with RANK, WORLD_SIZE (pods), MASTER_ADDR and MASTER_PORT in its environment.",
        "command: [python, /app/train.py]",
    ),
    LauncherName.ENTRYPOINT: LauncherText(
        "The image's own ENTRYPOINT runs on each pod, with the same variables as a command; nothing waits for other "
        "pods.",
        "entrypoint: []",
    ),
}

TEXT = Template("""\
# yaml-language-server: $$schema=../schemas/experiment.schema.json
# What runs. `trainform plan $name -e $environment` shows what it means; by the schema above editors complete and \
explain every field.
# $note
name: $quoted_name
image: $image
launcher: {$launcher}
roles:
$roles
storage:
  checkpoints: {size: 100Gi, mount: /mnt/checkpoints, keep: true}   # survives `pulumi destroy`
shared_memory: 16Gi
$queue""")


class NewExperiment(Struct, frozen=True):
    """The request for a new experiment. `accelerators`: kind and number for each pod. `master`: the first pod has its
    own role. `fixed`: an elastic job needs all its nodes, as some operators do. `one_role`: as some have."""

    name: str
    environment: str
    launcher: LauncherName
    nodes: int
    accelerators: tuple[str, int] | None
    queue: str | None
    master: bool = False
    fixed: bool = False
    one_role: bool = False

    @property
    def layouts(self) -> tuple[NewExperiment, ...]:
        """Return the possible divisions into roles and bounds for an elastic job, the simplest first."""
        several = LAUNCHER_TEXTS[self.launcher].roles != _ONE_ROLE
        elastic = self.launcher is LauncherName.TORCHRUN_ELASTIC
        return (
            self,
            *([structs.replace(self, master=True)] if self.nodes > 1 and not several else []),
            *([structs.replace(self, one_role=True)] if several else []),
            *([structs.replace(self, fixed=True)] if elastic else []),
        )

    def text(self, image: str) -> str:
        """Return the text of the file."""
        start = LAUNCHER_TEXTS[self.launcher]
        each = "" if self.accelerators is None else f", accelerators: {{{_entry(*self.accelerators)}}}"
        values = {
            "nodes": str(self.nodes),
            "others": str(self.nodes - 1),
            "fewest": str(self.nodes if self.fixed else 1),
            "accelerators": each,
            "first": "The first pod" if self.one_role else "The pod `launcher`",
            "role": "" if self.one_role else ", role: launcher",
        }
        roles = _MASTER_ROLES if self.master else _ONE_ROLE if self.one_role else start.roles
        return TEXT.substitute(
            name=self.name,
            quoted_name=scalar(self.name),
            environment=self.environment,
            note=Template(start.note).substitute(values),
            image=scalar(image),
            launcher=Template(start.launcher).substitute(values),
            roles="\n".join(f"  {Template(role).substitute(values)}" for role in roles),
            queue="" if self.queue is None else f"queue: {scalar(self.queue)}\n",
        )


def _entry(kind: str, count: int) -> str:
    return f"{scalar(kind)}: {count}"


def placeholder_image(registry: str | None, name: str = f"{defaults.PLACEHOLDER_IMAGE}:latest") -> str:
    """Return the image for an experiment whose image is not known yet."""
    return f"{'docker.io' if registry is None else registry.rstrip('/')}/{name}"


def stack_text(environment: str, experiment: str | None = None) -> str:
    """Return the config of an experiment's stack; without an experiment, of the environment's own stack."""
    named = "" if experiment is None else f"  trainform:experiment: {scalar(experiment)}\n"
    return f"config:\n{named}  trainform:environment: {scalar(environment)}\n"
