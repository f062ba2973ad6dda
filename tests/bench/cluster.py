"""A sandbox for the run, our project on it, and the same job twice more by hand."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.bench.by_hand import token_program, typed_program, write_program
from tests.bench.commands import Command, run, trainform
from tests.bench.shapes import ENVIRONMENT, EXPERIMENT, PODS, environment_of, experiment_of
from tests.bench.workplace import Workplace
from tests.engine.live import Live
from tests.engine.project import Project
from trainform.errors import TrainformError
from trainform.sandbox.certificates import Certificates
from trainform.sandbox.control import Sandbox, down, up
from trainform.sandbox.folder import Layout
from trainform.sandbox.settings import from_environment
from trainform.spec.load import load_environment
from trainform.toolchain.ensure import ensure, environment

LARGE = 1024
LARGE_EXPERIMENT = f"{EXPERIMENT}-large"
NAMESPACE = "bench"
# Simulated: the job and its two copies by hand run at the same time. For a preview of 1,024 nodes there need not be 1,024.
NODES = 3 * PODS
COPIES = {"by-hand": typed_program, "by-token": token_program}
EMPTY = "empty"


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Where to run commands that talk to the sandbox."""

    project: Project
    context: str
    rendered: Path
    others: Mapping[str, Path]

    def ours(self, name: str, *words: str, experiment: str = EXPERIMENT) -> Command:
        """The engine on one of our stacks."""
        return pulumi(name, self.project.folder, self.project, f"{experiment}.{ENVIRONMENT}", *words)

    def other(self, name: str, key: str, *words: str) -> Command:
        """The engine on a program of `COPIES`, or on the empty one."""
        return pulumi(name, self.others[key], self.project, ENVIRONMENT, *words)


def pulumi(name: str, folder: Path, project: Project, stack: str, *words: str) -> Command:
    """The engine in a folder, with the state and the variables of our project."""
    return Command(name, ("pulumi", *words, "-s", stack, "--non-interactive"), folder, project.environ)


@contextlib.contextmanager
def cluster(workplace: Workplace) -> Iterator[Cluster]:
    """Up while the block lasts. The environment's stack is applied, the job and its copies are not."""
    file = workplace.folder / "sandbox.yaml"
    file.write_text(yaml.safe_dump(environment_of(NODES), sort_keys=False))
    folder = workplace.folder / "sandbox"
    toolchain = ensure(workplace.progress)
    try:
        settings = from_environment(load_environment(str(file)).checked(), folder)
        sandbox = up(settings, toolchain, workplace.progress)
        exports = {**environment(toolchain.pulumi), "KUBECONFIG": str(sandbox.kubeconfig)}
        with workplace.progress.step("preview: the projects"):
            made = _projects(workplace, sandbox, Project(workplace.folder / "project", exports, NAMESPACE))
        yield made
    except AssertionError as error:  # how `tests.engine` says that a command failed
        raise TrainformError(f"the benchmark's projects cannot be made:\n{error}", "correct what it says") from error
    finally:
        down(folder, workplace.progress, purge=True)


def _projects(workplace: Workplace, sandbox: Sandbox, project: Project) -> Cluster:
    data = environment_of(LARGE) | {"namespace": {"name": NAMESPACE, "create": True}}
    project.environment(**data)
    project.experiment(EXPERIMENT, experiment_of(PODS))
    project.experiment(LARGE_EXPERIMENT, experiment_of(LARGE) | {"name": LARGE_EXPERIMENT})
    made = Cluster(
        project,
        context=data["cluster"]["context"],
        rendered=workplace.folder / "rendered.yaml",
        others={key: workplace.new(key) for key in (*COPIES, EMPTY)},
    )
    run(pulumi("environment", project.folder, project, project.stack(), "up", "--yes", "--skip-preview"))
    for experiment in (EXPERIMENT, LARGE_EXPERIMENT):
        project.stack(experiment)
    render = trainform("render", project.folder, "render", EXPERIMENT, "-e", ENVIRONMENT)
    made.rendered.write_text(run(render)[1])
    manifests: list[dict[str, Any]] = list(yaml.safe_load_all(made.rendered.read_text()))
    live = Live(sandbox.url, Certificates(Layout(sandbox.folder).pki))
    for key, program in COPIES.items():
        live.create("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": key}})
        moved = [{**each, "metadata": {**each["metadata"], "namespace": key}} for each in manifests]
        write_program(made.others[key], key, program(moved, made.context))
    live.close()
    write_program(made.others[EMPTY], EMPTY, "")
    for key in made.others:
        run(made.other("new stack", key, "stack", "init"))
    return made
