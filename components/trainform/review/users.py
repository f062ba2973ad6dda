"""The experiments that the stacks of an environment run, and which of its objects they use."""

from __future__ import annotations

from pathlib import Path

from trainform.backends.backend import pods_of
from trainform.deployed.releases.evidence import lacks_of
from trainform.deployed.stacks import environment_file
from trainform.errors import InputError, TrainformError
from trainform.job.check import check_experiment
from trainform.job.render import RenderedJob
from trainform.manifests.manifest import job_body, mapping
from trainform.project import known_stacks
from trainform.review import steps
from trainform.review.context import Use, User
from trainform.review.mounts import CLAIM
from trainform.spec.stack import load_any_stack


def users_in(environment: str, root: Path) -> tuple[User, ...]:
    """Return the experiments of the environment by their stacks, also those that cannot be read."""
    wanted = environment_file(environment, root)
    return tuple(user for stack in known_stacks(root) if (user := _user(stack, wanted, root)) is not None)


def _user(stack: str, environment: Path | None, root: Path) -> User | None:
    """None for a stack that runs no experiment in this environment."""
    experiment = ""
    try:
        chosen = load_any_stack(stack, root)
        if not chosen.experiment or environment_file(chosen.environment, root) != environment:
            return None
        experiment = chosen.experiment
        checked = check_experiment(chosen.given, chosen.environment, chosen.run, root)
    except TrainformError as error:
        return User(stack, experiment, unread=error.first_reason)
    if checked.job is None:
        return User(stack, checked.name, unread=InputError(checked.problems).first_reason)
    lacks = lacks_of(stack, checked.name, chosen.release, checked.job.environment, root)
    return User(stack, checked.name, uses_of(checked.job), job=checked.job, lacks=lacks)


def uses_of(job: RenderedJob) -> frozenset[Use]:
    """Return the kinds and names of what the job needs of its environment, with merge patches."""
    plan = job.plan
    named: set[tuple[str, str | None]] = {(steps.QUEUE, plan.queue.name), (steps.PRIORITY_CLASS, plan.priority_class)}
    if plan.queue.request is not None:
        named.add((steps.QUEUE, plan.queue.request.parent))
    named |= {(steps.CLAIM, mount.claim) for role in plan.roles for mount in role.mounts}
    for pods in pods_of(job_body(job.manifests)):
        named.add((steps.PRIORITY_CLASS, pods.template.spec.get("priorityClassName")))
        claims = (mapping(volume.get(CLAIM)) for volume in pods.template.volumes())
        named |= {(steps.CLAIM, claim.get("claimName")) for claim in claims}
    return frozenset((kind, name) for kind, name in named if name)
