"""Where the pods of KubeDL's jobs are, whoever wrote them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import structs

from trainform.backends.kubedl.controller import HOST, NETWORK_ANNOTATION
from trainform.backends.replica_specs.pods import replica_spec_pods
from trainform.backends.workloads import Finder, Pods
from trainform.manifests.shapes import mapping
from trainform.manifests.templates import Template

# KubeDL makes an init container, and a pod with a Service and an Ingress, of the images that these annotations name.
POD_ANNOTATIONS = ("kubedl.io/git-sync-config", "kubedl.io/tensorboard-config")

_SHORT = ("ElasticDLJob", "MarsJob", "MPIJob")  # kinds of which the name of the port leaves `job` out


def _on_its_network(find: Finder) -> Callable[[dict[str, Any]], Iterator[Pods]]:
    """The pods with the host network, and with the port, that KubeDL gives them by an annotation of the job."""

    def found(body: dict[str, Any]) -> Iterator[Pods]:
        annotations = mapping(mapping(body.get("metadata")).get("annotations"))
        on_host = annotations.get(NETWORK_ANNOTATION) == HOST
        for pods in find(body):
            template = pods.template
            changed = {**template.body, "spec": {**template.spec, "hostNetwork": True}} if on_host else template.body
            drawn = _port_name(body) if on_host else ""
            yield structs.replace(pods, template=structs.replace(template, body=changed, drawn=drawn))

    return found


def _port_name(body: dict[str, Any]) -> str:
    """KubeDL's name for the port of a kind, for which it then draws a number. Source: KubeDL 0.5.0, apis/training/v1alpha1."""
    kind = str(body.get("kind"))
    return f"{(kind.removesuffix('Job') if kind in _SHORT else kind).lower()}-port"


def _add_ons(body: dict[str, Any]) -> Iterator[Pods]:
    """The containers that KubeDL makes of annotations of the job."""
    annotations = mapping(mapping(body.get("metadata")).get("annotations"))
    for annotation in POD_ANNOTATIONS:
        if annotation in annotations:
            container = {"name": annotation, **_image(annotations[annotation])}
            place = f"metadata.annotations.{annotation}"
            part = f"spec.containers.{annotation}"
            yield Pods(Template(1, 1, {"spec": {"containers": [container]}}, place, part=part), "KubeDL")


def _image(text: Any) -> dict[str, Any]:
    """The image in the settings of an add-on; empty where KubeDL takes its own, or where it cannot read them either."""
    try:
        settings = mapping(json.loads(text))
    except (TypeError, ValueError):
        return {}
    return {"image": settings["image"]} if "image" in settings else {}


PODS = {
    kind: (*(_on_its_network(find) for find in finders), _add_ons)
    for kind, finders in replica_spec_pods("training.kubedl.io").items()
}
