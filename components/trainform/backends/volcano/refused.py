"""What Volcano's webhooks refuse of a Job beside its definition, and what its controller would wait for in vain.

Source: Volcano 1.14.1, `pkg/webhooks/admission/jobs/validate`, and pkg/controllers/job (state/running.go). What the plan decides is not looked at, and `waiting_problems` knows the orders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args

from trainform.backends.volcano.controller import HOSTS_MOUNT
from trainform.backends.volcano.ends import stays_up
from trainform.manifests.served.kubelet import mistaken, read_only
from trainform.manifests.served.mistake import Mistake
from trainform.manifests.shapes import mapping, mappings, quantity
from trainform.manifests.templates import CONTAINER_FIELDS
from trainform.plan.restart import ANY_EVENT
from trainform.spec.names import MEANING, SUBDOMAIN, SUBDOMAIN_MAX, matches
from trainform.spec.roles import Policy

_DURATION = re.compile(r"[-+]?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+|[-+]?0")
_ACTIONS = (*get_args(Policy.model_fields["action"].annotation), "RestartPartition")
_INTERNAL = ("CommandIssued", "OutOfSync", "PodRunning")  # events that Volcano raises for itself
_PENDING = "PodPending"
_ANY_PLACE = "none"  # of topologyPolicy


def refused(spec: dict[str, Any]) -> Iterator[Mistake]:
    """Each mistake at its place in the spec of a Job."""
    yield from _policies(spec.get("policies", []))
    yield from _min_success(spec)
    yield from _duration(spec, "runningEstimate", "")
    yield from _volumes(spec)
    for task in spec["tasks"]:
        yield from (found.below(f"tasks.{task['name']}") for found in _of_task(task))


def _min_success(spec: dict[str, Any]) -> Iterator[Mistake]:
    number, able = spec.get("minSuccess", 0), sum(task["replicas"] for task in spec["tasks"] if not stays_up(task))
    if number > able:
        reason = f"Volcano counts the pods that have succeeded, and {able} can, since others stay up or are not there"
        yield Mistake("minSuccess", number, reason, f"write {able} or less, or remove it")


def _of_task(task: dict[str, Any]) -> Iterator[Mistake]:
    yield from _policies(task.get("policies", []))
    if "partitionPolicy" in task:
        yield from (found.below("partitionPolicy") for found in _partitions(task, task["partitionPolicy"]))
    if task.get("topologyPolicy", _ANY_PLACE) not in ("", _ANY_PLACE):
        for where in _without_whole_cores(mapping(task["template"].get("spec"))):
            reason = f"the policy is for pods whose containers ask for whole cores, and {where} does not"
            yield Mistake("topologyPolicy", task["topologyPolicy"], reason, "give it a whole number as `cpu`")


def _policies(policies: list[dict[str, Any]]) -> Iterator[Mistake]:
    seen: dict[object, int] = {}
    for index, policy in enumerate(policies):
        where = f"policies[{index}]"
        yield from _duration(policy, "timeout", where)
        events = {*policy.get("events", []), *filter(None, [policy.get("event")])}
        if policy.get("action") not in _ACTIONS:
            yield Mistake(f"{where}.action", policy.get("action"), "Volcano has no such action", _one_of(_ACTIONS))
        if bool(events) == ("exitCode" in policy):
            reason = "a policy acts either upon events or upon an exit code"
            yield Mistake(where, None, reason, "write one of `event`, `events` and `exitCode`")
        if policy.get("exitCode") == 0:
            fix = "write `event: TaskCompleted`"
            yield Mistake(f"{where}.exitCode", 0, "exit code 0 is success, upon which no policy acts", fix)
        if _PENDING in events and "timeout" not in policy:
            reason = "the policy acts upon PodPending without a timeout, and would be ignored"
            yield Mistake(where, _PENDING, reason, "add `timeout: 10m`")
        for event in sorted(events.intersection(_INTERNAL)):
            yield Mistake(where, event, f"Volcano raises the event {event} for itself", "remove it")
        for trigger in (*sorted(events), *([policy["exitCode"]] if "exitCode" in policy else [])):
            if seen.setdefault(trigger, index) != index:
                yield Mistake(where, trigger, f"{trigger} has a policy already", "keep one policy for it")
    others = [trigger for trigger in seen if isinstance(trigger, str) and trigger != ANY_EVENT]
    if ANY_EVENT in seen and others:
        reason = f"Volcano refuses `{ANY_EVENT}` besides other events ({', '.join(others)})"
        yield Mistake(f"policies[{max(seen[ANY_EVENT], seen[others[0]])}]", ANY_EVENT, reason, "keep the others alone")


def _partitions(task: dict[str, Any], policy: Mapping[str, Any]) -> Iterator[Mistake]:
    size, total = policy["partitionSize"], policy["totalPartitions"]
    if size * total != task["replicas"]:
        reason = f"{total} partitions of {size} are {size * total} pods, and the task has {task['replicas']}"
        yield Mistake("totalPartitions", total, reason, "write numbers whose product is the task's", ("partitionSize",))
    elif policy.get("minPartitions", 0) * size != task["minAvailable"]:
        least, wanted = policy.get("minPartitions", 0), task["minAvailable"]
        reason = f"{least} partitions of {size} are {least * size} pods, and the gang has {wanted} of the task"
        yield Mistake("minPartitions", least, reason, "write numbers whose product is the gang's", ("partitionSize",))
    yield from _tiers(mapping(policy.get("networkTopology")), "networkTopology")


def _tiers(topology: Mapping[str, Any], where: str) -> Iterator[Mistake]:
    if "highestTierAllowed" in topology and topology.get("highestTierName"):
        reason = "the tier has a number and a name, and may have one of them"
        yield Mistake(f"{where}.highestTierName", None, reason, "keep one", (f"{where}.highestTierAllowed",))


def _without_whole_cores(spec: dict[str, Any]) -> Iterator[str]:
    for field in CONTAINER_FIELDS:
        for container in mappings(spec.get(field)):
            resources = mapping(container.get("resources"))
            asked = mapping(resources.get("requests")) or mapping(resources.get("limits"))
            cores = quantity(asked.get("cpu"))
            if not cores or cores % 1:
                yield f"{field}.{container.get('name')}"


def _volumes(spec: dict[str, Any]) -> Iterator[Mistake]:
    """Volcano mounts them in all containers but init containers, and the API server makes no pod with two mounts at one path."""
    seen = {HOSTS_MOUNT}
    for task in spec["tasks"]:
        for container in mappings(mapping(task["template"].get("spec")).get("containers")):
            seen.update(str(mount.get("mountPath")) for mount in mappings(container.get("volumeMounts")))
    for index, volume in enumerate(spec.get("volumes", [])):
        where, path, name = f"volumes[{index}]", volume.get("mountPath"), volume.get("volumeClaimName", "")
        if path is None:
            yield Mistake(f"{where}.mountPath", None, "the field is missing", "add it")
        elif path in seen:
            yield Mistake(f"{where}.mountPath", path, "a volume is mounted there already", "choose another path")
        elif (found := _misplaced(path, spec)) is not None:
            yield Mistake(f"{where}.mountPath", path, *found)
        seen.add(path)
        if bool(name) == ("volumeClaim" in volume):
            reason = "a volume has either a claim or the name of one"
            yield Mistake(where, None, reason, "write one of `volumeClaim` and `volumeClaimName`")
        elif name and (not matches(SUBDOMAIN, name) or len(name) > SUBDOMAIN_MAX):
            yield Mistake(f"{where}.volumeClaimName", name, f"the name {MEANING[SUBDOMAIN][0]}", MEANING[SUBDOMAIN][1])


def _misplaced(path: str, spec: dict[str, Any]) -> tuple[str, str] | None:
    """Reason and fix for a volume that the job mounts at the path in all containers; None where each of them can have it."""
    for task in spec["tasks"]:
        pod = mapping(task["template"].get("spec"))
        for container in mappings(pod.get("containers")):
            own = mappings(container.get("volumeMounts"))
            if any(mount.get("mountPath") == path for mount in own):
                return f"the containers of the task {task['name']} have a mount there already", "choose another path"
            found = mistaken(path, own, own, read_only(pod))
            if found is not None:
                return found
    return None


def _duration(holder: Mapping[str, Any], field: str, where: str) -> Iterator[Mistake]:
    given = holder.get(field)
    if given is not None and not _DURATION.fullmatch(given):
        place = f"{where}.{field}" if where else field
        yield Mistake(place, given, "the text is no duration of Volcano's", "write it like 90s, 30m or 1h30m")


def _one_of(words: tuple[str, ...]) -> str:
    return f"write one of {', '.join(words)}"
