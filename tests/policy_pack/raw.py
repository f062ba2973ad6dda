"""Objects that make pods, as somebody writes them who has no trainform: one of each kind, with one container's image."""

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
        _object(
            "batch.volcano.sh/v1alpha1", "CronJob", {"jobTemplate": {"spec": {"queue": "default", "tasks": tasks}}}
        ),
        _object("flow.volcano.sh/v1alpha1", "JobTemplate", {"queue": "default", "tasks": tasks}),
        _object("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": _replicated(image)}),
        _object("trainer.kubeflow.org/v1alpha1", "TrainingRuntime", runtime),
        _object("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", runtime),
        _object("trainer.kubeflow.org/v1alpha1", "TrainJob", trainjob),
        _object("kubeflow.org/v1", "PyTorchJob", _replica_specs("pytorchReplicaSpecs", "Worker", image)),
        _object("kubeflow.org/v1", "TFJob", _replica_specs("tfReplicaSpecs", "Worker", image)),
        _object("kubeflow.org/v1", "MPIJob", _replica_specs("mpiReplicaSpecs", "Worker", image)),
        _object("training.kubedl.io/v1alpha1", "PyTorchJob", _replica_specs("pytorchReplicaSpecs", "Worker", image)),
        _object("training.kubedl.io/v1alpha1", "XDLJob", _replica_specs("xdlReplicaSpecs", "Worker", image)),
        _object("v1", "Pod", _pod(image)),
        _object("v1", "ReplicationController", {"replicas": 2, **template}),
        _object("apps/v1", "Deployment", {"replicas": 2, **template}),
        _object("apps/v1", "StatefulSet", {"replicas": 2, **template}),
        _object("apps/v1", "ReplicaSet", {"replicas": 2, **template}),
        _object("apps/v1", "DaemonSet", template),
        _object("batch/v1", "Job", {"parallelism": 2, **template}),
        _object("batch/v1", "CronJob", {"jobTemplate": {"spec": {"parallelism": 2, **template}}}),
        _object("ray.io/v1", "RayCluster", {"workerGroupSpecs": [{"replicas": 2, **template}]}),
        _object("example.com/v1", "Runner", {"podSpec": _pod(image)}),
    ]
    return {f"{body['apiVersion'].rpartition('/')[0]}/{body['kind']}": body for body in made}
