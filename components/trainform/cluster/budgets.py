"""Limits on pods in addition to nodes: queues of Volcano and Kueue, and ResourceQuotas of a live cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.cluster.amounts import Amounts, all_spelled, amounts_of, spelled, summed
from trainform.cluster.facts import LiveClusterQueue, LiveKueue, LiveQueue, LiveQuota
from trainform.cluster.held import HeldPod, held_by_job
from trainform.cluster.phases import ENDED_PODS
from trainform.manifests.manifest import mapping, mappings

ADMITS = (None, "", "None")  # stop policies of a queue that is not stopped


def queue(body: Any) -> LiveQueue:
    """Return a Volcano queue without its holders."""
    spec = _spec(body)
    weight = spec.get("weight")
    return LiveQueue(
        name=_place(body)[1],
        weight=weight if isinstance(weight, int) else 1,
        capability=_texts(spec.get("capability")),
        deserved=_texts(spec.get("deserved")),
        holders={},
        reclaimable=spec.get("reclaimable") is not False,
        parent=str(spec.get("parent", defaults.ROOT_QUEUE)),
        guarantee=_texts(mapping(spec.get("guarantee")).get("resource")),
    )


class PodGroup(Struct, frozen=True):
    """A gang. name, job: NAMESPACE/NAME. requests: of one that waits, before its pods exist; empty for any other."""

    name: str
    job: str
    queue: str
    requests: Amounts


OF_QUOTAS = ("count/", "requests.", "limits.")  # names in `minResources`, which has all that a ResourceQuota counts


def pod_group(body: Any) -> PodGroup:
    """Return a PodGroup of Volcano."""
    namespace, name = _place(body)
    owner = next(iter(mappings(mapping(mapping(body).get("metadata")).get("ownerReferences"))), {})
    waits = mapping(mapping(body).get("status")).get("phase") == "Pending"
    requests = amounts_of(_spec(body).get("minResources")) if waits else {}
    requests = {name: amount for name, amount in requests.items() if not name.startswith(OF_QUOTAS)}
    queue = str(_spec(body).get("queue", defaults.QUEUE))
    return PodGroup(f"{namespace}/{name}", f"{namespace}/{owner.get('name', name)}", queue, requests)


def quota(body: Any) -> LiveQuota:
    """Return a ResourceQuota without its holders."""
    spec = _spec(body)
    scoped = any(spec.get(field) for field in ("scopes", "scopeSelector"))
    return LiveQuota(*_place(body), _texts(spec.get("hard")), scoped)


def add_quota_holders(live: LiveQuota, pods: Iterable[HeldPod] | None) -> LiveQuota:
    """Return the quota with the jobs whose pods it counts. pods: of all namespaces; None if unknown."""
    if pods is None:
        return live
    here = (pod for pod in pods if pod.job.startswith(f"{live.namespace}/") and pod.state not in ENDED_PODS)
    return structs.replace(live, holders=held_by_job(here, limits=True))


# --- Kueue


def local_queue(body: Any) -> tuple[str, str, str]:
    """Return NAMESPACE/NAME, the name of the ClusterQueue, and the policy that stops the queue."""
    return "/".join(_place(body)), str(_spec(body).get("clusterQueue", "")), _stopped(body)


def cluster_queue(body: Any) -> LiveClusterQueue:
    """Return a ClusterQueue without its holders."""
    nominal = summed(amounts_of({str(each.get("name")): each.get("nominalQuota")}) for each in _quotas(body))
    cohort = _spec(body).get("cohortName")
    return LiveClusterQueue(
        name=_place(body)[1],
        nominal={name: spelled(name, amount) for name, amount in sorted(nominal.items())},
        cohort="" if cohort is None else str(cohort),
        stopped=_stopped(body),
    )


def nested_cohorts(body: Any) -> tuple[str, ...]:
    """Return a Cohort that has quotas, or one with a parent and the parent; nothing for one that its queues fill."""
    parent, name = _spec(body).get("parentName"), _place(body)[1]
    return (name, str(parent)) if parent else (name,) if _quotas(body) else ()


def reserved(body: Any) -> tuple[str, str, str, Amounts] | None:
    """Return the ClusterQueue, the job (NAMESPACE/NAME), its UID and the reserved resources; None if it holds
    nothing."""
    metadata, status = mapping(mapping(body).get("metadata")), mapping(mapping(body).get("status"))
    admission = mapping(status.get("admission"))
    conditions = {each.get("type"): each.get("status") for each in mappings(status.get("conditions"))}
    if not admission or conditions.get("Finished") == "True":
        return None
    namespace, name = _place(body)
    owners = [owner for owner in mappings(metadata.get("ownerReferences")) if owner.get("controller")]
    owner = {"name": name, **(owners[0] if owners else {})}
    used = summed(amounts_of(each.get("resourceUsage")) for each in mappings(admission.get("podSetAssignments")))
    return str(admission.get("clusterQueue", "")), f"{namespace}/{owner['name']}", str(owner.get("uid", "")), used


KUEUE_LISTS: Mapping[str, Callable[[Any], Any]] = {
    "localqueues": local_queue,
    "clusterqueues": cluster_queue,
    "cohorts": nested_cohorts,
    "workloads": reserved,
}
"""Kueue's lists by their names in paths, in the order of the parameters of `kueue`."""


def kueue(
    local_queues: Iterable[tuple[str, str, str]],
    cluster_queues: Iterable[LiveClusterQueue],
    cohorts: Iterable[tuple[str, ...]],
    workloads: Iterable[tuple[str, str, str, Amounts] | None],
) -> LiveKueue:
    """Return the facts of Kueue from its four lists."""
    local_queues, nested = [*local_queues], {name for names in cohorts for name in names}
    held: dict[str, dict[str, Amounts]] = {}
    uids: dict[str, str] = {}
    for name, job, uid, amounts in filter(None, workloads):
        uids[uid] = job
        jobs = held.setdefault(name, {})
        jobs[job] = summed([jobs.get(job, {}), amounts])
    queues = (
        structs.replace(
            queue,
            nested=queue.cohort in nested,
            holders={job: all_spelled(amounts) for job, amounts in sorted(held.get(queue.name, {}).items())},
        )
        for queue in cluster_queues
    )
    return LiveKueue(
        {key: name for key, name, _ in local_queues},
        tuple(sorted(queues, key=lambda queue: queue.name)),
        {key: policy for key, _, policy in local_queues if policy},
        uids,
    )


# --- parts


def _spec(body: Any) -> dict[str, Any]:
    return mapping(mapping(body).get("spec"))


def _place(body: Any) -> tuple[str, str]:
    metadata = mapping(mapping(body).get("metadata"))
    return str(metadata.get("namespace", "")), str(metadata.get("name", ""))


def _texts(amounts: Any) -> dict[str, str]:
    return {str(name): str(value) for name, value in mapping(amounts).items()}


def _stopped(body: Any) -> str:
    """Return the policy that stops a queue of Kueue; "" if the queue admits workloads."""
    policy = _spec(body).get("stopPolicy")
    return "" if policy in ADMITS else str(policy)


def _quotas(body: Any) -> list[dict[str, Any]]:
    """Return the quota of each resource in each flavor of each group."""
    flavors = (
        flavor for group in mappings(_spec(body).get("resourceGroups")) for flavor in mappings(group.get("flavors"))
    )
    return [each for flavor in flavors for each in mappings(flavor.get("resources"))]
