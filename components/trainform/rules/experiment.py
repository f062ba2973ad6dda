"""Rules for an experiment in its environment: unknown, too long and repeated names, and what launchers require.

`rules.limits` has the environment's limits. A backend refuses what its operator cannot do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trainform import defaults
from trainform.errors import Problem, list_names
from trainform.plan.launch.launch import chooses_mode
from trainform.plan.model import Plan, group_name
from trainform.plan.split_launcher import LAUNCHER, split_parts
from trainform.plan.variables import RESERVED_PREFIX
from trainform.plan.world import (
    ALL_WHEN_EVICTED,
    EVALUATOR,
    TASK_TYPES,
    first_ranked,
    restart_words,
    role_restart,
    task_type,
    times,
)
from trainform.rules.network import address_problems, port_problems, rendezvous_problems, ssh_problems
from trainform.rules.references import job_queue_problems, mount_problems, reference_problems
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.names import LABEL_MAX

OWN_WORDS = {"deepspeed": "launcher.deepspeed.args", "mpi": "launcher.mpi.command"}
"""Where launchers over SSH, which need their own script, have the arguments of the program."""


def accelerate_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield the problems of accelerate."""
    launcher = experiment.launcher.accelerate
    if launcher is None:
        return
    counts = {role.accelerators[1] if role.accelerators is not None else 1 for role in plan.ranked}
    if len(counts) > 1 and launcher.processes_per_node is None:
        reason = (
            "the roles have different numbers of accelerators, and accelerate gives every machine the same number of "
            "processes"
        )
        yield Problem("roles", None, reason, "make them equal, or use torchrun")
    started = [role for role in plan.ranked if experiment.roles[role.name].command is None]
    without = [role.name for role in started if role.accelerators is None]
    if without and plan.world.processes > 1 and not chooses_mode(launcher):
        reason = (
            f"the launcher starts {plan.world.processes} processes, and without accelerators (role "
            f"{', '.join(without)}) accelerate joins them by MPI only"
        )
        yield Problem("launcher.accelerate", None, reason, "use torchrun: write `launcher: {torchrun: {script: …}}`")


def ssh_launcher_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield problems of launchers over SSH: one pod launches, and the other ranked pods only run an sshd."""
    launching = plan.launches
    role = None if launching is None else experiment.roles.get(launching)
    if launching is None or role is None:
        return
    own = plan.by_name[launching].written
    if role.replicas != 1 and not role.ranked:
        reason = f"the role launches ({plan.launcher} starts all processes from one pod), so it must have 1 replica"
        yield Problem(f"roles.{launching}.replicas", role.replicas, reason, "write 1")
    if role.replicas > 1 and role.ranked and LAUNCHER in experiment.roles:
        reason = f"the first pod of the role {launching} launches, and becomes the role {LAUNCHER} in the plan"
        able = not experiment.roles[LAUNCHER].ranked and experiment.roles[LAUNCHER].replicas == 1
        fix = f"write `role: {LAUNCHER}` in `launcher.{plan.launcher}`, or " if able else ""
        yield Problem(f"roles.{LAUNCHER}", None, reason, f"{fix}give the role {LAUNCHER} another name")
    if role.ranked and launching != first_ranked(experiment):
        reason = f"the launching role is ranked, but rank 0 is in {first_ranked(experiment)}"
        path = f"launcher.{plan.launcher}.role"
        yield Problem(path, own, reason, "put it first in `roles`, or make it `ranked: false`")
    for name, other in experiment.roles.items():
        if other.command is not None and (other.ranked or name == launching):
            reason = (
                f"the command has no place: {plan.launcher} starts the processes of ranked roles over SSH, from the "
                f"role {own}"
            )
            fix = "remove it" if plan.by_name[name].written == own else "remove it, or make the role `ranked: false`"
            yield Problem(f"roles.{name}.command", None, reason, fix)


def tensorflow_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield the problems of TensorFlow's task types."""
    tensorflow = experiment.launcher.tensorflow
    if tensorflow is None:
        return
    path = "launcher.tensorflow.task_types"
    ranked = [role.name for role in plan.ranked]
    for name in tensorflow.task_types:
        if name not in experiment.roles or not experiment.roles[name].ranked:
            reason = "the experiment has no ranked role of this name"
            yield Problem(f"{path}.{name}", None, reason, f"known: {list_names(ranked)}")
    owners: dict[str, str] = {}
    for role in plan.ranked:
        kind = task_type(experiment, role.name)
        if kind is None:
            reason = "the name is not one of TensorFlow's task types"
            fix = f"call it {', '.join(TASK_TYPES)}, or write `task_types: {{{role.name}: worker}}`"
            yield Problem(f"roles.{role.name}", None, reason, fix)
        elif kind in owners:
            reason = f"the role has the task type {kind}, as {owners[kind]} has"
            yield Problem(f"roles.{role.name}", None, reason, "make the two one role")
        elif kind in ("chief", EVALUATOR) and role.replicas > 1:
            reason = f"the number must be 1: TensorFlow has one {kind}"
            yield Problem(f"roles.{role.name}.replicas", role.replicas, reason, "write 1")
        if kind is not None:
            owners.setdefault(kind, role.name)
    if owners.keys() & TASK_TYPES and not owners.keys() & {"chief", "worker"}:
        reason = "the roles have neither a chief nor a worker, so nothing trains"
        yield Problem("roles", None, reason, "add a role `worker`")
    if task_type(experiment, first_ranked(experiment)) == EVALUATOR and len(plan.ranked) > 1:
        reason = "the role is the evaluator, which is outside of the cluster"
        yield Problem(f"roles.{first_ranked(experiment)}", None, reason, "put it last")


def entrypoint_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield fields that need a launch script; a job with `entrypoint` has none."""
    if experiment.launcher.entrypoint is None:
        return
    fix = "remove it, or start the program by `launcher: {command: […]}`"
    for role in plan.ranked[1:]:
        reason = (
            "the launcher `entrypoint` has one ranked role: without a launch script, the index of a pod is its rank"
        )
        together = f"make it one role with {plan.ranked[0].name}, or start the program by `launcher: {{command: […]}}`"
        yield Problem(f"roles.{role.name}", None, reason, together)
    if experiment.roles[plan.ranked[0].name].command is not None:
        reason = "the command replaces the ENTRYPOINT, which the launcher names"
        yield Problem(f"roles.{plan.ranked[0].name}.command", None, reason, fix)
    if experiment.ssh is not None:
        yield Problem("ssh", None, "sshd is started by the launch script, and `entrypoint` has none", fix)
    if plan.services and experiment.network.host:
        reason = "behind its Service rank 0 opens another port than its peers call; only a launch script can say so"
        yield Problem("network.addresses", "service", reason, fix)


def restart_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield values of `restart` that the launcher cannot follow."""
    if restart_words(experiment.restart) == ALL_WHEN_EVICTED and experiment.elastic:
        reason = "the job is elastic and goes on without the evicted pod"
        yield Problem("restart", ALL_WHEN_EVICTED, reason, "remove it")
    for planned in plan.roles:
        name, role = planned.name, experiment.roles[planned.name]
        words = str(restart_words(role_restart(experiment, name)))
        if restart_words(role.restart) == ALL_WHEN_EVICTED and (not planned.launched or experiment.elastic):
            whole = (
                "an elastic job goes on without the evicted pod"
                if role.ranked
                else "the end of an extra never ends the training"
            )
            reason = f"the value has no meaning here: {whole}"
            yield Problem(f"roles.{name}.restart", ALL_WHEN_EVICTED, reason, "write on-failure, or remove it")
        if times(words) is not None and role.max_retry is not None:
            reason = f"the role has `restart: {words}` too, which sets the same number"
            yield Problem(f"roles.{name}.max_retry", role.max_retry, reason, "keep one of the two")


OWN_LABELS = (*defaults.MANAGED_BY, defaults.NAME_LABEL, defaults.ROLE_LABEL)

# Prefixes of reserved keys of labels and annotations, each with the reason.
RESERVED = {
    defaults.LABEL_PREFIX: "the key is set by trainform itself",
    "pulumi.com/": "the key tells Pulumi how to apply the object, which trainform decides",
}


def reserved(key: str) -> str | None:
    """Return the reason why the key of a label or annotation is reserved; None if users may set it."""
    return next((reason for prefix, reason in RESERVED.items() if key.startswith(prefix)), None)


def metadata_problems(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield labels and annotations of the user with reserved keys."""
    written = [("", experiment.labels, experiment.annotations)]
    written += [(f"roles.{name}.", role.labels, role.annotations) for name, role in experiment.roles.items()]
    for path, labels, noted in written:
        for field, keys in (("labels", labels), ("annotations", noted)):
            for key in keys:
                reason = RESERVED[defaults.LABEL_PREFIX] if key in OWN_LABELS else reserved(key)
                if reason is not None:
                    yield Problem(f"{path}{field}.{key}", keys[key], reason, "choose another key")


Rule = Callable[[Experiment, Environment, Plan], Iterator[Problem]]


def plan_problems(experiment: Experiment, environment: Environment, plan: Plan) -> list[Problem]:
    """Return every problem of the experiment in this environment."""
    parts = split_parts(experiment, plan)
    return [problem for rule in RULES for problem in rule(parts, environment, plan)]


def _names(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    """Yield names that are too long: the longest pod name becomes a hostname, and so must fit a DNS label."""
    elastic = experiment.launcher.elastic
    for role in plan.roles:
        most = role.replicas if elastic is None or not role.ranked else max(role.replicas, elastic.max_nodes)
        last = max(most - 1, 0)
        longest = plan.naming.pod_name(
            plan.job, *((group_name(role.group, last), 0) if role.per_replica else (role.group, last))
        )
        over = len(longest) - LABEL_MAX
        if over > 0:
            reason = f"the pod name {longest} has {len(longest)} characters; a hostname has at most {LABEL_MAX}"
            yield Problem(f"roles.{role.name}", None, reason, f"shorten the experiment's or the role's name by {over}")
    for claim in plan.claims:
        if len(claim.name) > LABEL_MAX:
            reason = f"the claim name {claim.name} has {len(claim.name)} characters (limit {LABEL_MAX})"
            fix = f"shorten one of the names by {len(claim.name) - LABEL_MAX}"
            yield Problem(f"storage.{claim.key}", None, reason, fix)


def _env(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    written = {"env": experiment.env}
    for name, role in experiment.roles.items():
        written[f"roles.{name}.env"] = role.env
        written |= {f"roles.{name}.init[{index}].env": init.env for index, init in enumerate(role.init)}
    written |= {f"prepare[{index}].env": step.env for index, step in enumerate(experiment.prepare)}
    for path, env in written.items():
        for variable in env:
            if variable.startswith(RESERVED_PREFIX):
                reason = f"the name starts with {RESERVED_PREFIX}, which trainform uses itself"
                yield Problem(f"{path}.{variable}", None, reason, "rename it")


def _ranks(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    for name, role in experiment.roles.items():
        if role.ranked and role.replicas == 0:
            reason = "the ranked role must have at least one pod"
            yield Problem(f"roles.{name}.replicas", 0, reason, "write 1 or more, or `ranked: false`")
        # an unknown role that launches may mean this one
        launches = plan.launches not in (None, *experiment.roles) or name == plan.launches
        if not role.ranked and role.command is None and role.args is None and not launches:
            reason = "the command is missing: the launcher starts ranked roles only"
            fix = "add `command: […]`, or `args: […]` for the ENTRYPOINT of the image"
            yield Problem(f"roles.{name}.command", None, reason, fix)
        if role.args is not None and (role.ranked or name == plan.launches or role.command is not None):
            alone = role.command is None
            reason = (
                "the launcher starts the role" if alone else "the role has a command, which replaces the ENTRYPOINT"
            )
            own = OWN_WORDS.get(plan.launcher, "launcher: {entrypoint: […]}")
            fix = f"write the words in `{own}`" if alone else "add them to `command`"
            yield Problem(f"roles.{name}.args", None, f"the arguments have no place: {reason}", f"remove it; {fix}")
        if role.min_available is not None and role.min_available > role.replicas:
            reason = f"the number is more than the replicas of the role ({role.replicas})"
            yield Problem(f"roles.{name}.min_available", role.min_available, reason, f"write {role.replicas} or less")
        if role.min_available is not None and role.ranked and experiment.elastic:
            reason = "the number is decided by the bounds of the elastic job"
            yield Problem(f"roles.{name}.min_available", role.min_available, reason, "remove it; change min_nodes")
    yield from _starts_short(experiment, plan)
    if plan.min_available == 0:
        reason = "the roles have min_available 0 together, which counts as all pods"
        yield Problem("roles", None, reason, "leave min_available out on one role")
    bounds = plan.world.bounds
    if bounds is not None and not bounds[0] <= plan.world.nodes <= bounds[1]:
        reason = (
            f"the roles have {plan.world.nodes} ranked pods, outside min_nodes {bounds[0]} and max_nodes {bounds[1]}"
        )
        yield Problem("roles", None, reason, "change replicas or the bounds")


def _starts_short(experiment: Experiment, plan: Plan) -> Iterator[Problem]:
    """Yield roles of a static world of which a part may start: these pods would wait for the others and hold their
    resources. A `command` of the user may not need its peers."""
    for role in plan.roles:
        in_world = role.rank_offset is not None or role.name == plan.launches
        if plan.launcher == "command" or not in_world or role.min_available >= role.replicas:
            continue
        reason = (
            f"{plan.launcher} waits for all pods of its world, and with this number it starts with "
            f"{role.min_available} of the {role.replicas} that the role has"
        )
        grows = ", or let the world grow: `launcher: {torchrun: {elastic: {min_nodes: …, max_nodes: …}}}`"
        fix = f"remove it{grows if plan.launcher == 'torchrun' else ''}"
        yield Problem(f"roles.{role.name}.min_available", role.min_available, reason, fix)


RULES: tuple[Rule, ...] = (
    _names,
    reference_problems, job_queue_problems, metadata_problems,
    mount_problems, port_problems, rendezvous_problems, address_problems, ssh_problems,
    _env, _ranks, accelerate_problems, ssh_launcher_problems, entrypoint_problems,
    tensorflow_problems, restart_problems
)  # fmt: skip
