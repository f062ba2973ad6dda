"""Workloads from a plan alone, or from the pods that the operator's controller has made in a cluster."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.backends.outcome import ends_by
from trainform.cluster.api import ClusterApi, labelled
from trainform.cluster.live_objects import path_of
from trainform.errors import ClusterError
from trainform.job.render import job_manifests
from trainform.local.rehearsal.kubelet.volumes import holds_token
from trainform.local.rehearsal.workload import Workload, labels_of, planned_name, pod_name, selects
from trainform.manifests.objects import pod_selector
from trainform.manifests.ssh_files import identity_files, ssh_names
from trainform.manifests.templates import NamedObject, named_objects
from trainform.plan.model import Plan

PLACEHOLDER_VALUE = "stand-in-of-this-rehearsal"


def workload_of_plan(plan: Plan) -> Workload:
    """Return the pods as the operator's controller would make them. Placeholders, which the notes name, replace the
    Secrets and ConfigMaps of others."""
    manifests = job_manifests(plan)
    bodies = [manifest.body for manifest in manifests]
    pods, further = BACKENDS[plan.backend].pods(plan, manifests)
    config_maps = {
        body["metadata"]["name"]: body.get("data", {}) for body in _select_kind(bodies, CONFIG_MAP)
    } | further
    known = {body["metadata"]["name"]: secret_data(body) for body in _select_kind(bodies, SECRET)} | _ssh(plan)
    missing = [
        reference
        for reference in references(pods)
        if not reference.optional and reference.name not in (known if reference.kind == SECRET else config_maps)
    ]
    placeholders = {kind: _placeholders(missing, kind) for kind in (CONFIG_MAP, SECRET)}
    return _workload(
        plan,
        pods,
        config_maps=config_maps | placeholders[CONFIG_MAP],
        secrets=known
        | {name: {key: value.encode() for key, value in data.items()} for name, data in placeholders[SECRET].items()},
        services=(*_select_kind(bodies, "Service"), *_operator_services(plan, pods)),
        notes=tuple(
            placeholder_note(kind, name, data) for kind, named in placeholders.items() for name, data in named.items()
        ),
    )


def workload_of_cluster(cluster: ClusterApi, plan: Plan) -> Workload:
    """Return the live pods of the plan, and the ConfigMaps, Secrets and Services that they use."""
    selector = labelled({**pod_selector(plan.experiment), defaults.REVISION_LABEL: plan.revision})
    space = f"the namespace {plan.namespace}"
    found = cluster.find_all(path_of("Pod", plan.namespace), f"list the pods of {space}", parameters=selector)
    services = cluster.find_all(path_of("Service", plan.namespace), f"list the services of {space}")
    pods = sorted((pod for pod in found if "deletionTimestamp" not in pod["metadata"]), key=pod_name)
    if not pods:
        raise ClusterError(
            f"{cluster.name} has no pods of {plan.namespace}/{plan.job}",
            "apply it with `pulumi up`, and look with `kubectl get pods`; without --from-cluster the plan's own pods "
            "are taken",
        )
    read = {(reference.kind, reference.name): reference for reference in references(pods)}
    bodies = {key: _read(cluster, plan.namespace, reference) for key, reference in read.items()}
    present = {key: body for key, body in bodies.items() if body is not None}
    return _workload(
        plan,
        pods,
        config_maps={name: body.get("data", {}) for (kind, name), body in present.items() if kind == CONFIG_MAP},
        secrets={name: secret_data(body) for (kind, name), body in present.items() if kind == SECRET},
        services=tuple(
            service
            for service in services  # an operator's Services have other labels
            if any(selects(service, pod) for pod in pods)
        ),
        notes=() if len(pods) == plan.totals.pods else (f"the cluster has {len(pods)} of {plan.totals.pods} pods",),
    )


def _operator_services(plan: Plan, pods: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the headless Service that an operator without an agent makes for each pod whose name is its address."""
    if plan.naming.address == "{pod}" and plan.naming.agent is None:
        for pod in pods:
            spec = {"clusterIP": "None", "selector": labels_of(pod)}
            yield {"metadata": {"name": pod_name(pod), "namespace": plan.namespace}, "spec": spec}


def secret_data(body: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the values of a Secret, by key. `stringData` takes precedence over `data`, as with the API server."""
    data = {key: base64.b64decode(value) for key, value in body.get("data", {}).items()}
    return data | {key: value.encode() for key, value in body.get("stringData", {}).items()}


def _ssh(plan: Plan) -> dict[str, dict[str, bytes]]:
    """Return an SSH identity with new keys: those of the job follow from the stack's secret, which a plan lacks."""
    if plan.ssh is None:
        return {}
    files = identity_files(ssh_names(plan), secrets.token_hex(), plan.ssh.rotation)
    return {plan.ssh.secret: {name: text.encode() for name, text in files.items()}}


def _read(cluster: ClusterApi, namespace: str, reference: NamedObject) -> Mapping[str, Any] | None:
    """Return the object; None if it does not exist. ClusterError if this account may not read it."""
    found = cluster.read(path_of(reference.kind, namespace, reference.name))
    if found.forbidden:
        raise ClusterError(
            f"{cluster.name} does not let you read the {reference.kind} {namespace}/{reference.name} of the job's pods",
            f"ask for `get` on {reference.kind.lower()}s in {namespace}, or rehearse without --from-cluster",
        )
    return found.body if found.found else None


def _workload(plan: Plan, pods: Sequence[dict[str, Any]], **found: Any) -> Workload:
    """Return the workload of these pods. found: the objects that they use, and the notes."""
    ending = plan.ending_role if ends_by(plan.ending_role, plan.ends_with) else None
    planned = {pod.name for pod in plan.pods() if pod.role == ending}
    return Workload(
        experiment=plan.experiment,
        namespace=plan.namespace,
        pods=tuple(pods),
        ends_with=frozenset(pod_name(pod) for pod in pods if planned_name(pod) in planned),
        # by the role that allows the most; the operators' `max_retry` counts the last failure too
        restarts=max(role.max_retry for role in plan.roles) - 1,
        agent=plan.naming.agent,
        lookup_containers=BACKENDS[plan.backend].LOOKUP_CONTAINERS,
        **found,
    )


def _select_kind(bodies: Iterable[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [body for body in bodies if body["kind"] == kind]


def _placeholders(missing: Iterable[NamedObject], kind: str) -> dict[str, dict[str, str]]:
    """Return a stand-in for each missing object, with a value under every key that the pods read."""
    found: dict[str, dict[str, str]] = {}
    for reference in missing:
        if reference.kind == kind:
            found.setdefault(reference.name, {}).update(dict.fromkeys(reference.keys, PLACEHOLDER_VALUE))
    return found


def placeholder_note(kind: str, name: str, data: Collection[str]) -> str:
    """Return the note for a stand-in with these keys."""
    gets = f"{', '.join(data)} = {PLACEHOLDER_VALUE}" if data else "it is empty"
    return f"{kind} {name} is not on this machine, so a stand-in takes its place: {gets}"


CONFIG_MAP, SECRET = "ConfigMap", "Secret"


def references(pods: Iterable[dict[str, Any]]) -> Iterator[NamedObject]:
    """Yield every ConfigMap and Secret that the pods' containers and volumes name."""
    for pod in pods:
        volumes = [volume for volume in pod["spec"].get("volumes", []) if not holds_token(volume)]
        for named in named_objects({**pod["spec"], "volumes": volumes}):
            if named.kind in (CONFIG_MAP, SECRET):
                yield named
