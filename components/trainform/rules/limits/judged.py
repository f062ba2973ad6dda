"""The input of the rules: objects as they are applied, and the pods that they create."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from trainform.manifests.templates import Template
from trainform.spec.queue_fields import QueueRequest


class Named(Struct, frozen=True):
    """A queue, priority class, time to live or controller that an object, or the metadata of its pods, names."""

    what: str
    """`queue`, `priority_class`, `ttl` (seconds until a job is deleted after its end) or `manager` (a controller)."""
    admission: str | None  # the admission that reads it; None for the operator
    where: str
    value: object  # None if it is not set and the default counts
    key: str | None = None  # of the object
    template: Template | None = None  # the pods whose metadata name it


class AddOn(Struct, frozen=True):
    """Containers and volumes that an operator adds to a job for a field or an annotation of an object."""

    key: str  # of the object
    where: str
    images: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()  # the texts in the variables of its container
    repository: str = ""  # to which it pushes an image
    volume: str = ""  # the type of a volume that it mounts in the pods
    path: str = ""  # of the volume
    is_cache: bool = False  # a cache has pods of its own


class Judged(Struct, frozen=True):
    """Objects that are judged together: those of an experiment or of an environment, or one object of a program."""

    objects: dict[str, dict[str, Any]]  # by `Manifest.key`
    templates: tuple[Template, ...]  # with merge patches applied
    written: dict[str, Any] = {}
    """The user's file as plain data: inputs of components keep all of it, also a patch that another one undoes."""
    queue: str | None = None  # of the pods
    own_queue: QueueRequest | None = None  # of the experiment
    names: tuple[Named, ...] = ()
    kept: frozenset[str] = frozenset()  # keys of objects that `destroy` keeps
    ranked: frozenset[str] | None = None  # roles whose pods have a rank; None if all may
    admitted: bool = True  # False if the backend does not support the environment's admission, which its rule reports
    add_ons: tuple[AddOn, ...] = ()

    def containers(self) -> Iterator[tuple[Template, str, dict[str, Any]]]:
        """Yield every container with its template and its path in it."""
        for template in self.templates:
            for where, container in template.named_containers():
                yield template, where, container

    def of_kind(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the objects of the kind, each with its key."""
        return ((key, body) for key, body in self.objects.items() if body.get("kind") == kind)
