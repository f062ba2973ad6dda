"""A sandbox for the run, the project, and two programs by hand for the same job."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from msgspec import Struct, structs

from bench.by_hand import token_program, typed_program, write_program
from bench.commands import Command, run, trainform
from bench.shapes import ENVIRONMENT, EXPERIMENT, PODS, environment_of, experiment_of, experiment_of_roles
from bench.workplace import Workplace
from tests.engine.live import Live
from tests.engine.project import Project
from trainform import defaults
from trainform.errors import TrainformError
from trainform.local.sandbox.certificates import Certificates
from trainform.local.sandbox.control import Sandbox, down, up
from trainform.local.sandbox.folder import Layout
from trainform.local.sandbox.settings import settings_from_environment
from trainform.local.toolchain.ensure import ensure, environment
from trainform.spec.load import load_environment

LARGE = 1024
LARGE_EXPERIMENT = f"{EXPERIMENT}-large"
MOST_ROLES_EXPERIMENT = f"{EXPERIMENT}-roles"
NAMESPACE = "bench"
# Simulated nodes: the job and its two copies run at the same time. A preview of 1,024 nodes does not need so many.
NODES = 3 * PODS
COPIES = {"by-hand": typed_program, "by-token": token_program}
EMPTY = "empty"
# The program of a stack, but for the components of its roles.
WITHOUT_ROLE_GROUPS = """\
from types import SimpleNamespace

from trainform.resources.components import RoleGroup
from trainform.resources.program import run

RoleGroup.create_for_job = lambda *arguments: SimpleNamespace(objects={})
run()
"""


class Cluster(Struct, frozen=True):
    """A running sandbox with its projects, and the commands to measure there."""

    project: Project
    context: str
    rendered: Path
    others: Mapping[str, Path]
    roleless: Path

    def ours(self, name: str, *words: str, experiment: str = EXPERIMENT) -> Command:
        """Return a pulumi command for a stack of the project."""
        return pulumi(name, self.project.folder, self.project, f"{experiment}.{ENVIRONMENT}", *words)

    def review(self, name: str, experiment: str = EXPERIMENT) -> Command:
        """Return `trainform review` of a stack of the project, in the Python that measures."""
        return self.verb(name, "review", f"{experiment}.{ENVIRONMENT}")

    def verb(self, name: str, *words: str) -> Command:
        """Return a command of trainform in the project, in the Python that measures."""
        return Command(name, (sys.executable, "-m", "trainform", *words), self.project.folder, self.project.environ)

    def without_role_groups(self, name: str, command: Command) -> Command:
        """Return a command of `ours` for a program that leaves out the components of the roles."""
        return structs.replace(command, name=name, folder=self.roleless)

    def other(self, name: str, key: str, *words: str) -> Command:
        """Return a pulumi command for a program of `COPIES`, or for the empty one."""
        return pulumi(name, self.others[key], self.project, ENVIRONMENT, *words)


def pulumi(name: str, folder: Path, project: Project, stack: str, *words: str) -> Command:
    """Return a pulumi command in a folder, with the variables of the project."""
    return Command(name, ("pulumi", *words, "-s", stack, "--non-interactive"), folder, project.environ)


@contextlib.contextmanager
def cluster(workplace: Workplace) -> Iterator[Cluster]:
    """Run a sandbox inside the block. The environment's stack is applied; the job and its copies are not."""
    file = workplace.folder / "sandbox.yaml"
    file.write_text(yaml.safe_dump(environment_of(NODES), sort_keys=False))
    folder = workplace.folder / "sandbox"
    toolchain = ensure(workplace.progress)
    try:
        settings = settings_from_environment(load_environment(str(file)).or_raise(), folder)
        sandbox = up(settings, toolchain, workplace.progress)
        exports = {**environment(toolchain.pulumi), "KUBECONFIG": str(sandbox.kubeconfig)}
        with workplace.progress.step("preview: the projects"):
            made = _projects(workplace, sandbox, Project(workplace.folder / "project", exports, NAMESPACE))
        yield made
    except AssertionError as error:  # `tests.engine` raises it if a command fails
        raise TrainformError(f"the benchmark's projects cannot be made:\n{error}", "correct that error") from error
    finally:
        down(folder, workplace.progress, purge=True)


def _projects(workplace: Workplace, sandbox: Sandbox, project: Project) -> Cluster:
    data = environment_of(LARGE) | {"namespace": {"name": NAMESPACE, "create": True}}
    project.environment(**data)
    project.experiment(EXPERIMENT, experiment_of(PODS))
    project.experiment(LARGE_EXPERIMENT, experiment_of(LARGE) | {"name": LARGE_EXPERIMENT})
    roles = experiment_of_roles(defaults.MOST_ROLES)
    project.experiment(MOST_ROLES_EXPERIMENT, roles | {"name": MOST_ROLES_EXPERIMENT})
    made = Cluster(
        project,
        context=data["cluster"]["context"],
        rendered=workplace.folder / "rendered.yaml",
        others={key: workplace.new(key) for key in (*COPIES, EMPTY)},
        roleless=workplace.folder / "without-role-groups",
    )
    run(pulumi("environment", project.folder, project, project.stack(), "up", "--yes", "--skip-preview"))
    for experiment in (EXPERIMENT, LARGE_EXPERIMENT, MOST_ROLES_EXPERIMENT):
        project.stack(experiment)
    shutil.copytree(project.folder, made.roleless, ignore=shutil.ignore_patterns("state"))
    (made.roleless / "stacks" / "__main__.py").write_text(WITHOUT_ROLE_GROUPS)
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
