"""What a component of a job is given: each field of the two files belongs to exactly one of them, or changes no
object."""

from __future__ import annotations

import copy
import datetime
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from msgspec import structs
from pydantic import BaseModel

from tests.support.generators import ENVIRONMENT, experiments
from tests.support.rendering import plan_job
from tests.support.samples import JOB
from trainform.job.render import draft_plan, job_manifests
from trainform.manifests.manifest import to_yaml
from trainform.plan.inputs import JobInputs, job_inputs
from trainform.rules.experiment import plan_problems
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import parse
from trainform.spec.places import models_of

RICH = Environment.model_validate(ENVIRONMENT)
# Fields that a component of their own takes, where the job has it.
COMPONENTS = {"network": "rendezvous", "storage": "storage", "ssh": "ssh", "queue": "queue"}


def inputs(data: dict[str, Any], environment: Environment = RICH, run: int = 1) -> JobInputs:
    """Return the inputs of an experiment without problems."""
    found = inputs_of(Experiment.model_validate(data), environment, run)
    assert found is not None
    return found


def inputs_of(model: Experiment, environment: Environment = RICH, run: int = 1) -> JobInputs | None:
    """None where the plan has a problem. No object is rendered and judged: a job that the limits refuse has inputs
    too."""
    plan = draft_plan(model, environment, run)
    return None if [*plan_problems(model, environment, plan)] else job_inputs(model, environment, plan)


def by_component(found: JobInputs) -> dict[str, Any]:
    fields = {name: value for name, value in structs.asdict(found).items() if name != "roles"}
    return fields | {f"role {name}": written for name, written in found.roles.items()}


def differing(one: JobInputs, other: JobInputs) -> set[str]:
    before, after = by_component(one), by_component(other)
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}


def test_a_changed_field_changes_the_inputs_of_the_component_that_it_belongs_to_and_of_no_other() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=25)
    @given(experiments(), experiments())
    def check(one: dict[str, Any], other: dict[str, Any]) -> None:
        """One place of the first has what the second has there, or nothing."""
        first = parse(Experiment, one).model
        before = None if first is None else inputs_of(first)
        if before is None:
            return
        for path in places(one):
            changed = copy.deepcopy(one)
            put(changed, path, at(other, path))
            model = parse(Experiment, changed).model
            after = None if model is None or model == first else inputs_of(model)
            if after is None:
                continue
            seen[path[0]] += 1
            found = differing(before, after)
            # a launcher that needs SSH brings the component with it
            come_or_gone = {name for name in found if None in (by_component(before)[name], by_component(after)[name])}
            assert found, path
            assert found - come_or_gone <= {
                f"role {path[1]}" if len(path) > 1 else COMPONENTS.get(path[0], "job"),
                "job",
            }
            assert len(found - come_or_gone) <= 1

    check()
    assert len(seen) > 15, seen


def places(data: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """Every field of the experiment, and every field of every role."""
    for field in data:
        if field == "roles":
            yield from (("roles", role, name) for role, written in data["roles"].items() for name in written)
        else:
            yield (field,)


def at(data: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        data = data.get(key, {}) if isinstance(data, dict) else {}
    return data


def put(data: Any, path: tuple[str, ...], value: Any) -> None:
    *above, last = path
    for key in above:
        data = data[key]
    data.pop(last, None) if value == {} else data.update({last: value})


def test_inputs_are_plain_data_and_nothing_is_lost() -> None:
    found = inputs({**JOB, "storage": {"runs": {"size": "1Ti", "mount": "/runs"}}, "env": {"NCCL_DEBUG": "INFO"}})
    assert json.loads(json.dumps(msgspec.to_builtins(found), allow_nan=False)) == msgspec.to_builtins(found)
    assert found.job["env"] == {"NCCL_DEBUG": "INFO"}
    assert found.storage == {"volumes": {"runs": {"size": "1Ti", "mount": "/runs"}}}


def test_a_null_of_a_merge_patch_is_an_input_too_although_the_engine_keeps_no_null() -> None:
    def patched(patch: dict[str, Any]) -> JobInputs:
        role = {"replicas": 2, "pod_overrides": {"spec": patch}}
        return inputs({**JOB, "roles": {"worker": role}, "manifest_overrides": {"job": {"spec": patch}}})

    one, other = patched({"priorityClassName": None}), patched({"runtimeClassName": None})
    assert one.job["manifest_overrides"] == {"job": {"spec": {"priorityClassName": "null"}}}
    assert differing(one, other) == {"job", "role worker"}


def test_the_order_of_roles_is_an_input_since_ranks_follow_it() -> None:
    roles = {"a": {"replicas": 1}, "b": {"replicas": 1}}
    reordered = inputs({**JOB, "roles": dict(reversed(roles.items()))})
    assert differing(inputs({**JOB, "roles": roles}), reordered) == {"job"}
    assert differing(inputs(JOB), inputs(JOB, run=2)) == {"job"}, "the number of the run is an input too"


# Another value for each field of an environment. The job uses one kind of accelerator, the fabric and a storage class.
VARIATIONS: dict[str, Any] = {
    "name": "prod",
    "backend": "kubeflow",
    "admission": "kueue",
    "mpi_job": "v1",
    "workload_priorities": True,
    "cluster.context": "other-cluster",
    "cluster.uid": "5f1c2d7e-8a54-4f0e-9b1d-3f6f6c1b2a90",
    "namespace.name": "other-namespace",
    "namespace.create": True,
    "queues": {"default": {"weight": 7}},
    "priority_classes": {"urgent": {"value": 5}},
    "claims": {"corpus": {"size": "1Ti"}},
    "accelerators.a800.resource": "nvidia.com/gpu",
    "accelerators.a800.per_node": 16,
    "accelerators.a800.nodes": 99,
    "accelerators.a800.cpu": 64,
    "accelerators.a800.memory": "2Ti",
    "accelerators.a800.node_selector": {"pool": "a800"},
    "accelerators.a800.tolerations": [{"key": "gpu", "operator": "Exists"}],
    "accelerators.a800.price_per_hour": {"amount": 2.5, "currency": "USD", "as_of": datetime.date(2026, 1, 1)},
    "rdma.resource": "rdma/other",
    "rdma.count": 1,
    "rdma.per_node": 4,
    "rdma.capabilities": ["SYS_RESOURCE"],
    "storage_classes": {"fast": "other"},
    "ports": "20000-30000",
    "registries": {"registry.example.com": "mirror.prod.example.com"},
    "image_pull_secrets": ["other"],
    "node_selector": {"pool": "other"},
    "tolerations": [{"key": "other", "operator": "Exists"}],
    "storage_prices": {"fast": {"amount": 0.2, "currency": "USD", "as_of": datetime.date(2026, 1, 1)}},
    "cost_levels.medium": 10.0,
    "cost_levels.high": 50.0,
    "limits.severity": {"TF-IMG-2": "warning"},
    "limits.waivable": {"TF-IMG-1": ["team-lead"]},
    "limits.longest_waiver": "30d",
    "limits.pod_security": "restricted",
    "limits.runtime_classes": ["kata"],
    "limits.metadata_keys": ["k8s.v1.cni.cncf.io/networks"],
    "limits.host_network": True,
    "limits.host_paths": ["/data"],
    "limits.volume_types": ["persistentVolumeClaim", "configMap", "emptyDir", "secret", "nfs"],
    "limits.registries": ["registry.example.com"],
    "limits.max_accelerators": 64,
    "limits.resources": ["smarter-devices/fuse"],
    "limits.shared_memory_share": 0.9,
    "limits.max_cost_per_hour": {"amount": 500.0, "currency": "USD"},
    "limits.max_run_time": "72h",
    "limits.queues": ["default"],
    "limits.own_queues": False,
    "limits.max_queue_weight": 4,
    "limits.priority_classes": ["high"],
    "limits.service_accounts": ["train"],
    "limits.resource_claims": ["one-gpu"],
    "limits.job_managers": ["kueue.x-k8s.io/multikueue"],
    "limits.cache_backends": True,
    "limits.tolerations": ["other"],
    "limits.service_types": ["ClusterIP", "NodePort"],
    "promotion.required": True,
    "promotion.sources": ["dev"],
    "promotion.succeeded": True,
    "promotion.digest": True,
    "promotion.soak": "24h",
    "promotion.clean": True,
    "promotion.waivable": {"soak": ["team-lead"]},
}
ON_IT: dict[str, Any] = {
    **JOB,
    "network": {"host": True, "rdma": True},
    "run_as": {"user": 1000},
    "roles": {
        "worker": {
            "replicas": 2,
            "accelerators": {"a800": 8},
            "pod_overrides": {"spec": {"activeDeadlineSeconds": 3600}},  # within limits.max_run_time
        }
    },
    "storage": {"runs": {"size": "1Ti", "class": "fast", "mount": "/runs"}},
}


# Models that a file writes as one value.
AMOUNTS = ("tolerations", "price_per_hour", "max_cost_per_hour", "storage_prices")


def leaves(model: type[BaseModel], path: str = "") -> Iterator[str]:
    """The fields without a model below, the kind of accelerators by the name that it has here. What belongs to the
    environment's own stack is a leaf."""
    for name, field in model.model_fields.items():
        below = [] if path == "" and name in ("queues", "priority_classes", "claims") else models_of(field.annotation)
        if not below or name in AMOUNTS:
            yield f"{path}{name}"
        for inside in below if name not in AMOUNTS else ():
            yield from leaves(inside, f"{path}{name}." + ("a800." if name == "accelerators" else ""))


def test_every_field_of_an_environment_has_a_variation() -> None:
    assert set(leaves(Environment)) == set(VARIATIONS)


WITH_OTHERS: dict[str, dict[str, Any]] = {"workload_priorities": {"admission": "kueue", "priority_classes": {}}}
"""What a variation needs besides."""


@pytest.mark.parametrize("path", VARIATIONS)
def test_settings_of_the_environment_are_inputs_only_if_they_change_objects(path: str) -> None:
    data = {**copy.deepcopy(ENVIRONMENT), "backend": "jobset", "queues": {}, **WITH_OTHERS.get(path, {})}
    price = {"amount": 1.0, "currency": "USD", "as_of": datetime.date(2026, 1, 1)}
    data["accelerators"]["a800"]["price_per_hour"] = price
    base = Environment.model_validate(data)
    inside = data
    *above, last = path.split(".")
    for key in above:
        inside = inside.setdefault(key, {})
    inside[last] = VARIATIONS[path]
    model = Experiment.model_validate({**ON_IT, **({"priority_class": "urgent"} if path in WITH_OTHERS else {})})
    found = []
    for environment in (base, parse(Environment, data).model):
        assert environment is not None
        plan = plan_job(model, environment)
        found.append(
            (by_component(job_inputs(model, environment, plan)), to_yaml(job_manifests(plan)), environment.cluster)
        )
    (before, *objects), (after, *changed) = found
    assert (before != after) == (objects != changed)


def test_settings_that_the_job_does_not_use_are_no_inputs() -> None:
    """Of the levels of `pod_security` only `restricted` changes objects."""
    limits = {**ENVIRONMENT["limits"], "pod_security": "privileged"}
    for other in ({"limits": limits}, {"rdma": {"resource": "rdma/other"}}):
        assert inputs(JOB) == inputs(JOB, Environment.model_validate({**ENVIRONMENT, **other}))
    named = {**JOB, "backend": "jobset"}
    assert inputs(named) == inputs(named, RICH.model_copy(update={"backend": "jobset"}))


def test_the_resource_of_a_kind_is_an_input_of_a_queue_that_has_an_amount_of_it() -> None:
    data = {**JOB, "queue": {"capability": {"a800": 64}}}
    kinds = copy.deepcopy(ENVIRONMENT["accelerators"])
    kinds["a800"]["resource"] = "nvidia.com/gpu"
    other = Environment.model_validate({**ENVIRONMENT, "accelerators": kinds})
    assert differing(inputs(data), inputs(data, other)) == {"queue"}
