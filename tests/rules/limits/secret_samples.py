"""A token as a server gives it out, and objects in which somebody has one."""

from __future__ import annotations

from typing import Any

from tests.support.samples import environment
from trainform.manifests.templates import Template
from trainform.rules.limits.rule import Finding, Judged
from trainform.rules.limits.secrets import plain_secrets

TOKEN = "ghp" + "_" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzAbC"


def judged(*objects: Any, pods: tuple[Any, ...] = ()) -> list[Finding]:
    """The findings in objects of somebody else."""
    templates = tuple(Template(1, 1, body, f"spec.tasks[{index}].template") for index, body in enumerate(pods))
    given = {str(index): body for index, body in enumerate(objects)}
    return [*plain_secrets(Judged(given, templates), environment())]
