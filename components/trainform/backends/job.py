"""Two files to a plan with its revision, and a plan to all its objects."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import cast, get_args

from trainform.backends.contract import Backend
from trainform.backends.endings import endless_notes
from trainform.backends.in_place import immutable_part
from trainform.backends.patches import check_patches, override_paths, patched
from trainform.backends.queues import CRDS as QUEUE_CRDS
from trainform.backends.queues import queue_manifest
from trainform.backends.sizes import size_problems
from trainform.backends.support import support_notes, support_problems
from trainform.catalog import defaults
from trainform.errors import InputError, Problem
from trainform.manifests.manifest import Manifest, stamped
from trainform.manifests.objects import (
    claim,
    experiment_labels,
    launch_files,
    pod_selector,
    rendezvous_service,
    replica_service,
)
from trainform.manifests.ssh import identity, ssh_secret
from trainform.plan import Plan, build_plan
from trainform.plan.environment import environment_problems
from trainform.plan.problems import plan_problems
from trainform.policy import limit_problems
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.names import BackendName


class _Backends(Mapping[str, Backend]):
    """The module of each operator by its name, imported when it is asked for: a command needs one of them."""

    def __getitem__(self, name: str) -> Backend:
        if name not in get_args(BackendName):
            raise KeyError(name)
        return cast(Backend, importlib.import_module(f"trainform.backends.{name}"))

    def __iter__(self) -> Iterator[str]:
        return iter(get_args(BackendName))

    def __len__(self) -> int:
        return len(get_args(BackendName))


BACKENDS: Mapping[str, Backend] = _Backends()


def plan_job(experiment: Experiment, environment: Environment, run: int = 1) -> Plan:
    """The plan that is reviewed and applied; InputError with every problem of both files.

    `run` counts deliberate repetitions of an unchanged experiment, from 1.
    """
    problems = environment_problems(environment) + job_problems(experiment, environment, run)
    if problems:
        raise InputError(problems)
    return plan_checked_job(experiment, environment, run)


def plan_checked_job(experiment: Experiment, environment: Environment, run: int = 1) -> Plan:
    """The same for models in which neither `environment_problems` nor `job_problems` has found anything."""
    plan = build_plan(experiment, environment, run, _revision(build_plan(experiment, environment, run)))
    backend = BACKENDS[plan.backend]
    ends_with = backend.endings(plan, job_manifests(plan))
    notes = (*plan.notes, *support_notes(experiment, backend.FIELDS), *endless_notes(plan, ends_with))
    return dataclasses.replace(plan, ends_with=ends_with, notes=notes)


def job_problems(experiment: Experiment, environment: Environment, run: int = 1) -> list[Problem]:
    """Every problem of the experiment in the environment, without a cluster."""
    plan = build_plan(experiment, environment, run)
    backend = BACKENDS[plan.backend]
    problems = plan_problems(experiment, environment, plan)
    if plan.admission not in backend.ADMISSIONS:
        able = ", ".join(name for name, other in BACKENDS.items() if plan.admission in other.ADMISSIONS)
        reason = f"is not admitted by {plan.admission.capitalize()}, as the environment asks"
        problems.append(Problem("backend", plan.backend, reason, f"use one of {able}"))
    problems += [*support_problems(experiment, backend.FIELDS), *backend.problems(plan)]
    rendered = _rendered(plan)
    wrong_patches, plan = check_patches(plan, backend, rendered, _rendered)
    manifests = _applied(plan, _rendered(plan) if wrong_patches else rendered)
    limits = limit_problems(plan, manifests, backend.templates(plan, manifests), environment)
    return [*problems, *wrong_patches, *size_problems(plan, manifests), *limits]


def job_manifests(plan: Plan) -> list[Manifest]:
    """Every object of the job in the order in which they are made, merge patches of the user applied."""
    return _applied(plan, _rendered(plan))


def needed_crds(plan: Plan) -> tuple[str, ...]:
    """Custom resource definitions that must be in the cluster: the operator's, and Volcano's queue where the job goes into one."""
    return (*BACKENDS[plan.backend].crds(plan), *(QUEUE_CRDS if plan.admission == defaults.VOLCANO else ()))


def _applied(plan: Plan, rendered: Iterable[Manifest]) -> list[Manifest]:
    return [stamped(patched(plan, manifest), override_paths(plan, manifest)) for manifest in rendered]


def _rendered(plan: Plan) -> list[Manifest]:
    backend = BACKENDS[plan.backend]
    labels = experiment_labels(plan)
    return [
        *(claim(request, plan.namespace, labels) for request in plan.claims),
        *(
            [rendezvous_service(plan.rendezvous.service, plan.namespace, pod_selector(plan.experiment), labels)]
            if plan.naming.own_service
            else []
        ),
        *(replica_service(service, plan, backend.INDEX_LABEL) for service in plan.services),
        *([] if plan.ssh is None or not plan.ssh.made else [ssh_secret(plan.ssh.secret, identity(plan), labels)]),
        *([] if plan.queue.request is None else [queue_manifest(plan.queue, labels)]),
        launch_files(plan, backend.files(plan)),
        *backend.further(plan),
        backend.job(plan),
    ]


def _revision(plan: Plan) -> str:
    """Hash of what cannot change in place. It is taken under a draft revision, since addresses contain the name."""
    backend = BACKENDS[plan.backend]
    following = {manifest.key: manifest.body for manifest in job_manifests(plan) if manifest.revision is not None}
    job = following.pop("job")
    static_world = None if plan.world.bounds is not None else {role.name: role.replicas for role in plan.ranked}
    identity = [
        immutable_part(job, backend.IN_PLACE),
        [body.get("data", body.get("spec")) for body in following.values()],
        plan.run,
        static_world,
    ]
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    return digest[: defaults.REVISION_DIGITS]
