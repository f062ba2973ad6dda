"""Where the pods of any Job of Volcano are, whoever wrote it; of the kinds too from which Volcano makes Jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import Struct, structs

from trainform.backends.workloads import Pods, PodsAt, value_at
from trainform.manifests.shapes import mappings


class _Tasks(Struct, frozen=True):
    """The pods of the tasks of a Job. spec: the path of the Job's spec, which may be one for each item of a list. elsewhere: as in `Pods`."""

    spec: str
    elsewhere: str = ""

    def __call__(self, body: dict[str, Any]) -> Iterator[Pods]:
        scheduler = f"{self.spec}.schedulerName"
        find = PodsAt(
            f"{self.spec}.tasks.*", gang=True, least="minAvailable", scheduler=scheduler, elsewhere=self.elsewhere
        )
        volumes = [_volume(volume) for volume in mappings(value_at(body, f"{self.spec}.volumes"))]
        for pods in find(body):
            yield _with_volumes(pods, volumes) if volumes else pods


def _volume(of_job: dict[str, Any]) -> dict[str, Any]:
    """A volume of a Job as each of its pods has it."""
    claim = of_job.get("volumeClaimName")
    return {"name": claim, "persistentVolumeClaim": {"claimName": claim}}


def _with_volumes(pods: Pods, volumes: list[dict[str, Any]]) -> Pods:
    template = pods.template
    spec = {**template.spec, "volumes": [*template.volumes(), *volumes]}
    return structs.replace(pods, template=structs.replace(template, body={**template.body, "spec": spec}))


JOBS = {
    "batch.volcano.sh/Job": "spec",
    "batch.volcano.sh/CronJob": "spec.jobTemplate.spec",
    "flow.volcano.sh/JobTemplate": "spec",
}
"""The path of a Job's spec in each kind, as `GROUP/KIND`."""
FLOW = ("flow.volcano.sh", "JobFlow")
PATCH = "spec.flows.*.patch.jobSpec"
"""The kind that makes Jobs of JobTemplates, and where it changes their specs."""
PODS = {
    **{kind: (_Tasks(spec),) for kind, spec in JOBS.items()},
    "/".join(FLOW): (_Tasks(PATCH, "the JobTemplate"),),
}
