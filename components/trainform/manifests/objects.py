"""Manifests of claims, Services, ConfigMaps, namespaces and priority classes, and what all job objects have in
common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainform import defaults
from trainform.manifests.manifest import CLAIM, RECORD_KEY, Component, Manifest, object_body, ownership, without_empty
from trainform.plan.model import Plan, ReplicaService
from trainform.plan.record import Record, record_name
from trainform.plan.volumes import ClaimPlan
from trainform.spec.environment import PriorityClass


def claim(plan: ClaimPlan, namespace: str, labels: dict[str, str]) -> Manifest:
    """Return a PersistentVolumeClaim. Its labels name its owner: the preflight refuses an existing claim without them
    and never adopts it."""
    spec = {
        "accessModes": plan.request.access_modes,
        "storageClassName": plan.storage_class,
        "resources": {"requests": {"storage": plan.request.size}},
    }
    body = object_body(CLAIM, plan.name, namespace, labels, spec=without_empty(spec))
    return Manifest(f"claim-{plan.key}", body, keep=plan.request.keep, component=Component.STORAGE)


# The provider must not wait for a Service: its pods are made with the job, after the Service. The provider would wait
# ten seconds for them, and it might store the Service as its watch saw it before an update, so that every later preview
# shows that update again.
SKIP_AWAIT = {"pulumi.com/skipAwait": "true"}


def rendezvous_service(name: str, namespace: str, selector: dict[str, str], labels: dict[str, str]) -> Manifest:
    """Return a headless Service that gives each pod the name `<pod>.<service>`, ready or not, since peers connect
    before any pod is ready.

    It has no ports, since DNS needs none. Its selector does not contain the revision, so that a change of the job does
    not change it.
    """
    spec = {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": selector}
    body = object_body("Service", name, namespace, labels, SKIP_AWAIT, spec=spec)
    return Manifest("service", body, component=Component.RENDEZVOUS)


def replica_service(service: ReplicaService, plan: Plan, index_label: str) -> Manifest:
    """Return a Service for one replica in all revisions; its ports are constant and forward to the ports that the pod
    opens."""
    label = defaults.REPLICA_LABEL if plan.by_name[service.role].per_replica else index_label
    own = {defaults.ROLE_LABEL: service.role, label: str(service.index)}
    spec = {
        "publishNotReadyAddresses": True,
        "selector": {**pod_selector(plan.experiment), **own},
        "ports": [
            {"name": purpose, "port": port, "targetPort": target, "protocol": "TCP"}
            for purpose, port, target in service.ports
        ],
    }
    body = object_body("Service", service.name, plan.namespace, experiment_labels(plan), SKIP_AWAIT, spec=spec)
    return Manifest(f"service-{service.role}-{service.index}", body, component=Component.RENDEZVOUS)


def launch_files(plan: Plan, backend_files: Mapping[str, str]) -> Manifest:
    """Return the ConfigMap with the launch files and the backend's own files. It is immutable: each revision has its
    own."""
    labels, data = experiment_labels(plan), {**plan.files, **backend_files}
    body = object_body("ConfigMap", plan.launch_files, plan.namespace, labels, immutable=True, data=data)
    return Manifest("launch-script", body, revision=plan.revision)


def user_files(plan: Plan) -> Manifest:
    """Return the ConfigMap with the user's files, which is immutable as that of the launch files."""
    data = {file.key: file.text for file in plan.mounted_files}
    body = object_body("ConfigMap", plan.user_files, plan.namespace, experiment_labels(plan), immutable=True, data=data)
    return Manifest("files", body, revision=plan.revision)


def deployed(record: Record, plan: Plan) -> Manifest:
    """Return the ConfigMap with the record of what is deployed. It is made or updated after the job object, and belongs
    to no revision."""
    name, labels = record_name(plan.experiment), experiment_labels(plan)
    body = object_body("ConfigMap", name, plan.namespace, labels, data=record.data())
    return Manifest(RECORD_KEY, body)


def experiment_labels(plan: Plan) -> dict[str, str]:
    """Return labels of every object of an experiment."""
    return ownership(plan.experiment, environment=plan.environment)


def job_manifest(
    plan: Plan,
    kind: str,
    spec: dict[str, Any],
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    late_refusals: tuple[tuple[str, ...], ...] = (),
) -> Manifest:
    """Return the job object with the user's labels and annotations, trainform's own, and those that the operator needs.
    late_refusals: see `Manifest`."""
    all_labels = {**plan.labels, **experiment_labels(plan), **({} if labels is None else labels)}
    all_annotations = {**plan.annotations, **({} if annotations is None else annotations)}
    all_labels[defaults.REVISION_LABEL] = plan.revision
    version = plan.operator.api_version
    body = object_body(kind, plan.job, plan.namespace, all_labels, all_annotations, api_version=version, spec=spec)
    return Manifest("job", body, revision=plan.revision, late_refusals=late_refusals)


def pod_selector(experiment: str) -> dict[str, str]:
    """Return labels that select all pods of an experiment, in any revision."""
    return {**defaults.MANAGED_BY, defaults.NAME_LABEL: experiment}


def namespace(name: str, labels: dict[str, str]) -> Manifest:
    """Return a Namespace. It is kept, since its deletion deletes every job and claim in it, also those of other
    stacks."""
    return Manifest("namespace", object_body("Namespace", name, None, labels), keep=True)


def priority_class(name: str, request: PriorityClass, labels: dict[str, str]) -> Manifest:
    """Return a PriorityClass. Kubernetes refuses changes of its value and its preemption."""
    fields: dict[str, Any] = {
        "value": request.value,
        "preemptionPolicy": "PreemptLowerPriority" if request.preempt else "Never",
        "description": request.description,
    }
    body = object_body("PriorityClass", name, None, labels, api_version="scheduling.k8s.io/v1", **without_empty(fields))
    return Manifest(f"priority-class-{name}", body)
