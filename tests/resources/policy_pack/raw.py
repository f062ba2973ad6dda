"""Jobs that a program makes without trainform: one of each kind that trainform renders, with one container's image."""

from __future__ import annotations

from typing import Any

Body = dict[str, Any]


def _pod(image: Any) -> Body:
    return {"restartPolicy": "Never", "containers": [{"name": "pytorch", "image": image}]}


def _object(api_version: str, kind: str, spec: Body) -> Body:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "train"}, "spec": spec}


def _replicated(image: Any) -> list[Body]:
    inner = {"parallelism": 2, "completions": 2, "template": {"spec": _pod(image)}}
    return [{"name": "node", "replicas": 1, "template": {"spec": inner}}]


def _replica_specs(field: str, kind: str, image: Any) -> Body:
    return {field: {kind: {"replicas": 2, "template": {"spec": _pod(image)}}}}


def raw_objects(image: Any) -> dict[str, Body]:
    """Each object by `GROUP/KIND`."""
    template = {"template": {"spec": _pod(image)}}
    tasks = [{"name": "worker", "replicas": 2, **template}]
    runtime = {"template": {"spec": {"replicatedJobs": _replicated(image)}}}
    trainjob = {"runtimeRef": {"name": "torch"}, "trainer": {"image": image, "numNodes": 2}}
    made = [
        _object("batch.volcano.sh/v1alpha1", "Job", {"minAvailable": 2, "queue": "default", "tasks": tasks}),
        _object("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": _replicated(image)}),
        _object("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", runtime),
        _object("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", runtime),
        _object("trainer.kubeflow.org/v1alpha1", "TrainJob", trainjob),
        _object("kubeflow.org/v1", "PyTorchJob", _replica_specs("pytorchReplicaSpecs", "Worker", image)),
        _object("kubeflow.org/v1", "TFJob", _replica_specs("tfReplicaSpecs", "Worker", image)),
        _object("kubeflow.org/v1", "MPIJob", _replica_specs("mpiReplicaSpecs", "Worker", image)),
        _object("training.kubedl.io/v1alpha1", "PyTorchJob", _replica_specs("pytorchReplicaSpecs", "Worker", image)),
        _object("training.kubedl.io/v1alpha1", "TFJob", _replica_specs("tfReplicaSpecs", "Worker", image)),
    ]
    return {f"{body['apiVersion'].rpartition('/')[0]}/{body['kind']}": body for body in made}
