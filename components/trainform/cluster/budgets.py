"""What limits pods beside nodes, read from objects of a live cluster: the queues of Volcano, quotas and limit ranges,
the queues of Kueue."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct, structs

from trainform import defaults
from trainform.cluster.amounts import Amounts, all_spelled, amounts_of, spelled, summed
from trainform.cluster.facts import LiveClusterQueue, LiveKueue, LiveQueue, LiveQuota, LiveRange
from trainform.cluster.held import ENDED, HeldPod, held_by_job
from trainform.manifests.shapes import mapping, mappings

SCOPES = ("scopes", "scopeSelector")


# --- Volcano


def queue(body: Any) -> LiveQueue:
    """A queue of Volcano's without its holders."""
    spec = mapping(mapping(body).get("spec"))
    return LiveQueue(
        name=str(mapping(body).get("metadata", {}).get("name", "")),
        weight=int(spec.get("weight", 1)),
        capability=_texts(spec.get("capability")),
        deserved=_texts(spec.get("deserved")),
        holders={},
        reclaimable=spec.get("reclaimable") is not False,
        parent=str(spec.get("parent", defaults.ROOT_QUEUE)),
    )


def pod_group(body: Any) -> tuple[str, str]:
    """NAMESPACE/NAME of a PodGroup, and its queue."""
    metadata = mapping(mapping(body).get("metadata"))
    queue = mapping(mapping(body).get("spec")).get("queue", defaults.QUEUE)
    return f"{metadata.get('namespace')}/{metadata.get('name')}", str(queue)


# --- namespaces


def quota(body: Any) -> LiveQuota:
    """A ResourceQuota without its holders."""
    spec, status = mapping(mapping(body).get("spec")), mapping(mapping(body).get("status"))
    return LiveQuota(
        *_place(body), _texts(spec.get("hard")), _texts(status.get("used")), any(spec.get(part) for part in SCOPES)
    )


def limit_range(body: Any) -> LiveRange:
    """A LimitRange."""
    return LiveRange(*_place(body), tuple(mappings(mapping(mapping(body).get("spec")).get("limits"))))


def with_holders(found: LiveQuota, pods: Iterable[HeldPod] | None) -> LiveQuota:
    """The quota with the jobs that have pods in its namespace, bound to a node or not. pods: of all namespaces; None if
    they are not known."""
    if pods is None:
        return found
    here = (pod for pod in pods if pod.job.startswith(f"{found.namespace}/") and pod.phase not in ENDED)
    return structs.replace(found, holders=held_by_job(here))


# --- Kueue

ADMITS = "None"  # the stop policy of a queue that is not stopped


def local_queue(body: Any) -> tuple[str, str, str]:
    """NAMESPACE/NAME, the name of the ClusterQueue, and why it admits nothing."""
    spec = mapping(mapping(body).get("spec"))
    return "/".join(_place(body)), str(spec.get("clusterQueue", "")), _stopped(spec)


def _stopped(spec: Mapping[str, Any]) -> str:
    """The policy by which a queue admits nothing; "" if it admits."""
    policy = spec.get("stopPolicy")
    return "" if policy in (None, "", ADMITS) else str(policy)


class Reserved(Struct, frozen=True):
    """What Kueue has reserved for a workload that has not ended. job: NAMESPACE/NAME of its owner."""

    job: str
    queue: str
    amounts: Amounts


def reserved(body: Any) -> Reserved | None:
    """None for a workload that holds nothing."""
    status = mapping(mapping(body).get("status"))
    over = any(
        each.get("type") == "Finished" and each.get("status") == "True" for each in mappings(status.get("conditions"))
    )
    admission = mapping(status.get("admission"))
    if over or not admission:
        return None
    metadata = mapping(mapping(body).get("metadata"))
    owners = [str(owner.get("name")) for owner in mappings(metadata.get("ownerReferences")) if owner.get("controller")]
    namespace, name = _place(body)
    used = [amounts_of(each.get("resourceUsage")) for each in mappings(admission.get("podSetAssignments"))]
    return Reserved(f"{namespace}/{[*owners, name][0]}", str(admission.get("clusterQueue", "")), summed(used))


def cluster_queue(body: Any) -> LiveClusterQueue:
    """A ClusterQueue without its holders."""
    spec = mapping(mapping(body).get("spec"))
    cohort = spec.get("cohortName")
    return LiveClusterQueue(
        name=_place(body)[1],
        nominal=_spelled(
            summed(amounts_of({str(each.get("name")): each.get("nominalQuota")}) for each in _quotas(spec))
        ),
        cohort="" if cohort is None else str(cohort),
        stopped=_stopped(spec),
    )


def _quotas(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What each flavor of each group gives of each resource."""
    flavors = (flavor for group in mappings(spec.get("resourceGroups")) for flavor in mappings(group.get("flavors")))
    return [each for flavor in flavors for each in mappings(flavor.get("resources"))]


def nested_cohort(body: Any) -> str:
    """The name of a Cohort that has quotas of its own, or one above it; "" of any other one, which only its queues
    fill."""
    spec = mapping(mapping(body).get("spec"))
    return _place(body)[1] if spec.get("parentName") or _quotas(spec) else ""


def kueue(
    local_queues: Iterable[tuple[str, str, str]],
    cluster_queues: Iterable[LiveClusterQueue],
    cohorts: Iterable[str],
    workloads: Iterable[Reserved | None],
) -> LiveKueue:
    """All of them together."""
    local_queues = [*local_queues]
    nested, held = {*cohorts} - {""}, dict[str, dict[str, list[Amounts]]]()
    for each in workloads:
        if each is not None:
            held.setdefault(each.queue, {}).setdefault(each.job, []).append(each.amounts)
    return LiveKueue(
        {key: name for key, name, _ in local_queues},
        tuple(
            structs.replace(
                queue,
                nested=queue.cohort in nested,
                holders={
                    job: all_spelled(summed(amounts)) for job, amounts in sorted(held.get(queue.name, {}).items())
                },
            )
            for queue in sorted(cluster_queues, key=lambda queue: queue.name)
        ),
        {key: policy for key, _, policy in local_queues if policy},
    )


KUEUE_LISTS: Mapping[str, Callable[[Any], Any]] = {
    "localqueues": local_queue,
    "clusterqueues": cluster_queue,
    "cohorts": nested_cohort,
    "workloads": reserved,
}
"""Kueue's lists by their names in paths, in the order of `kueue`."""


# --- parts


def _place(body: Any) -> tuple[str, str]:
    metadata = mapping(mapping(body).get("metadata"))
    return str(metadata.get("namespace", "")), str(metadata.get("name", ""))


def _texts(amounts: Any) -> dict[str, str]:
    return {str(name): str(value) for name, value in mapping(amounts).items()}


def _spelled(amounts: Amounts) -> dict[str, str]:
    """The amounts as quantities, also those of 0."""
    return {name: spelled(name, value) for name, value in sorted(amounts.items())}
