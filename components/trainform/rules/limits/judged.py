"""What the rules judge: objects as they are applied, and the pods that they make."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from trainform.manifests.templates import Template
from trainform.spec.queues import QueueRequest


class Named(Struct, frozen=True):
    """Something that an object, or the metadata of its pods, names.

    what: `queue`, `priority_class`, `ttl` (the seconds until a job is deleted after its end), or `manager` (the
    controller that the job is for). admission: what reads it; None for the operator. value: None if nothing names it,
    and the default counts. key: of the object. template: the pods whose metadata name it.
    """

    what: str
    admission: str | None
    where: str
    value: object
    key: str | None = None
    template: Template | None = None


class AddOn(Struct, frozen=True):
    """What an operator makes of a field or an annotation of an object, besides the job's pods.

    key, where: the object, and the place in it. images: those of its container. variables: the texts in the variables
    of its container. repository: where it pushes an image. volume: the type of a volume that it mounts in the pods.
    path: that of the volume. is_cache: True for a cache, which has pods of its own.
    """

    key: str
    where: str
    images: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    repository: str = ""
    volume: str = ""
    path: str = ""
    is_cache: bool = False


class Judged(Struct, frozen=True):
    """Objects that belong together: those of an experiment or of an environment, or one object of a program.

    objects: each by its key (`Manifest.key`). templates: the pods that the objects make, with merge patches applied.
    written: what the user wrote, as plain data: inputs of components keep all of it in state, also a patch that another
    one undoes. queue: the name of the queue in which the pods wait. own_queue: the queue that the experiment brings.
    names: what the objects name beside their pods' specs. kept: the keys of objects that `destroy` leaves. ranked: the
    roles whose pods have a rank; None if all may. admitted: False if the backend does not know the environment's
    admission, which is a problem of its own. add_ons: what the operator makes of the objects besides the pods.
    """

    objects: dict[str, dict[str, Any]]
    templates: tuple[Template, ...]
    written: dict[str, Any] = {}
    queue: str | None = None
    own_queue: QueueRequest | None = None
    names: tuple[Named, ...] = ()
    kept: frozenset[str] = frozenset()
    ranked: frozenset[str] | None = None
    admitted: bool = True
    add_ons: tuple[AddOn, ...] = ()

    def containers(self) -> Iterator[tuple[Template, str, dict[str, Any]]]:
        """Every container with its template and its path in it."""
        for template in self.templates:
            for where, container in template.named_containers():
                yield template, where, container

    def of_kind(self, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """The objects of the kind, each with its key."""
        return ((key, body) for key, body in self.objects.items() if body.get("kind") == kind)
