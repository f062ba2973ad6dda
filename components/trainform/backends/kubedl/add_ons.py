"""Additions of KubeDL to a job besides its pods: containers, images and volumes for annotations and fields that a patch
may set."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from trainform.manifests.shapes import mapping
from trainform.rules.limits.rule import AddOn

ANNOTATIONS = {"kubedl.io/git-sync-config": "docker.io/kubedl/git-sync:v1", "kubedl.io/tensorboard-config": None}
"""Annotations of which KubeDL makes a container, and the image that it takes if they name none; None for that of the
job. Source: KubeDL 0.5.0, pkg/code_sync and pkg/tensorboard."""
# The type of volume of each storage of a model. Source: KubeDL 0.5.0, apis/model/v1alpha1.
_STORAGE = {"nfs": "nfs", "AWSEfs": "csi", "localStorage": "hostPath"}


def add_ons(key: str, body: dict[str, Any]) -> Iterator[AddOn]:
    """The add-ons of the object with this key; none for objects of other operators, which do not have these names."""
    annotations = mapping(mapping(body.get("metadata")).get("annotations"))
    for name in ANNOTATIONS.keys() & annotations.keys():
        settings = _settings(annotations[name])
        # Go reads names in any case, and takes the last one
        images = [str(value) for field, value in settings if field.lower() == "image" and value]
        default = ANNOTATIONS[name]
        variables = [text for field, value in settings if field.lower() == "envs" for text in _texts(value)]
        found = images if images or default is None else [default]
        yield AddOn(key, f"metadata.annotations.{name}", images=tuple(found), variables=tuple(variables))
    spec = mapping(body.get("spec"))
    model = mapping(spec.get("modelVersion"))
    if "imageRepo" in model:
        yield AddOn(key, "spec.modelVersion.imageRepo", repository=str(model["imageRepo"]))
    for kind, source in mapping(model.get("storage")).items():
        path = mapping(source).get("path")
        yield AddOn(key, f"spec.modelVersion.storage.{kind}", volume=_STORAGE.get(kind, kind), path=str(path))
    if spec.get("cacheBackend"):
        yield AddOn(key, "spec.cacheBackend", is_cache=True)


def _settings(text: Any) -> list[tuple[str, Any]]:
    """The settings of an annotation as pairs. Text that is not JSON may name any image."""
    try:
        pairs = json.loads(text, object_pairs_hook=list)
    except (TypeError, ValueError, RecursionError):
        return [("image", "?")]
    return [pair for pair in pairs if isinstance(pair, tuple)] if isinstance(pairs, list) else []


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value
