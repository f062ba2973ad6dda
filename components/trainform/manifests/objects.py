"""Claims, Services, ConfigMaps, namespaces and priority classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trainform.catalog import defaults
from trainform.manifests.manifest import Manifest, ownership, without_empty
from trainform.plan.model import ClaimPlan, Plan, ReplicaService
from trainform.spec.environment import PriorityClass


def claim(plan: ClaimPlan, namespace: str, labels: dict[str, str]) -> Manifest:
    """A PersistentVolumeClaim. Its labels say whose it is: a claim without them is refused, never taken over."""
    body = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": plan.name, "namespace": namespace, "labels": labels},
        "spec": without_empty(
            {
                "accessModes": plan.request.access_modes,
                "storageClassName": plan.storage_class,
                "resources": {"requests": {"storage": plan.request.size}},
            }
        ),
    }
    return Manifest(f"claim-{plan.key}", body, keep=plan.request.keep)


# Nothing is to wait for: the pods come with the job, which comes after the Service. Pulumi's provider would look for them for ten seconds,
# and might note the Service as its watch saw it before an update, so that every preview after it shows the update again.
WITHOUT_WAITING = {"pulumi.com/skipAwait": "true"}


def rendezvous_service(name: str, namespace: str, selector: dict[str, str], labels: dict[str, str]) -> Manifest:
    """A headless Service that gives each pod the name `<pod>.<service>`, ready or not: peers meet before any is ready.

    It has no ports, since DNS needs none, and its selector never follows the revision, so that a change of the job leaves it alone.
    """
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "labels": labels, "annotations": WITHOUT_WAITING},
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": True, "selector": selector},
    }
    return Manifest("service", body)


def replica_service(service: ReplicaService, plan: Plan, index_label: str) -> Manifest:
    """A Service for one replica, in any revision: constant ports in front of the ones that the pod opens."""
    body = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": service.name,
            "namespace": plan.namespace,
            "labels": experiment_labels(plan),
            "annotations": WITHOUT_WAITING,
        },
        "spec": {
            "publishNotReadyAddresses": True,
            "selector": {
                **pod_selector(plan.experiment),
                defaults.ROLE_LABEL: service.role,
                defaults.REPLICA_LABEL if plan.by_name[service.role].per_replica else index_label: str(service.index),
            },
            "ports": [
                {"name": purpose, "port": port, "targetPort": target, "protocol": "TCP"}
                for purpose, port, target in service.ports
            ],
        },
    }
    return Manifest(f"service-{service.role}-{service.index}", body)


def launch_files(plan: Plan, further: Mapping[str, str]) -> Manifest:
    """The ConfigMap with the launch files and `further` entries of the backend, immutable: a new revision brings its own."""
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": plan.launch_files, "namespace": plan.namespace, "labels": experiment_labels(plan)},
        "immutable": True,
        "data": {**plan.files, **further},
    }
    return Manifest("launch-script", body, revision=plan.revision)


def experiment_labels(plan: Plan) -> dict[str, str]:
    """Labels of every object of an experiment."""
    return ownership(plan.experiment, environment=plan.environment)


def job_metadata(
    plan: Plan, labels: Mapping[str, str] | None = None, annotations: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Metadata of the job object: what the user and we say; `labels` and `annotations`: what the operator asks for."""
    metadata = {
        "name": plan.job,
        "namespace": plan.namespace,
        "labels": {
            **plan.labels,
            **experiment_labels(plan),
            **({} if labels is None else labels),
            defaults.REVISION_LABEL: plan.revision,
        },
        "annotations": {**plan.annotations, **({} if annotations is None else annotations)},
    }
    return without_empty(metadata)


def pod_selector(experiment: str) -> dict[str, str]:
    """What selects all pods of an experiment, in any revision."""
    return {**defaults.MANAGED_BY, defaults.NAME_LABEL: experiment}


def namespace(name: str, labels: dict[str, str]) -> Manifest:
    """A namespace."""
    return Manifest(
        "namespace", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    )


def priority_class(name: str, request: PriorityClass, labels: dict[str, str]) -> Manifest:
    """A PriorityClass. Its value and preemption cannot change in place; Kubernetes refuses, and Pulumi replaces it."""
    body: dict[str, Any] = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "labels": labels},
        "value": request.value,
        "preemptionPolicy": "PreemptLowerPriority" if request.preempt else "Never",
    }
    return Manifest(f"priority-class-{name}", body | without_empty({"description": request.description}))
