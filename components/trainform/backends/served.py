"""What the API server and the operator refuse, or drop, of the objects that users have patched: by the operator's own definition of each kind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from msgspec import structs

from trainform import defaults
from trainform.backends import queues
from trainform.backends.backend import Backend
from trainform.backends.workloads import value_at
from trainform.manifests.env import PodConventions
from trainform.manifests.handlers import NAMED_PORT
from trainform.manifests.served.mistake import Mistake
from trainform.manifests.served.pods import template_metadata
from trainform.manifests.served.validation import POD_TEMPLATE, Schema, key_of, kubernetes, mistakes, read, values
from trainform.manifests.shapes import mapping
from trainform.manifests.templates import Template
from trainform.plan.model import Plan, RolePlan

QUEUES = "trainform.backends"  # beside `queues.py` and `gangs.py`, whose objects jobs of several backends have


def folder_of(backend: Backend) -> str:
    """The package with the schemas of the backend's own kinds."""
    return type(backend).__module__.rpartition(".")[0]


def object_types(backend: Backend, body: dict[str, Any], patch: object) -> Iterator[Mistake]:
    """Fields that the kind does not have, and values of a wrong type, where a patch made them. A kind without a schema is not looked at."""
    return mistakes(body, _schema_of(body, backend), patch)


def object_values(backend: Backend, plan: Plan, key: str, body: dict[str, Any], patch: object) -> Iterator[Mistake]:
    """Values that the server, or the operator, refuses in an object whose types are right."""
    yield from template_metadata(body)
    found = values(body, _schema_of(body, backend), patch)
    yield from _less_added(backend, plan, found, body, backend.conventions(plan).container)
    yield from queues.refused(body)
    if patch:
        yield from backend.refused(plan, key, body)


def pod_types(backend: Backend, plan: Plan, template: dict[str, Any], patch: object) -> Iterator[Mistake]:
    """As `object_types`, in the pods of a role."""
    for mistake in mistakes(template, _pod_schema(backend), patch):
        if mistake.where != "spec.restartPolicy" or mistake.value not in backend.own_restarts(plan):
            yield mistake


def pod_values(
    backend: Backend, plan: Plan, role: RolePlan, template: dict[str, Any], patch: object
) -> Iterator[Mistake]:
    """As `object_values`, in the pods of a role."""
    found = values(template, {"$ref": POD_TEMPLATE}, patch)
    yield from _less_added(backend, plan, found, template, defaults.MAIN_CONTAINER)
    yield from backend.refused_of_pods(plan, role, template, defaults.MAIN_CONTAINER)


def user_conventions(backend: Backend, plan: Plan) -> PodConventions:
    """The backend's conventions for pods whose main container has the name that users know."""
    return structs.replace(backend.conventions(plan), container=defaults.MAIN_CONTAINER, ports={})


def _less_added(
    backend: Backend, plan: Plan, found: Iterable[Mistake], body: dict[str, Any], main: str
) -> Iterator[Mistake]:
    """Without those of probes and hooks that ask at a port which the operator adds to the main container, whose name is `main` in the body."""
    for mistake in found:
        above, _, asked = mistake.where.partition(f"spec.containers.{main}.")
        if not asked.endswith(NAMED_PORT) or mistake.value not in _added(
            backend, plan, value_at(body, above.rstrip("."))
        ):
            yield mistake


def _added(backend: Backend, plan: Plan, template: Any) -> Collection[str]:
    """The names of ports that the operator adds in pods of this template."""
    name = Template(1, 1, mapping(template)).role
    return next((backend.added_ports(plan, role) for role in plan.roles if role.name == name), ())


def _schema_of(body: dict[str, Any], backend: Backend) -> Schema:
    key = key_of(body["apiVersion"], body["kind"])
    if key in kubernetes():
        return {"$ref": key}
    schemas = (read(QUEUES), read(folder_of(backend)))
    return next((found[key] for found in schemas if key in found), {})


def _pod_schema(backend: Backend) -> Schema:
    """The schema of pod templates in the backend's own objects, with what the operator does not know of pods."""
    found = (_with_pods(schema) for schema in read(folder_of(backend)).values())
    return next((schema for schema in found if schema is not None), {"$ref": POD_TEMPLATE})


def _with_pods(schema: Schema) -> Schema | None:
    if schema.get("$ref") == POD_TEMPLATE:
        return schema
    inner = [*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties")]
    found = (_with_pods(part) for part in inner if isinstance(part, dict))
    return next((part for part in found if part is not None), None)
