"""The objects of a rehearsal on real nodes: those of the job, and what they expect to find in a cluster."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.backend import BACKENDS
from trainform.backends.gangs import API_VERSION as QUEUE_API
from trainform.cluster.operators import KUEUE
from trainform.job.render import job_manifests
from trainform.local.rehearsal.probe import CONFIG_MAP, probe_template, programs
from trainform.local.rehearsal.workload import Workload, containers
from trainform.manifests.manifest import Manifest
from trainform.plan.model import Plan
from trainform.spec.launchers import Launcher

SIZE = "1Gi"  # of a claim that stands for one of the cluster
# What the pods ask of a cluster's nodes: the nodes of rehearsals are alike, and other programs use this machine too.
OF_NODES = ("nodeSelector", "affinity", "topologySpreadConstraints", "runtimeClassName", "imagePullSecrets")
WITHOUT_LIMITS = {"weight": 1, "reclaimable": True}
EVERYTHING = "rehearsals"  # a ClusterQueue without quotas, which admits what asks for nothing
LEFT_OUT = "left out here: requests and limits, node selectors, affinity; quotas of queues"


class Rehearsed(Struct, frozen=True):
    """The objects to apply. bodies: in this order. job: the operator's job among them."""

    bodies: tuple[dict[str, Any], ...]
    job: dict[str, Any]
    images: frozenset[str]
    """The images of the job's containers."""
    notes: tuple[str, ...]


def rehearsed(plan: Plan, workload: Workload, image: str | None, probe: Launcher | None) -> Rehearsed:
    """Return the objects of a plan whose namespace is the rehearsal's own. workload: the same plan, for the Secrets and
    ConfigMaps that are not the job's. image: for all containers; None: their own. probe: the launcher of a job whose
    program a probe replaces; None to run the program."""
    # a copy, since templates of one plan share parts
    manifests = [structs.replace(manifest, body=copy.deepcopy(manifest.body)) for manifest in job_manifests(plan)]
    bodies = [manifest.body for manifest in manifests]
    for body in bodies:
        if body["kind"] == "Queue":
            body["spec"] = WITHOUT_LIMITS
        elif body["kind"] == "PersistentVolumeClaim":
            body["spec"].pop("storageClassName", None)  # the sandbox's own class
        elif body["kind"] == "Secret":  # the SSH keys are made at `pulumi up`
            body.pop("stringData", None)
            body["data"] = _encoded(workload.secrets[body["metadata"]["name"]])
    job = next(manifest.body for manifest in manifests if manifest.is_job)
    notes = [*workload.notes, LEFT_OUT]
    images = set[str]()
    for template in _templates(plan, manifests):
        notes += _adapt(template, image)
        if probe is not None:
            probe_template(template, plan, probe)
        images |= {container["image"] for container in containers(template)}
    specs = [template["spec"] for template in _templates(plan, manifests)]
    there = {(body["kind"], body["metadata"]["name"]) for body in bodies}
    extra = [
        *_needed(plan, specs),
        *_data(workload, plan, manifests),
        *([] if probe is None else [_object("ConfigMap", CONFIG_MAP, plan.namespace, data=programs())]),
    ]
    wanted = [body for body in extra if (body["kind"], body["metadata"]["name"]) not in there]
    namespace = _object("Namespace", plan.namespace)
    return Rehearsed((namespace, *wanted, *bodies), job, frozenset(images), tuple(dict.fromkeys(notes)))


def _templates(plan: Plan, manifests: Iterable[Manifest]) -> Iterator[dict[str, Any]]:
    """Yield every pod template in the objects, to be changed in place."""
    for body in (manifest.body for manifest in manifests):
        group = body["apiVersion"].rpartition("/")[0]
        for finder in BACKENDS[plan.backend].PODS.get(f"{group}/{body['kind']}", ()):
            yield from (pods.template.body for pods in finder(body) if not pods.elsewhere)


def _adapt(template: dict[str, Any], image: str | None) -> Iterator[str]:
    """Make the pods run on any real node; yield a note on what they get in place of what they ask for."""
    spec = template["spec"]
    for field in OF_NODES:
        spec.pop(field, None)
    for container in containers(template):
        container.pop("resources", None)
        container["imagePullPolicy"] = "IfNotPresent"
        container["image"] = container["image"] if image is None else image
        if container.get("securityContext", {}).pop("privileged", False):
            yield f"container {container['name']}: runs without `privileged` here, which could change this machine"
    for volume in spec.get("volumes", []):
        path = volume.pop("hostPath", None)
        if path is not None:
            volume["emptyDir"] = {}
            yield f"hostPath {path['path']}: an empty folder takes its place, and never the folder of this machine"


def _needed(plan: Plan, specs: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what a cluster has for all jobs: the queue without limits, priorities, accounts and claims."""
    namespace = plan.namespace
    if plan.admission == defaults.KUEUE:
        yield _object("ClusterQueue", EVERYTHING, api=KUEUE.api_version, spec={"namespaceSelector": {}})
        spec = {"clusterQueue": EVERYTHING}
        yield _object("LocalQueue", plan.queue.name, namespace, api=KUEUE.api_version, spec=spec)
    elif plan.queue.name != "default":
        yield _object("Queue", plan.queue.name, api=QUEUE_API, spec=WITHOUT_LIMITS)
    for name in _names(specs, lambda spec: [spec.get("priorityClassName")]):
        yield _object("PriorityClass", name, api="scheduling.k8s.io/v1", value=0)
    for name in _names(specs, lambda spec: [spec.get("serviceAccountName")]):
        yield _object("ServiceAccount", name, namespace)
    claims = _names(
        specs, lambda spec: [each.get("persistentVolumeClaim", {}).get("claimName") for each in spec.get("volumes", [])]
    )
    for name in claims:
        asked = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": SIZE}}}
        yield _object("PersistentVolumeClaim", name, namespace, spec=asked)


def _names(specs: Iterable[Mapping[str, Any]], named: Callable[[Mapping[str, Any]], Iterable[str | None]]) -> list[str]:
    return [*dict.fromkeys(name for spec in specs for name in named(spec) if name and name != "default")]


def _data(workload: Workload, plan: Plan, manifests: Sequence[Manifest]) -> Iterator[dict[str, Any]]:
    """Yield the Secrets and ConfigMaps that others make, with stand-ins; not those that the operator makes."""
    _, of_operator = BACKENDS[plan.backend].pods(plan, manifests)
    for name, values in workload.secrets.items():
        yield _object("Secret", name, plan.namespace, data=_encoded(values))
    for name, texts in workload.config_maps.items():
        if name not in of_operator:
            yield _object("ConfigMap", name, plan.namespace, data=dict(texts))


def _encoded(values: Mapping[str, bytes]) -> dict[str, str]:
    return {key: base64.b64encode(value).decode() for key, value in values.items()}


def _object(kind: str, name: str, namespace: str = "", api: str = "v1", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def path_of(body: Mapping[str, Any]) -> str:
    """Return the path of an object in the API: an object without a namespace is the cluster's. The plurals of all kinds
    are regular."""
    version, kind, metadata = body["apiVersion"], body["kind"].lower(), body["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    place = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"{root}{place}/{kind}{'es' if kind.endswith('s') else 's'}/{metadata['name']}"
