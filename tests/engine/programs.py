"""Pulumi programs of more than one test."""

from __future__ import annotations

from collections.abc import Sequence

from tests.engine.project import Project

# The jobs of all experiments that the stack's config names. Each provider is a process of its own: they share one.
JOBS = """\
import pulumi
from trainform import TrainingJob
from trainform.job.check import check_environment
from trainform.resources.apply import cluster_provider

shared = cluster_provider(pulumi.ComponentResource("test:index:Cluster", "shared"), check_environment("dev").or_raise())
for name in pulumi.Config("trainform").require_object("experiments"):
    TrainingJob(name, name, "dev", opts=pulumi.ResourceOptions(providers=[shared]))
"""


def stack_of(project: Project, name: str, experiments: Sequence[str]) -> str:
    """Make a stack with these experiments, not up; its name. What goes up, changes and ends together takes one
    `pulumi`."""
    (project.folder / "stacks" / "__main__.py").write_text(JOBS)
    stack = project.program_stack(name, {"trainform:experiments": list(experiments)})
    if any(project.plan(experiment).ssh is not None for experiment in experiments):
        project.ssh_secret(stack).succeeded()
    return stack
