"""Two files to a plan with its revision, and a plan to all its objects."""

from __future__ import annotations

import hashlib
import json
from types import ModuleType
from typing import cast

from trainform.backends import volcano
from trainform.backends.contract import Backend
from trainform.backends.patches import override_paths, patch_problems, patched
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

_MODULES: dict[str, ModuleType] = {"volcano": volcano}
BACKENDS = {name: cast(Backend, module) for name, module in _MODULES.items()}


def plan_job(experiment: Experiment, environment: Environment, run: int = 1) -> Plan:
    """The plan that is reviewed and applied; InputError with every problem of both files.

    `run` counts deliberate repetitions of an unchanged experiment, from 1.
    """
    problems = environment_problems(environment) + job_problems(experiment, environment, run)
    if problems:
        raise InputError(problems)
    return build_plan(experiment, environment, run, _revision(build_plan(experiment, environment, run)))


def job_problems(experiment: Experiment, environment: Environment, run: int = 1) -> list[Problem]:
    """Every problem of the experiment in the environment, without a cluster."""
    plan = build_plan(experiment, environment, run)
    backend = BACKENDS[plan.backend]
    problems = plan_problems(experiment, environment, plan) + list(backend.problems(plan))
    wrecked = patch_problems(plan, _rendered(plan), backend)
    return problems + (wrecked if wrecked else limit_problems(plan, job_manifests(plan), environment))


def job_manifests(plan: Plan) -> list[Manifest]:
    """Every object of the job in the order in which they are made, merge patches of the user applied."""
    return [stamped(patched(plan, manifest), override_paths(plan, manifest)) for manifest in _rendered(plan)]


def _rendered(plan: Plan) -> list[Manifest]:
    backend = BACKENDS[plan.backend]
    labels = experiment_labels(plan)
    return [
        *(claim(request, plan.namespace, labels) for request in plan.claims),
        rendezvous_service(plan.rendezvous.service, plan.namespace, pod_selector(plan.experiment), labels),
        *(replica_service(service, plan, backend.INDEX_LABEL) for service in plan.services),
        *([] if plan.ssh is None or not plan.ssh.made else [ssh_secret(plan.ssh.secret, identity(plan), labels)]),
        *([] if plan.queue.request is None else [backend.queue(plan.queue, labels)]),
        launch_files(plan, backend.files(plan)),
        backend.job(plan),
    ]


def _revision(plan: Plan) -> str:
    """Hash of what cannot change in place. It is taken under a draft revision, since addresses contain the name."""
    backend = BACKENDS[plan.backend]
    following = {manifest.key: manifest.body for manifest in job_manifests(plan) if manifest.follows_revision}
    job = following.pop("job")
    static_world = None if plan.world.bounds is not None else {role.name: role.replicas for role in plan.ranked}
    identity = [
        backend.immutable_part(job),
        [body.get("data") for body in following.values()],
        plan.run,
        static_world,
    ]
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    return digest[: defaults.REVISION_DIGITS]
