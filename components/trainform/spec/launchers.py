"""Launchers, which start the training processes on each ranked pod."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from trainform import defaults
from trainform.spec.base_model import Command, Model, NonEmpty, OnChange, OneOf, Text, added_later
from trainform.spec.names import Label
from trainform.spec.refusal import refusal

LAUNCHERS = ("torchrun", "accelerate", "deepspeed", "mpi", "tensorflow", "jax", "command", "entrypoint")

Arguments = Annotated[
    list[Text], Field(description="Words passed on unchanged. Default none. A change makes a new revision.")
]


class ScriptLauncher(Model, on_change=OnChange.NEW_REVISION):
    """A Python script and its arguments, as torchrun, accelerate and deepspeed start it."""

    script: NonEmpty = Field(description="Path of the training script in the image.")
    args: Arguments = Field(default=[], description="Arguments of the script.")
    launcher_args: Arguments = Field(default=[], description="Options of the launcher, before the script.")
    processes_per_node: int | None = Field(
        default=None, ge=1, le=2**31 - 1, description="Processes on each pod. Empty: one per accelerator, or one."
    )


class Elastic(Model, on_change=OnChange.NEW_REVISION):
    """Bounds within which ranked replicas may change while the job runs."""

    min_nodes: int = Field(ge=1, le=defaults.MOST_REPLICAS, description="Fewest ranked pods that train.")
    max_nodes: int = Field(ge=1, le=defaults.MOST_REPLICAS, description="Most ranked pods that train.")

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.min_nodes > self.max_nodes:
            raise refusal(f"the bound min_nodes {self.min_nodes} is above max_nodes {self.max_nodes}", "swap the two")
        return self


class Torchrun(ScriptLauncher, on_change=OnChange.NEW_REVISION):
    """`torchrun`: static (node rank and master address) or elastic (c10d rendezvous)."""

    elastic: Elastic | None = Field(
        default=None,
        description="Makes the job elastic, with a c10d rendezvous; ranked replicas change in place within the "
        "bounds. Empty: static.",
    )
    max_restarts: int = Field(
        default=0, ge=0, le=2**31 - 1, description="Restarts of the processes before torchrun fails."
    )


class Accelerate(ScriptLauncher, on_change=OnChange.NEW_REVISION):
    """`accelerate launch` on several machines."""

    rdzv_backend: Literal["static", "c10d"] = Field(
        default="static", description="Rendezvous. static: ranks of the plan; c10d: its own ranks."
    )


class Deepspeed(ScriptLauncher, on_change=OnChange.NEW_REVISION):
    """`deepspeed`: one pod starts the processes on every ranked pod over SSH, by a hostfile of the plan."""

    role: Label | None = Field(
        default=None,
        description="Role of the pod that launches; an unranked one only launches. Of several pods the first launches, "
        "as `launcher` in the plan. Empty: the first ranked role.",
    )


class Mpi(Model, on_change=OnChange.NEW_REVISION):
    """`mpirun` of Open MPI 4 or 5: one pod starts the processes on every ranked pod over SSH, by a hostfile of the
    plan."""

    command: Command = Field(description="What each process runs.")
    launcher_args: Arguments = Field(default=[], description="Options of mpirun, before the command.")
    processes_per_node: int | None = Field(
        default=None, ge=1, le=2**31 - 1, description=ScriptLauncher.model_fields["processes_per_node"].description
    )
    role: Label | None = Field(default=None, description=Deepspeed.model_fields["role"].description)


TaskType = Literal["chief", "worker", "ps", "evaluator"]


class Tensorflow(Model, on_change=OnChange.NEW_REVISION):
    """A TensorFlow program on every ranked pod, with TF_CONFIG."""

    command: Command = Field(description="What each pod runs.")
    task_types: dict[Label, TaskType] = Field(
        default={}, description="Task types of ranked roles. Empty: the roles' names."
    )


class Jax(Model, on_change=OnChange.NEW_REVISION):
    """A JAX program on every ranked pod: one process, which drives all accelerators of its pod."""

    command: Command = Field(description="What each pod runs.")


class Launcher(OneOf, on_change=OnChange.NEW_REVISION):
    """Exactly one launcher."""

    one_of = LAUNCHERS

    torchrun: Torchrun | None = Field(
        default=None, examples=[{"script": "/app/train.py"}], description="Start with torchrun."
    )
    accelerate: Accelerate | None = Field(
        default=None, examples=[{"script": "/app/train.py"}], description="Start with accelerate launch."
    )
    deepspeed: Deepspeed | None = Field(
        default=None, examples=[{"script": "/app/train.py"}], description="Start with DeepSpeed's launcher, over SSH."
    )
    mpi: Mpi | None = Field(
        default=None,
        examples=[{"command": ["python", "/app/train.py"]}],
        description="Start with mpirun of Open MPI, over SSH.",
    )
    tensorflow: Tensorflow | None = Field(
        default=None,
        examples=[{"command": ["python", "/app/train.py"]}],
        description="Start a TensorFlow program with TF_CONFIG.",
    )
    jax: Jax | None = added_later(
        examples=[{"command": ["python", "/app/train.py"]}],
        description="Start a JAX program with JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES (pods) and JAX_PROCESS_ID.",
    )
    command: Command | None = Field(
        default=None,
        examples=[["python", "/app/train.py"]],
        description="Command of each ranked pod, with RANK, WORLD_SIZE (pods), MASTER_ADDR and MASTER_PORT.",
    )
    entrypoint: list[Text] | None = added_later(
        examples=[["--model", "llama-8b"]],
        description="Arguments for the image's own ENTRYPOINT, in place of its CMD, with the same variables. Without a "
        "launch script, nothing waits for other pods. Only one ranked role. `[]` keeps the CMD.",
    )

    @property
    def kind(self) -> str:
        """Return the launcher's name, such as `torchrun`."""
        return next(name for name in LAUNCHERS if getattr(self, name) is not None)

    @property
    def script(self) -> ScriptLauncher | None:
        """Return the launcher if it starts a Python script, otherwise None."""
        scripts = (self.torchrun, self.accelerate, self.deepspeed)
        return next((launcher for launcher in scripts if launcher is not None), None)

    @property
    def program(self) -> list[str]:
        """Return the words that run on each ranked pod; empty if the launcher starts a Python script."""
        launcher = next((each for each in (self.mpi, self.tensorflow, self.jax) if each is not None), None)
        words = (None if launcher is None else launcher.command, self.command, self.entrypoint)
        return next((each for each in words if each is not None), [])

    @property
    def over_ssh(self) -> Deepspeed | Mpi | None:
        """Return the launcher if it starts all processes from one pod over SSH, otherwise None."""
        return self.deepspeed if self.deepspeed is not None else self.mpi

    @property
    def elastic(self) -> Elastic | None:
        """Return the bounds of an elastic job, None for a static one."""
        return None if self.torchrun is None else self.torchrun.elastic

    @property
    def processes_per_node(self) -> int | None:
        """Return the number that the user set, None if it follows from the accelerators."""
        if self.mpi is not None:
            return self.mpi.processes_per_node
        return None if self.script is None else self.script.processes_per_node
