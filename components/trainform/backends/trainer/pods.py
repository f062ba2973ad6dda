"""The pods in Kubeflow Trainer's objects: runtimes have them, and a TrainJob changes parts of a runtime's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msgspec import structs

from trainform.backends.backend import DEADLINE, Finder, Pods, places, value_at
from trainform.backends.jobset.spec import replicated_jobs
from trainform.backends.trainer.runtime import NODE
from trainform.manifests.templates import Template

_RUNTIME: tuple[Finder, ...] = (replicated_jobs("spec.template.spec", "the TrainJob that uses it"),)
_PATCHES = "spec.runtimePatches.*.trainingRuntimeSpec.template.spec.replicatedJobs.*.template"
_INNER = ("spec", "template")
_CONTAINER = {"image": "image", "command": "command", "args": "args", "env": "env", "resourcesPerNode": "resources"}


def _train_job(body: dict[str, Any]) -> Iterator[Pods]:
    """Yield the parts of pods that a TrainJob sets; its runtime has the others."""
    runtime = value_at(body, "spec.runtimeRef.name")
    elsewhere = f"the runtime {runtime}"
    patched = False
    for job, _, place in places(body, _PATCHES):
        template = value_at(job, "template.spec.template")
        if not isinstance(template, dict):
            continue
        is_node = job.get("name") == NODE
        patched = patched or is_node
        where = ".".join((*place, *_INNER))
        found = _with_trainer(body, template, where) if is_node else Template(1, 1, {"spec": {}, **template}, where)
        yield Pods(found, elsewhere)
    if not patched and any(field in _trainer(body) for field in _CONTAINER):
        yield Pods(_with_trainer(body, {}, "spec.trainer"), elsewhere)


def changed(template: Template, name: str, trained: str, job: dict[str, Any]) -> Template:
    """Return the pods of the runtime's replicated job of this name with what the TrainJob changes in them, as Trainer
    merges it. trained: the name of the replicated job that `trainer` of the TrainJob configures."""
    body = template.body
    for patch, _, _ in places(job, _PATCHES):
        inner = value_at(patch, "template.spec.template") if patch.get("name") == name else None
        body = _merged(body, inner) if isinstance(inner, dict) else body
    container = {field: _trainer(job)[key] for key, field in _CONTAINER.items() if key in _trainer(job)}
    if name == trained and container:
        body = _merged(body, {"spec": {"containers": [{"name": NODE, **container}]}})
    return structs.replace(template, body=body)


def _merged(base: Any, change: Any) -> Any:
    """Return Kubernetes' strategic merge: mappings by their keys, items of lists by their names; any other list
    replaces the list."""
    if isinstance(base, dict) and isinstance(change, dict):
        return {**base, **{key: _merged(base.get(key), value) for key, value in change.items()}}
    if not (_are_named(base) and _are_named(change)):
        return change
    given = {item["name"]: item for item in change}
    known = {item["name"] for item in base}
    merged = [_merged(item, given[item["name"]]) if item["name"] in given else item for item in base]
    return merged + [item for item in change if item["name"] not in known]


def _are_named(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(item, dict) and isinstance(item.get("name"), str) for item in value
    )


def _trainer(body: dict[str, Any]) -> dict[str, Any]:
    found = value_at(body, "spec.trainer")
    return found if isinstance(found, dict) else {}


def _with_trainer(body: dict[str, Any], template: dict[str, Any], place: str) -> Template:
    """Return the template of the nodes with the fields of `trainer`, which Trainer sets in the container of the
    nodes."""
    trainer = _trainer(body)
    container = {field: trainer[key] for key, field in _CONTAINER.items() if key in trainer}
    spec = template.get("spec", {})
    patched = [item for item in spec.get("containers", []) if isinstance(item, dict)]
    own: dict[str, Any] = next((item for item in patched if item.get("name") == NODE), {"name": NODE})
    containers = [{**own, **container}, *(item for item in patched if item is not own)]
    nodes = trainer.get("numNodes", 1)
    replicas = nodes if isinstance(nodes, int) else 1
    run_time = value_at(body, f"spec.{DEADLINE}")
    return Template(
        replicas, replicas, {**template, "spec": {**spec, "containers": containers}}, place, run_time=run_time
    )


PODS = {
    "trainer.kubeflow.org/TrainingRuntime": _RUNTIME,
    "trainer.kubeflow.org/ClusterTrainingRuntime": _RUNTIME,
    "trainer.kubeflow.org/TrainJob": (_train_job,),
}
