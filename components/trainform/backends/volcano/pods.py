"""Where the pods of a Job of Volcano are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from trainform.backends.workloads import Pods, PodsAt, value_at
from trainform.manifests.shapes import mappings

_TASKS = PodsAt("spec.tasks.*", least="minAvailable", scheduler="spec.schedulerName")


def _with_volumes(body: dict[str, Any]) -> Iterator[Pods]:
    """The pods of the tasks, with the volumes of the Job, which each of them has."""
    names = [volume.get("volumeClaimName") for volume in mappings(value_at(body, "spec.volumes"))]
    of_job = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names]
    for pods in _TASKS(body):
        template = pods.template
        spec = {**template.spec, "volumes": [*template.volumes(), *of_job]} if of_job else template.spec
        yield structs.replace(pods, template=structs.replace(template, body={**template.body, "spec": spec}))


PODS = {"batch.volcano.sh/Job": (_with_volumes,)}
