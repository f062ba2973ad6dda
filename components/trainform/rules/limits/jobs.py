"""What a job object hands to controllers other than its operator, and what KubeDL makes of its own fields and annotations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from trainform.manifests.shapes import mapping
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding
from trainform.spec.environment import Environment

OPERATORS = (
    "jobset.sigs.k8s.io/jobset-controller",
    "kubeflow.org/training-operator",
    "trainer.kubeflow.org/trainjob-controller",
)
"""The managers that mean the operator itself."""
ADD_ONS = {"kubedl.io/git-sync-config": "docker.io/kubedl/git-sync:v1", "kubedl.io/tensorboard-config": None}
"""Annotations of which KubeDL makes a container, and the image that it takes if they name none; None for that of the job. Source: KubeDL
0.5.0, pkg/code_sync and pkg/tensorboard."""


class AddOn(Struct, frozen=True):
    """A container that KubeDL makes of an annotation. key, where: of the object, and the place of the annotation in it. variables: the texts in
    its `envs`."""

    key: str
    where: str
    images: tuple[str, ...]
    variables: tuple[str, ...]


def other_managers(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Jobs that name another controller than their operator, and caches of KubeDL, where the environment does not allow them."""
    limits = environment.limits
    for named in judged.names:
        if named.what == "manager" and named.value not in (*OPERATORS, *limits.job_managers):
            reason = f"in the environment {environment.name} the operator runs the job, and not this controller"
            fix = "remove it, or ask the platform team for limits.job_managers"
            yield Finding(named.where, named.value, reason, fix, key=named.key)
    for key, body in judged.objects.items():
        cache = mapping(body.get("spec")).get("cacheBackend")
        if cache and not limits.cache_backends:
            reason = f"KubeDL makes pods and volumes of it, which the environment {environment.name} does not count"
            fix = "remove it, or ask the platform team for limits.cache_backends"
            yield Finding("spec.cacheBackend", None, reason, fix, key=key, bound=cache)


def add_ons(judged: Judged) -> Iterator[AddOn]:
    """The containers that KubeDL makes of annotations of the objects."""
    for key, body in judged.objects.items():
        annotations = mapping(mapping(body.get("metadata")).get("annotations"))
        for annotation in ADD_ONS.keys() & annotations.keys():
            try:
                settings = json.loads(annotations[annotation], object_pairs_hook=list)
            except (TypeError, ValueError, RecursionError):
                settings = [("image", "?")]  # it may name any
            pairs = [pair for pair in settings if isinstance(pair, tuple)] if isinstance(settings, list) else []
            # Go reads names in any case, and takes the last one
            images = [str(value) for name, value in pairs if name.lower() == "image" and value]
            default = ADD_ONS[annotation]
            variables = [text for name, value in pairs if name.lower() == "envs" for text in _texts(value)]
            found = images if images or default is None else [default]
            yield AddOn(key, f"metadata.annotations.{annotation}", tuple(found), tuple(variables))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value
