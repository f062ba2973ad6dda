"""The files of a stack: the experiment in its environment as they are now, and where their fields stand; of an
environment's own stack, the experiments of its stacks and what they use of it."""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct, structs

from trainform.backends.backend import pods_of
from trainform.console.secrets import masked_path
from trainform.deployed.releases.evidence import PASSED, Lack, add_refusals, lacks_of
from trainform.deployed.releases.release import Release
from trainform.deployed.releases.release_files import read_release
from trainform.deployed.stacks import environment_file
from trainform.errors import InputError, Problem, TrainformError
from trainform.job.check import CheckedJob, CheckedPlatform, check_environment, check_platform, check_stack
from trainform.job.render import RenderedJob
from trainform.manifests.manifest import job_body, mapping
from trainform.project import known_stacks
from trainform.review import steps
from trainform.review.context import Use, User
from trainform.review.limits import OF_ENVIRONMENT
from trainform.review.model import NotChecked, Origin, Place, WaivedGate
from trainform.review.mounts import CLAIM
from trainform.spec.environment import Environment
from trainform.spec.read import NOWHERE, Source
from trainform.spec.stack import Stack, key_place, load_any_stack


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
        checked = check_stack(chosen, root)
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


WHAT = "files"
RUN = "run"


class StackFiles(Struct, frozen=True):
    """The content of the files of a stack."""

    checked: CheckedJob | CheckedPlatform | None = None
    """The environment alone for its own stack; None if the files cannot be read."""
    environment: Environment | None = None
    experiment_source: Source = NOWHERE
    environment_source: Source = NOWHERE
    left_out: tuple[NotChecked, ...] = ()
    """Why the files cannot be read."""
    users: tuple[User, ...] | None = None
    """The experiments in the environment whose own stack it is; None for another stack."""
    lacks: tuple[Lack, ...] = ()
    """What the stack lacks by the gates of its environment."""
    run: Place | None = None
    """Where the stack sets the number of the run."""
    origin: Origin | None = None
    """Of its release."""

    def locate(self, path: str) -> Place:
        """Return where a path stands; one that begins with `environment.` is of the environment, and `run` of the
        stack."""
        if path == RUN and self.run is not None:
            return self.run
        own = path.startswith(OF_ENVIRONMENT)
        source = self.environment_source if own else self.experiment_source
        here = path.removeprefix(OF_ENVIRONMENT) if own else path
        found = source.locate(Problem(here, None, "", ""))
        origin = "" if found.path == here else masked_path(found.path)
        return Place(path=path, file=found.source, line=found.line, origin=origin)


def stack_files(chosen: Stack, root: Path, name: str = "") -> StackFiles:
    """Return the files of what a stack runs, without what cannot be read. name: of the stack; "": without release."""
    try:
        if not chosen.experiment:
            return _of_environment(chosen.environment, root)
        files = _of_experiment(chosen, root, name)
        return structs.replace(files, run=_run_place(name, root)) if name else files
    except TrainformError as error:
        return without_files(error)


def _run_place(stack: str, root: Path) -> Place:
    """Return where the file of the stack sets the number of the run."""
    found = key_place(stack.rpartition("/")[2], root, RUN)
    return Place(path=RUN, file=found.source, line=found.line, origin=found.path.removeprefix("config."))


def without_files(error: TrainformError) -> StackFiles:
    """Return the files of a stack that cannot be read."""
    reason = f"The files of the stack cannot be read: {error.first_reason}."
    return StackFiles(left_out=(NotChecked(what=WHAT, reason=reason),))


def _of_experiment(chosen: Stack, root: Path, name: str) -> StackFiles:
    try:
        checked = check_stack(chosen, root)
    except InputError as error:  # there is no file: a program makes the experiment
        return structs.replace(without_files(error), environment=check_environment(chosen.environment, root).model)
    experiment, environment = checked.sources
    # what is wrong with the experiment alone leaves the environment, which says where the cluster is
    model = check_environment(chosen.environment, root).model if checked.job is None else checked.job.environment
    lacks = () if model is None or not name else lacks_of(name, checked.name, chosen.release, model, root)
    origin = read_origin(checked.name, chosen.release, root) if name else None
    held = add_refusals(checked, lacks)
    left_out = () if checked.job is not None else without_files(InputError(checked.problems)).left_out
    return StackFiles(held, model, experiment, environment, left_out, lacks=lacks, origin=origin)


def _of_environment(name: str, root: Path) -> StackFiles:
    loaded = check_environment(name, root)
    if loaded.model is None:
        return without_files(InputError(loaded.problems))
    platform = check_platform(name, root)
    return StackFiles(platform, loaded.model, environment_source=loaded.source, users=users_in(name, root))


# --- the release


def read_origin(experiment: str, release: str | None, root: Path) -> Origin | None:
    """Return the origin of the release; None without one, or if its file cannot be read."""
    try:
        return None if release is None else origin_of(read_release(experiment, release, root))
    except InputError:
        return None


def origin_of(release: Release) -> Origin:
    """Return the evidence in a release that a reviewer needs."""
    shown = release.masked
    return Origin(
        release=release.name,
        source=shown.promoted.source,
        environment=shown.origin.environment,
        by=shown.promoted.by,
        at=shown.promoted.at,
        passed=[gate for gate, result in shown.promoted.gates.items() if result == PASSED[0]],
        waived=[WaivedGate(gate=each.gate, by=each.by, reason=each.reason) for each in shown.promoted.waived],
        rollback="" if shown.rollback is None else shown.rollback.reason,
    )
