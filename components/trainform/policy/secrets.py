"""Secrets that a merge patch brings in: the same rule as for the fields of the experiment, which `plan.secrets` tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trainform.errors import MASK, Problem, gives_away
from trainform.manifests.manifest import Manifest
from trainform.plan.model import Plan
from trainform.plan.secrets import IN_ANNOTATION, REASON, in_words, secret_annotations, secret_words
from trainform.policy.templates import Template
from trainform.spec.environment import Environment


def patched_secrets(plan: Plan, templates: list[Template], environment: Environment) -> Iterator[Problem]:
    """Secrets in pods that are not in the plan, word for word: those are told where they were written."""
    for template in templates:
        role = plan.by_name[template.role]
        env: set[tuple[str, object]] = {(variable.name, variable.value) for variable in role.env}
        env.update(item for init in role.init for item in init.env.items())
        commands = {(*role.command, *role.args), *(tuple(init.command) for init in role.init)}
        for _, container in template.containers():
            for entry in container.get("env", []):
                name, value = entry["name"], entry.get("value")
                if isinstance(value, str) and (name, value) not in env and gives_away(name, value):
                    fix = f"write `valueFrom: {{secretKeyRef: {{name: SECRET, key: KEY}}}}` for {name}"
                    yield Problem(f"{template.path}.env.{name}", MASK, REASON, fix)
            words = (*container.get("command", []), *container.get("args", []))
            for variable in secret_words(words).values() if words not in commands else ():
                yield Problem(template.path, MASK, REASON, in_words(variable))
        for key in secret_annotations(template.annotations):
            if template.annotations[key] != role.annotations.get(key):
                yield Problem(f"{template.path}.metadata.annotations.{key}", MASK, REASON, IN_ANNOTATION)


def patched_annotations(plan: Plan, manifests: Iterable[Manifest]) -> Iterator[Problem]:
    """The same for the annotations of objects."""
    for manifest in manifests:
        annotations = manifest.body["metadata"].get("annotations", {})
        for key in secret_annotations(annotations):
            if annotations[key] != plan.annotations.get(key):
                path = f"manifest_overrides.{manifest.key}.metadata.annotations.{key}"
                yield Problem(path, MASK, REASON, IN_ANNOTATION)
