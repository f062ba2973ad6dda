"""Where a stage comes from: a plan alone, or the pods that a cluster's controller has made of it."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainform.backends.endings import ends_by
from trainform.backends.job import BACKENDS, job_manifests
from trainform.catalog import defaults
from trainform.cluster.read import Cluster
from trainform.errors import ClusterError
from trainform.identity.files import identity_files
from trainform.manifests.objects import pod_selector
from trainform.manifests.ssh import identity
from trainform.plan.model import Plan
from trainform.rehearsal.references import CONFIG_MAP, SECRET, Reference, references
from trainform.rehearsal.stage import Stage, labels_of, planned_name, pod_name, selects

STAND_IN = "stand-in-of-this-rehearsal"


def from_plan(plan: Plan) -> Stage:
    """The pods as the operator's controller would make them. A Secret or ConfigMap that is not the job's own is not on this machine:
    a stand-in takes its place, and a note says so."""
    manifests = job_manifests(plan)
    bodies = [manifest.body for manifest in manifests]
    pods, further = BACKENDS[plan.backend].pods(plan, manifests)
    config_maps = {body["metadata"]["name"]: body.get("data", {}) for body in _of_kind(bodies, CONFIG_MAP)} | further
    known = {body["metadata"]["name"]: secret_data(body) for body in _of_kind(bodies, SECRET)} | _ssh(plan)
    missing = [
        reference
        for reference in references(pods)
        if not reference.optional and reference.name not in (known if reference.kind == SECRET else config_maps)
    ]
    stand_ins = {kind: _stand_ins(missing, kind) for kind in (CONFIG_MAP, SECRET)}
    return Stage(
        experiment=plan.experiment,
        namespace=plan.namespace,
        pods=tuple(pods),
        config_maps=config_maps | stand_ins[CONFIG_MAP],
        secrets=known
        | {name: {key: value.encode() for key, value in data.items()} for name, data in stand_ins[SECRET].items()},
        services=(*_of_kind(bodies, "Service"), *_operator_services(plan, pods)),
        ends_with=_ending_pods(plan, pods),
        restarts=_restarts(plan),
        notes=tuple(_told(kind, name, data) for kind, named in stand_ins.items() for name, data in named.items()),
        agent=plan.naming.agent,
    )


def from_cluster(cluster: Cluster, plan: Plan) -> Stage:
    """The live pods of the plan's revision, with the ConfigMaps, Secrets and Services that they use; ClusterError where the job has none."""
    selector = {**pod_selector(plan.experiment), defaults.REVISION_LABEL: plan.revision}
    found = cluster.find_all("Pod", plan.namespace, selector)
    pods = sorted((pod for pod in found if "deletionTimestamp" not in pod["metadata"]), key=pod_name)
    if not pods:
        raise ClusterError(
            f"{cluster.called} has no pods of {plan.namespace}/{plan.job}",
            "apply it with `pulumi up`, and look with `kubectl get pods`; without --from-cluster the plan's own pods are taken",
        )
    read = {(reference.kind, reference.name): reference for reference in references(pods)}
    bodies = {key: _read(cluster, plan.namespace, reference) for key, reference in read.items()}
    present = {key: body for key, body in bodies.items() if body is not None}
    return Stage(
        experiment=plan.experiment,
        namespace=plan.namespace,
        pods=tuple(pods),
        config_maps={name: body.get("data", {}) for (kind, name), body in present.items() if kind == CONFIG_MAP},
        secrets={name: secret_data(body) for (kind, name), body in present.items() if kind == SECRET},
        services=tuple(
            service
            for service in cluster.find_all("Service", plan.namespace, {})  # an operator's own have labels of its own
            if any(selects(service, pod) for pod in pods)
        ),
        ends_with=_ending_pods(plan, pods),
        restarts=_restarts(plan),
        notes=() if len(pods) == plan.totals.pods else (f"the cluster has {len(pods)} of {plan.totals.pods} pods",),
        agent=plan.naming.agent,
    )


def _operator_services(plan: Plan, pods: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Where the operator makes a Service for each pod: headless ones that are called like the pods. With an agent it makes none."""
    if not plan.naming.own_service and plan.naming.agent is None:
        for pod in pods:
            spec = {"clusterIP": "None", "selector": labels_of(pod)}
            yield {"metadata": {"name": pod_name(pod), "namespace": plan.namespace}, "spec": spec}


def secret_data(body: Mapping[str, Any]) -> dict[str, bytes]:
    """The values of a Secret; `stringData` goes before `data`, as with the API server."""
    data = {key: base64.b64decode(value) for key, value in body.get("data", {}).items()}
    return data | {key: value.encode() for key, value in body.get("stringData", {}).items()}


def _ssh(plan: Plan) -> dict[str, dict[str, bytes]]:
    """The SSH identity with keys of this rehearsal alone: those of the job follow from the stack's secret, which no plan knows."""
    if plan.ssh is None:
        return {}
    files = identity_files(identity(plan), secrets.token_hex(), plan.ssh.rotation)
    return {plan.ssh.secret: {name: text.encode() for name, text in files.items()}}


def _read(cluster: Cluster, namespace: str, reference: Reference) -> Mapping[str, Any] | None:
    """The object, None where there is none: the pods that need it are told of it together."""
    found = cluster.get(reference.kind, reference.name, namespace)
    if not found.readable:
        raise ClusterError(
            f"{cluster.called} does not let you read the {reference.kind} {namespace}/{reference.name} of the job's pods",
            f"ask for `get` on {reference.kind.lower()}s in {namespace}, or rehearse without --from-cluster",
        )
    return found.body


def _ending_pods(plan: Plan, pods: Iterable[dict[str, Any]]) -> frozenset[str]:
    """Pods of the role that is to end the job, where its success does end it; none: all have to succeed."""
    role = plan.ending_role if ends_by(plan.ending_role, plan.ends_with) else None
    planned = {pod.name for pod in plan.pods() if pod.role == role}
    return frozenset(pod_name(pod) for pod in pods if planned_name(pod) in planned)


def _restarts(plan: Plan) -> int:
    """Of the role that allows the most; the operator's number is that at which it gives up."""
    return max(role.max_retry for role in plan.roles) - 1


def _of_kind(bodies: Iterable[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [body for body in bodies if body["kind"] == kind]


def _stand_ins(missing: Iterable[Reference], kind: str) -> dict[str, dict[str, str]]:
    """Something under every key that is asked for."""
    made: dict[str, dict[str, str]] = {}
    for reference in missing:
        if reference.kind == kind:
            made.setdefault(reference.name, {}).update(dict.fromkeys(reference.keys, STAND_IN))
    return made


def _told(kind: str, name: str, data: Mapping[str, str]) -> str:
    gets = f"{', '.join(data)} = {STAND_IN}" if data else "it is empty"
    return f"{kind} {name} is not on this machine, a stand-in takes its place: {gets}"
