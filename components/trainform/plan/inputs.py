"""The inputs of a job's components: the fields that the user set. The engine stores them and names those that change.

Derived values (ranks, addresses, the revision, the cost) are not inputs, so a preview shows a change only where the
user made it. A new price, or another node of the same kind, changes nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct

from trainform.console.secrets import masked
from trainform.plan.images import used_registries
from trainform.plan.model import Plan
from trainform.plan.record import Record
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.network import Ssh
from trainform.spec.queue_fields import QueueRequest
from trainform.spec.storage import NEW_CLAIM_FIELDS, SOURCES, Volume

# Fields of an environment that reach no object of a job. Entries that the job does not use are removed elsewhere.
_WITHOUT_EFFECT: Mapping[str, Any] = {
    "queues": True,
    "priority_classes": True,
    "claims": True,
    "limits": True,
    "promotion": True,
    "storage_prices": True,
    "cost_levels": True,
    "namespace": {"create"},
    "accelerators": {"__all__": {"per_node", "nodes", "cpu", "memory", "price_per_hour"}},
    "rdma": {"per_node"},
}

OUTPUTS = ("namespace", "queues")
"""Sections of an environment whose names are outputs of its component, so they cannot be inputs too: each of their
entries is an input."""


OTHER_SOURCES = tuple(source for source in SOURCES if source != "size")


class JobInputs(Struct, frozen=True):
    """Plain data under the names of the files, without what has its default. None: the job has no such component."""

    job: dict[str, Any]
    roles: dict[str, dict[str, Any]]
    rendezvous: dict[str, Any]
    storage: dict[str, Any] | None
    ssh: dict[str, Any] | None
    queue: dict[str, Any] | None


def job_inputs(experiment: Experiment, environment: Environment, plan: Plan) -> JobInputs:
    """Return the inputs of each component.

    If the job has no such component (`ssh` with an existing Secret, `queue` by name), the field is an input of the job.
    The environment's settings for a kind of accelerators are inputs of the roles that use it, and those for a storage
    class are inputs of the storage.
    """
    rest = _without_null(experiment.user_set())
    written = rest.pop("roles")
    network, volumes = rest.pop("network", {}), rest.pop("storage", None)
    ssh = rest.pop("ssh", {}) if plan.ssh is not None and plan.ssh.made else None
    offered = environment_part(experiment, environment, plan)
    kinds, classes = offered.pop("accelerators", {}), offered.pop("storage_classes", {})
    fabric = {"environment": {"rdma": offered.pop("rdma")}} if "rdma" in offered else {}
    queue = None
    if plan.queue.request is not None:
        queue = {**rest.pop("queue"), **_beside("accelerators", _used(kinds, _kinds_of(plan.queue.request)))}
    roles = {
        role.written: {
            **written[role.written],
            **_beside("accelerators", _used(kinds, () if role.accelerators is None else role.accelerators[:1])),
        }
        for role in plan.roles
    }
    job = {
        **rest,
        "roles": list(experiment.roles),  # their order is that of the ranks
        "environment": offered,
        **({} if plan.run == 1 else {"run": plan.run}),
    }
    storage = None if volumes is None else {"volumes": volumes, **_beside("storage_classes", classes)}
    return JobInputs(job=job, roles=roles, rendezvous={**network, **fabric}, storage=storage, ssh=ssh, queue=queue)


def _without_null(value: Any) -> Any:
    """Return the value with a text instead of each null. Merge patches have nulls, and the engine does not store them,
    so a preview could not show that one has changed."""
    if isinstance(value, dict):
        return {key: _without_null(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_null(item) for item in value]
    return "null" if value is None else value


def environment_part(
    experiment: Experiment, environment: Environment, plan: Plan, *, exclude_defaults: bool = True
) -> dict[str, Any]:
    """Return the fields of the environment that reach an object of the job or say where the job is created, under the
    names of the environment's file."""
    offered = environment.model_dump(
        mode="json", by_alias=True, exclude_defaults=exclude_defaults, exclude=dict(_WITHOUT_EFFECT)
    )
    kinds = [role.accelerators[0] for role in plan.roles if role.accelerators is not None]
    classes = [claim.request.storage_class for claim in plan.claims]
    if plan.queue.request is not None:
        kinds += _kinds_of(plan.queue.request)
    for field, names in (("accelerators", kinds), ("storage_classes", classes)):
        offered[field] = _used(offered.get(field, {}), names)
    offered["registries"] = used_registries(experiment, environment.registries)
    for field, used in (
        ("backend", experiment.backend is None),
        ("rdma", experiment.network.rdma),
        ("mpi_job", bool(plan.operator.mpi_job)),
        ("workload_priorities", experiment.priority_class is not None),
    ):
        if not used:
            offered.pop(field, None)
    if plan.restricted:  # the other levels change no object
        offered["limits"] = {"pod_security": environment.limits.pod_security}
    return {name: value for name, value in offered.items() if value != {}}


def environment_inputs(environment: Environment) -> dict[str, Any]:
    """Return what the environment's own stack records of its file: all fields but defaults, secrets, and the cluster,
    whose context is a name on one machine."""
    recorded: dict[str, Any] = masked(environment.user_set())
    recorded.pop("cluster", None)
    for section in OUTPUTS:
        recorded |= {f"{section}.{key}": value for key, value in recorded.pop(section, {}).items()}
    return recorded


def recorded_environment(inputs: Mapping[str, Any]) -> Environment:
    """Return the environment that a stack has recorded; ValueError if this version of trainform cannot read it."""
    sections: dict[str, dict[str, Any]] = {}
    for name, value in inputs.items():
        section, dot, key = name.partition(".")
        if dot:
            sections.setdefault(section, {})[key] = value
    whole = {name: value for name, value in inputs.items() if "." not in name}
    return Environment.model_validate({**whole, **sections}, strict=False)


def job_record(experiment: Experiment, environment: Environment, plan: Plan) -> Record | None:
    """Return the record of what is deployed, with every default; None if it does not fit into a ConfigMap. It has no
    context, which is a name in one user's kubeconfig."""
    part = environment_part(experiment, environment, plan, exclude_defaults=False)
    del part["cluster"]
    base = None if experiment.base is None else resolve_with_overlays(experiment.base)
    record = Record(plan.revision, plan.job, plan.run, resolved(experiment), part, base=base)
    return record if record.fits() else None


def recorded_models(record: Record) -> tuple[Experiment, Environment]:
    """Return the models of a record. Fields that reach no object of the job have their defaults. ValueError if this
    version of trainform cannot read the record."""
    try:
        experiment = Experiment.model_validate(parse_dates(record.experiment))
        return experiment, Environment.model_validate(record.environment)
    except (AttributeError, TypeError, RecursionError) as error:
        raise ValueError(type(error).__name__) from None


def resolved(experiment: Experiment) -> dict[str, Any]:
    """Return the experiment with every default, as plain data under the names of the file."""
    return experiment.model_dump(mode="json", by_alias=True, exclude=_without_value(experiment))


def resolve_with_overlays(experiment: Experiment) -> dict[str, Any]:
    """Return the experiment with every default, and with its `environments` as written. Defaults that an overlay makes
    invalid are left out."""
    overlays = experiment.model_dump(mode="json", include={"environments"})["environments"]
    left_out = _without_value(experiment, overlays.values())
    data = experiment.model_dump(mode="json", by_alias=True, exclude=left_out)
    return {**data, "environments": {name: _no_file(patch) for name, patch in overlays.items()}}


def _no_file(patch: Mapping[str, Any]) -> dict[str, Any]:
    """Return the merge patch without the file of a runtime, as `resolved` leaves it out."""
    runtime = patch.get("runtime")
    if not isinstance(runtime, dict):
        return {**patch}
    return {**patch, "runtime": {key: value for key, value in runtime.items() if key != "file"}}


def parse_dates(experiment: Mapping[str, Any]) -> dict[str, Any]:
    """Return an experiment from JSON as YAML has it: the last days of waivers are dates, also in its overlays."""
    parsed = {**experiment}
    if isinstance(parsed.get("waivers"), list):
        parsed["waivers"] = [{**waiver, "until": _day(waiver.get("until"))} for waiver in parsed["waivers"]]
    if parsed.get("environments"):
        parsed["environments"] = {name: parse_dates(patch) for name, patch in parsed["environments"].items()}
    return parsed


def _day(value: Any) -> Any:
    return datetime.date.fromisoformat(value) if isinstance(value, str) else value


def _without_value(experiment: Experiment, overlays: Iterable[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return the fields to leave out, as pydantic's `exclude`.

    These are fields that another field makes invalid, the file of a runtime, which is a path on one machine, and the
    overlays, which are merged already.
    """
    written = [*overlays]
    existing = {
        name: {field for field in NEW_CLAIM_FIELDS if getattr(volume, field) == Volume.model_fields[field].default}
        for name, volume in experiment.storage.items()
        if volume.size is None
        or any(_sets(patch, "storage", name, source) for patch in written for source in OTHER_SOURCES)
    }
    excluded: dict[str, Any] = {"environments": True, "runtime": {"file"}, "storage": existing}
    ssh = experiment.ssh
    if ssh is None or ssh.rotation != Ssh.model_fields["rotation"].default:
        return excluded
    needless = ssh.secret is not None or any(_sets(patch, "ssh", "secret") for patch in written)
    return excluded | ({"ssh": {"rotation"}} if needless else {})


def _sets(patch: Any, *path: str) -> bool:
    """Return whether a merge patch sets a value at this path."""
    for key in path:
        patch = patch.get(key) if isinstance(patch, Mapping) else None
    return patch is not None


def _used(offered: Mapping[str, Any], names: Iterable[str | None]) -> dict[str, Any]:
    """Return the entries that are in use and not empty."""
    return {name: offered[name] for name in dict.fromkeys(names) if name is not None and offered.get(name)}


def _kinds_of(request: QueueRequest) -> list[str]:
    """Return the kinds of accelerators, and the resources, of which a queue has amounts."""
    return [*request.capability, *request.deserved, *request.guarantee]


def _beside(field: str, used: Mapping[str, Any]) -> dict[str, Any]:
    """Return a component's input with the environment's settings for the entries that it uses."""
    return {"environment": {field: dict(used)}} if used else {}
