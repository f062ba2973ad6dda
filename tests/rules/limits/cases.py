"""What the rules find in jobs of experiments, by fields and merge patches, and in objects of somebody else."""

from __future__ import annotations

from typing import Any

from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment
from trainform.backends.judged import named
from trainform.manifests.templates import Template
from trainform.rules.limits.rule import Finding, Judged
from trainform.rules.limits.secrets import plain_secrets
from trainform.rules.limits.table import BY_CODE
from trainform.spec.environment import Environment

TOKEN = "ghp" + "_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzAbC"
"""A token as a server gives it out."""


def limited(**limits: Any) -> Environment:
    """The environment of the samples with these limits alone."""
    return environment(limits=limits)


def found(code: str, where: Environment, **parts: Any) -> dict[str, str]:
    """The reasons of the rule's problems of an experiment, by path."""
    return {each.path: each.reason for each in job_problems(experiment(**parts), where) if each.code == code}


def by_role(code: str, where: Environment, patch: dict[str, Any], **role: Any) -> dict[str, str]:
    """The rule's problems of an experiment with a merge patch of a role's pods (metadata and spec)."""
    return found(code, where, roles={"worker": {"replicas": 2, **role, "pod_overrides": patch}})


def by_job(code: str, where: Environment, patch: dict[str, Any], **parts: Any) -> dict[str, str]:
    """The rule's problems of an experiment with the same patch in `manifest_overrides`."""
    tasks = {"worker": {"template": patch}}
    return found(code, where, manifest_overrides={"job": {"spec": {"tasks": tasks}}}, **parts)


def raw(code: str, where: Environment, body: dict[str, Any], *templates: Template) -> dict[str, str]:
    """The rule's findings in one object of somebody else, by place."""
    objects = {"object": body}
    judged = Judged(objects, templates, names=named(objects, templates))
    return {each.where: each.reason for each in BY_CODE[code].find(judged, where)}


def pod(spec: Any, metadata: Any = None) -> Template:
    """The pods of somebody else's object."""
    body = {"spec": spec} if metadata is None else {"metadata": metadata, "spec": spec}
    return Template(1, 1, body, "spec.template")


def secrets(*objects: Any, pods: tuple[Any, ...] = ()) -> list[Finding]:
    """The plain secrets in objects of somebody else."""
    templates = tuple(Template(1, 1, body, f"spec.tasks[{index}].template") for index, body in enumerate(pods))
    given = {str(index): body for index, body in enumerate(objects)}
    return [*plain_secrets(Judged(given, templates), environment())]


def workers(replicas: int, count: int = 8, kind: str = "a800", **role: Any) -> dict[str, Any]:
    """Return roles with one of pods with accelerators."""
    return {"worker": {"replicas": replicas, "accelerators": {kind: count}, **role}}
