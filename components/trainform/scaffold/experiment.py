"""A new experiment: a file for each launcher, with the roles that it needs."""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from string import Template

from trainform.catalog import defaults
from trainform.scaffold.yaml_text import plain


class LauncherName(StrEnum):
    """What `trainform new --launcher` takes: the launchers of the spec, and torchrun's elastic jobs."""

    TORCHRUN = "torchrun"
    TORCHRUN_ELASTIC = "torchrun-elastic"
    ACCELERATE = "accelerate"
    DEEPSPEED = "deepspeed"
    MPI = "mpi"
    TENSORFLOW = "tensorflow"
    COMMAND = "command"


@dataclasses.dataclass(frozen=True)
class Start:
    """What is written for a launcher. note: what to know about it, one line. launcher: the entry of `launcher`. roles: the entries of `roles`.
    In both, $nodes and $accelerators stand for what is asked for, $others for one node less, $fewest for the lower bound of an elastic job."""

    note: str
    launcher: str
    roles: tuple[str, ...] = ("worker: {replicas: $nodes$accelerators}",)


# Where an operator wants the first pod in a role of its own (a PyTorchJob of KubeDL's).
_WITH_MASTER = ("master: {replicas: 1$accelerators}", "worker: {replicas: $others$accelerators}")
# One pod that computes nothing, so that any number of workers can follow.
_OVER_SSH = ("launcher: {ranked: false, cpu: 2, memory: 4Gi, shared_memory: 1Gi}", *Start.roles)

STARTS = {
    LauncherName.TORCHRUN: Start(
        "torchrun runs on each pod, with the pod's rank and one process for each accelerator.",
        "torchrun: {script: /app/train.py, args: []}",
    ),
    LauncherName.TORCHRUN_ELASTIC: Start(
        "The training goes on with any number of workers within the bounds; within them replicas may change while it runs.",
        "torchrun: {script: /app/train.py, args: [], elastic: {min_nodes: $fewest, max_nodes: $nodes}, max_restarts: 3}",
    ),
    LauncherName.ACCELERATE: Start(
        "accelerate launch runs on each pod, with the pod's rank and one process for each accelerator.",
        "accelerate: {script: /app/train.py, args: []}",
    ),
    LauncherName.DEEPSPEED: Start(
        "The pod `launcher` starts the processes on all workers over SSH; the image needs DeepSpeed, pdsh and an SSH server.",
        "deepspeed: {script: /app/train.py, args: [], role: launcher}",
        _OVER_SSH,
    ),
    LauncherName.MPI: Start(
        "The pod `launcher` starts the processes on all workers over SSH; the image needs Open MPI and an SSH server.",
        "mpi: {command: [python, /app/train.py], role: launcher}",
        _OVER_SSH,
    ),
    LauncherName.TENSORFLOW: Start(
        "The program finds its parameter servers and workers in TF_CONFIG. A strategy without parameter servers needs no role `ps`.",
        "tensorflow: {command: [python, /app/train.py]}",
        ("ps: {replicas: 1, cpu: 4, memory: 16Gi}", *Start.roles),
    ),
    LauncherName.COMMAND: Start(
        "The command runs on each pod, with RANK, WORLD_SIZE (pods), MASTER_ADDR and MASTER_PORT in its environment.",
        "command: [python, /app/train.py]",
    ),
}

TEXT = Template("""\
# yaml-language-server: $$schema=../schemas/experiment.schema.json
# What runs. `trainform plan $name -e $environment` shows what it means; by the schema above editors complete and explain every field.
# $note
name: $quoted_name
image: $image
launcher: {$launcher}
roles:
$roles
storage:
  checkpoints: {size: 100Gi, mount: /mnt/checkpoints, keep: true}   # survives `pulumi destroy`
shared_memory: 16Gi
queue: $queue
""")


@dataclasses.dataclass(frozen=True)
class NewExperiment:
    """What is asked for. accelerators: kind and number of each pod, None for pods without any. master: whether the first of equal pods has a
    role of its own. fixed: whether an elastic job needs all of its nodes, where the
    operator starts all pods or none."""

    name: str
    environment: str
    launcher: LauncherName
    nodes: int
    accelerators: tuple[str, int] | None
    queue: str
    master: bool = False
    fixed: bool = False

    @property
    def layouts(self) -> tuple[NewExperiment, ...]:
        """The ways to divide its pods into roles, and to bound their number, the simplest first."""
        divisible = self.nodes > 1 and STARTS[self.launcher].roles == Start.roles
        elastic = self.launcher is LauncherName.TORCHRUN_ELASTIC
        return (
            self,
            *([dataclasses.replace(self, master=True)] if divisible else []),
            *([dataclasses.replace(self, fixed=True)] if elastic else []),
        )

    def text(self, image: str) -> str:
        """The file."""
        start = STARTS[self.launcher]
        each = "" if self.accelerators is None else f", accelerators: {{{_entry(*self.accelerators)}}}"
        asked = {
            "nodes": str(self.nodes),
            "others": str(self.nodes - 1),
            "fewest": str(self.nodes if self.fixed else 1),
            "accelerators": each,
        }
        roles = _WITH_MASTER if self.master else start.roles
        return TEXT.substitute(
            name=self.name,
            quoted_name=plain(self.name),
            environment=self.environment,
            note=start.note,
            image=plain(image),
            launcher=Template(start.launcher).substitute(asked),
            roles="\n".join(f"  {Template(role).substitute(asked)}" for role in roles),
            queue=plain(self.queue),
        )


def _entry(kind: str, count: int) -> str:
    return f"{plain(kind)}: {count}"


def placeholder(registry: str | None, name: str = f"{defaults.PLACEHOLDER_IMAGE}:latest") -> str:
    """The image of an experiment whose own is not known yet."""
    return f"{'docker.io' if registry is None else registry.rstrip('/')}/{name}"


def stack_text(environment: str, experiment: str | None = None) -> str:
    """The config of a stack; without an experiment it is the environment's own."""
    named = "" if experiment is None else f"  trainform:experiment: {plain(experiment)}\n"
    return f"config:\n{named}  trainform:environment: {plain(environment)}\n"
