"""Objects with the pods of a program, and an environment that takes images of one registry alone."""

from __future__ import annotations

import datetime
from typing import Any

from tests.support.samples import environment
from trainform.job.check import check_experiment
from trainform.job.render import RenderedJob, render_job
from trainform.resources.policy_pack.judgement import Resource, Verdict, verdict
from trainform.rules.limits.table import BY_CODE
from trainform.spec.environment import Environment

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
        _object("batch/v1", "Job", {"parallelism": 2, "completions": 2, **template}),
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


TODAY = datetime.date(2026, 12, 1)
GOOD, ELSEWHERE = "registry.example.com/ai/train:1.0", "other.example.com/ai/train:1.0"
REGISTRY = environment(limits={"registries": ["registry.example.com"]})
COMPONENT = "urn:pulumi:dev::trainform::trainform:index:TrainingJob::{}"
KINDS = sorted(raw_objects(GOOD))


def found(code: str, body: dict[str, Any], cluster: Environment = REGISTRY, **more: Any) -> Verdict:
    return verdict(BY_CODE[code], Resource("train", body, **more), cluster, TODAY)


def strict(cluster: Environment) -> Environment:
    """The environment with limits that every teaching experiment breaks."""
    limits = {"registries": ["nowhere.example.com"], "severity": {"TF-IMG-2": "error"}, "max_accelerators": 0}
    return cluster.model_copy(update={"limits": environment(limits=limits).limits})


def rendered(name: str, backend: str) -> RenderedJob:
    job = check_experiment(name, "dev").or_raise()
    return render_job(job.experiment.model_copy(update={"backend": backend}), job.environment)
