"""Where the pods of KubeDL's jobs are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import structs

from trainform.backends.kubedl.controller import HOST, NETWORK_ANNOTATION
from trainform.backends.replica_specs.pods import replica_spec_pods
from trainform.backends.workloads import Finder, Pods
from trainform.manifests.shapes import mapping


def _on_its_network(find: Finder) -> Callable[[dict[str, Any]], Iterator[Pods]]:
    """The pods with the host network, and with the port, that KubeDL gives them by an annotation of the job."""

    def found(body: dict[str, Any]) -> Iterator[Pods]:
        annotations = mapping(mapping(body.get("metadata")).get("annotations"))
        on_host = annotations.get(NETWORK_ANNOTATION) == HOST
        for pods in find(body):
            template = pods.template
            changed = {**template.body, "spec": {**template.spec, "hostNetwork": True}} if on_host else template.body
            # KubeDL's name for the port for which it draws a number. Source: KubeDL 0.5.0, apis/training/v1alpha1
            drawn = f"{str(body.get('kind')).lower()}-port" if on_host else ""
            yield structs.replace(pods, template=structs.replace(template, body=changed, drawn=drawn))

    return found


PODS = {kind: tuple(map(_on_its_network, finders)) for kind, finders in replica_spec_pods("training.kubedl.io").items()}
