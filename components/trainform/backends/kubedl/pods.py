"""Where the pods of KubeDL's jobs are, whoever wrote them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from trainform.backends.kubedl.controller import HOST, NETWORK_ANNOTATION
from trainform.backends.replica_specs.pods import replica_spec_pods
from trainform.backends.workloads import Finder, Pods
from trainform.manifests.shapes import mapping


def _on_its_network(find: Finder) -> Callable[[dict[str, Any]], Iterator[Pods]]:
    """The pods with the host network that KubeDL gives them by an annotation of the job."""

    def found(body: dict[str, Any]) -> Iterator[Pods]:
        annotations = mapping(mapping(body.get("metadata")).get("annotations"))
        on_host = annotations.get(NETWORK_ANNOTATION) == HOST
        for pods in find(body):
            template = pods.template
            changed = {**template.body, "spec": {**template.spec, "hostNetwork": True}} if on_host else template.body
            yield dataclasses.replace(pods, template=dataclasses.replace(template, body=changed))

    return found


PODS = {
    kind: tuple(_on_its_network(find) for find in finders)
    for kind, finders in replica_spec_pods("training.kubedl.io").items()
}
