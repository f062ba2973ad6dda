"""The objects of a rehearsal on real nodes: those of the job, and those that a cluster has already."""

from __future__ import annotations

import base64
import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.backends.admission import API_VERSION as QUEUE_API
from trainform.backends.backend import BACKENDS
from trainform.cluster.operators import KUEUE
from trainform.job.render import job_manifests
from trainform.local.rehearsal.probe import CONFIG_MAP, insert_probe, programs
from trainform.local.rehearsal.run.pod_infrastructure import check_folders
from trainform.local.rehearsal.sources import placeholder_note
from trainform.local.rehearsal.workload import Workload, containers
from trainform.local.sandbox.real.containers import FOLDERS
from trainform.manifests.manifest import CLAIM, Manifest
from trainform.manifests.templates import named_objects
from trainform.plan.model import Plan
from trainform.spec.launchers import Launcher

CLAIM_SIZE = "1Gi"  # of a claim that replaces one of the cluster
# The nodes of rehearsals are alike, and other programs use this machine too.
NODE_FIELDS = ("nodeSelector", "affinity", "topologySpreadConstraints", "runtimeClassName", "imagePullSecrets")
TOPOLOGY_OF_KUEUE = "kueue.x-k8s.io/podset-"
WITHOUT_LIMITS = {"weight": 1, "reclaimable": True}
CLUSTER_QUEUE = "rehearsals"
# Pods without requests need no quota. Kueue treats a queue without flavors as one for topologies only.
FLAVOR = {"name": CLUSTER_QUEUE, "resources": [{"name": "cpu", "nominalQuota": 0}]}
CLUSTER_QUEUE_SPEC = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [FLAVOR]}]}
POD_NAME = {"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
LEFT_OUT = "left out here: requests and limits, node selectors, affinity, topologies; quotas of queues"


class RehearsalObjects(Struct, frozen=True):
    """The objects to apply. bodies: in this order. job: the operator's job among them."""

    bodies: tuple[dict[str, Any], ...]
    job: dict[str, Any]
    images: frozenset[str]
    """The images of the job's containers."""
    notes: tuple[str, ...]


def rehearsal_objects(
    plan: Plan, workload: Workload, image: str | None, probe: Launcher | None, folders: Collection[str] = ()
) -> RehearsalObjects:
    """Return the objects of a plan whose namespace is the rehearsal's own.

    workload: of the same plan; it has the Secrets and ConfigMaps. image: for all containers; None to keep their own.
    probe: the launcher of the job, if a probe replaces its program. folders: claims that are folders of the nodes."""
    # a copy, since templates of one plan share parts
    copies = [structs.replace(manifest, body=copy.deepcopy(manifest.body)) for manifest in job_manifests(plan)]
    manifests = BACKENDS[plan.backend].rehearsed(plan, copies)
    bodies = [manifest.body for manifest in manifests]
    for body in bodies:
        _drop_topologies(body)
        if body["kind"] == "Queue":
            body["spec"] = WITHOUT_LIMITS
        elif body["kind"] == CLAIM:
            body["spec"].pop("storageClassName", None)  # the sandbox's own class
        elif body["kind"] == "Secret":  # the SSH keys are made at `pulumi up`
            body.pop("stringData", None)
            body["data"] = _encoded(workload.secrets[body["metadata"]["name"]])
    job = next(manifest.body for manifest in manifests if manifest.is_job)
    notes = [LEFT_OUT]
    images = set[str]()
    for template in _templates(plan, manifests):
        notes += _adapt(template, image)
        if probe is not None:
            insert_probe(template, plan, probe, POD_NAME if template["spec"].get("hostNetwork") else None)
        images |= {container["image"] for container in containers(template)}
    specs = [template["spec"] for template in _templates(plan, manifests)]
    own = {_key(body) for body in bodies}
    # an operator makes objects that its pods name and the templates do not
    stand_ins = [body for body in _stand_ins(workload, plan.namespace, specs) if _key(body) not in own]
    notes = [*(placeholder_note(*_key(body), body["data"]) for body in stand_ins), *notes]
    others = [
        *_cluster_objects(plan, specs),
        *stand_ins,
        *([] if probe is None else [_object("ConfigMap", CONFIG_MAP, plan.namespace, data=programs())]),
    ]
    missing = [body for body in others if _key(body) not in own]
    claims = {body["metadata"]["name"]: body for body in (*missing, *bodies) if body["kind"] == CLAIM}
    check_folders(folders, claims.keys())
    given = [_bind(claims[name]) for name in folders]
    namespace = _object("Namespace", plan.namespace)
    return RehearsalObjects((namespace, *given, *missing, *bodies), job, frozenset(images), tuple(dict.fromkeys(notes)))


def _key(body: Mapping[str, Any]) -> tuple[str, str]:
    return body["kind"], body["metadata"]["name"]


def _templates(plan: Plan, manifests: Iterable[Manifest]) -> Iterator[dict[str, Any]]:
    """Yield every pod template in the objects, to be changed in place."""
    for body in (manifest.body for manifest in manifests):
        group = body["apiVersion"].rpartition("/")[0]
        for finder in BACKENDS[plan.backend].PODS.get(f"{group}/{body['kind']}", ()):
            yield from (pods.template.body for pods in finder(body) if not pods.elsewhere)


def _adapt(template: dict[str, Any], image: str | None) -> Iterator[str]:
    """Let the pods run on every real node; yield a note for what is replaced."""
    spec = template["spec"]
    for field in NODE_FIELDS:
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


def _drop_topologies(value: Any) -> None:
    """Remove Kueue's annotations for topologies, wherever an operator has its pods: the nodes here have none."""
    if isinstance(value, dict):
        for name in [name for name in value if name.startswith(TOPOLOGY_OF_KUEUE)]:
            del value[name]
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _drop_topologies(each)


def _cluster_objects(plan: Plan, specs: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield what a cluster has for all jobs: a queue without limits, priority classes, accounts and claims."""
    namespace = plan.namespace
    if plan.admission == defaults.KUEUE:
        yield _object("ResourceFlavor", CLUSTER_QUEUE, api=KUEUE.api_version)
        yield _object("ClusterQueue", CLUSTER_QUEUE, api=KUEUE.api_version, spec=CLUSTER_QUEUE_SPEC)
        spec = {"clusterQueue": CLUSTER_QUEUE}
        yield _object("LocalQueue", plan.queue.name, namespace, api=KUEUE.api_version, spec=spec)
        if plan.workload_priority is not None:
            yield _object("WorkloadPriorityClass", plan.workload_priority, api=KUEUE.api_version, value=0)
    elif plan.admission == defaults.VOLCANO and plan.queue.name != defaults.QUEUE:
        yield _object("Queue", plan.queue.name, api=QUEUE_API, spec=WITHOUT_LIMITS)
    for name in _names(specs, lambda spec: [spec.get("priorityClassName")]):
        yield _object("PriorityClass", name, api="scheduling.k8s.io/v1", value=0)
    for name in _names(specs, lambda spec: [spec.get("serviceAccountName")]):
        yield _object("ServiceAccount", name, namespace)
    claims = _names(
        specs, lambda spec: [each.get("persistentVolumeClaim", {}).get("claimName") for each in spec.get("volumes", [])]
    )
    for name in claims:
        claim = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": CLAIM_SIZE}}}
        yield _object(CLAIM, name, namespace, spec=claim)


def _bind(claim: dict[str, Any]) -> dict[str, Any]:
    """Return a volume with the folder of the claim's name, and bind the claim to it."""
    name, spec = claim["metadata"]["name"], claim["spec"]
    volume = f"{claim['metadata']['namespace']}-{name}"
    place = {"accessModes": spec["accessModes"], "capacity": spec["resources"]["requests"]}
    claim["spec"] = spec | {"volumeName": volume, "storageClassName": ""}
    return _object("PersistentVolume", volume, spec={**place, "hostPath": {"path": f"{FOLDERS}/{name}"}})


def _names(specs: Iterable[Mapping[str, Any]], named: Callable[[Mapping[str, Any]], Iterable[str | None]]) -> list[str]:
    return [*dict.fromkeys(name for spec in specs for name in named(spec) if name and name != "default")]


def _stand_ins(workload: Workload, namespace: str, specs: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the Secrets and ConfigMaps that the templates name, with stand-ins for those of others."""
    named = {(each.kind, each.name) for spec in specs for each in named_objects(spec)}
    for name, values in workload.secrets.items():
        if ("Secret", name) in named:
            yield _object("Secret", name, namespace, data=_encoded(values))
    for name, texts in workload.config_maps.items():
        if ("ConfigMap", name) in named:
            yield _object("ConfigMap", name, namespace, data=dict(texts))


def _encoded(values: Mapping[str, bytes]) -> dict[str, str]:
    return {key: base64.b64encode(value).decode() for key, value in values.items()}


def _object(kind: str, name: str, namespace: str = "", api: str = "v1", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def path_of(body: Mapping[str, Any]) -> str:
    """Return the path of an object in the API. All kinds have regular plurals here."""
    version, kind, metadata = body["apiVersion"], body["kind"].lower(), body["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    place = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    return f"{root}{place}/{kind}{'es' if kind.endswith('s') else 's'}/{metadata['name']}"
