"""CPU processes instead of accelerators: the same plan with fewer of them on each node."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import structs

from trainform.job.render import draft_plan
from trainform.local.rehearsal.workload import Workload, containers, planned_name, pod_name
from trainform.plan.model import Plan
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

PROCESSES = 2
"""The default for each node: enough to see two processes on a node, and few enough for a laptop."""


def smaller_plan(plan: Plan, experiment: Experiment, environment: Environment, processes: int) -> Plan:
    """Return the plan with at most this many processes on each node. Names and the pods that end the job stay."""
    smaller = draft_plan(_reduced(experiment, processes), environment, plan.run, plan.revision)
    return structs.replace(smaller, ends_with=plan.ends_with)


def reduce_processes(live: Workload, planned: Workload, smaller: Workload) -> Workload:
    """Return the live pods with the numbers of the smaller plan, without the values that the cluster has changed."""
    return dataclasses.replace(
        live,
        pods=tuple(
            _update_env(pod, planned.pod(planned_name(pod)), smaller.pod(planned_name(pod)))
            if planned_name(pod) in {pod_name(known) for known in planned.pods}
            else pod
            for pod in live.pods
        ),
        config_maps={
            name: _update_files(data, planned.config_maps.get(name, {}), smaller.config_maps.get(name, {}))
            for name, data in live.config_maps.items()
        },
    )


def differences(plan: Plan, smaller: Plan) -> Iterator[str]:
    """Yield a line for the user for each role that runs with fewer processes."""
    for role, fewer in zip(plan.roles, smaller.roles, strict=True):
        if role.accelerators is not None and role.accelerators != fewer.accelerators:
            kind, count = role.accelerators
            now = fewer.accelerators[1] if fewer.accelerators is not None else 0
            yield f"{role.name}: {now} CPU processes instead of {count} {kind}"


def _reduced(experiment: Experiment, processes: int) -> Experiment:
    launcher = experiment.launcher
    chosen = getattr(launcher, launcher.kind)
    user_set = launcher.processes_per_node
    if user_set is not None:
        chosen = chosen.model_copy(update={"processes_per_node": min(user_set, processes)})
    roles = {
        name: role.model_copy(
            update={"accelerators": {kind: min(count, processes) for kind, count in role.accelerators.items()}}
        )
        for name, role in experiment.roles.items()
    }
    return experiment.model_copy(
        update={"roles": roles, "launcher": launcher.model_copy(update={launcher.kind: chosen})}
    )


def _update_files(live: Mapping[str, str], planned: Mapping[str, str], smaller: Mapping[str, str]) -> dict[str, str]:
    """Return the live files, updated one by one, because an operator may rewrite one of them while the job runs."""
    return {
        name: smaller[name] if name in smaller and text == planned.get(name) else text for name, text in live.items()
    }


def _update_env(live: dict[str, Any], planned: dict[str, Any], smaller: dict[str, Any]) -> dict[str, Any]:
    pod = copy.deepcopy(live)
    before, after = ({item["name"]: item for item in containers(one)} for one in (planned, smaller))
    for container in containers(pod):
        name = container["name"]
        if name in before and name in after:
            old, new = ({entry["name"]: entry for entry in one[name].get("env", [])} for one in (before, after))
            container["env"] = [
                new.get(entry["name"], entry) if entry == old.get(entry["name"]) else entry
                for entry in container.get("env", [])
            ]
    return pod
