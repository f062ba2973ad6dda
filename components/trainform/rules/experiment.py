"""Rules for an experiment in its environment, such as names that are unknown, too long or taken twice.

`rules.limits` has the environment's limits. A backend refuses what its operator cannot do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trainform import defaults
from trainform.errors import Problem
from trainform.plan.model import Plan, group_name
from trainform.plan.variables import RESERVED_PREFIX
from trainform.rules.launchers import accelerate_problems, restart_problems, ssh_launcher_problems, tensorflow_problems
from trainform.rules.mounts import mount_problems
from trainform.rules.network import address_problems, port_problems, rendezvous_problems, ssh_problems
from trainform.rules.references import job_queue_problems, reference_problems
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.names import LABEL_MAX

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
    return [problem for rule in RULES for problem in rule(experiment, environment, plan)]


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


def _role_names(experiment: Experiment, environment: Environment, plan: Plan) -> Iterator[Problem]:
    for planned in plan.roles:
        name = planned.name
        stem, _, number = name.rpartition("-")
        if number.isdigit() and stem in experiment.roles:
            reason = (
                f"the name reads like replica {number} of the role {stem}: its pods are called …-{name}-0 next to "
                f"…-{name}, and a Service of that replica would have its name"
            )
            yield Problem(f"roles.{name}", None, reason, "rename one of the two roles")


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
        if not role.ranked and role.command is None and not launches:
            reason = "the command is missing: the launcher starts ranked roles only"
            yield Problem(f"roles.{name}.command", None, reason, "add `command: […]`")
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
    _role_names, reference_problems, job_queue_problems, metadata_problems,
    mount_problems, port_problems, rendezvous_problems, address_problems, ssh_problems,
    _env, _ranks, accelerate_problems, ssh_launcher_problems, tensorflow_problems, restart_problems
)  # fmt: skip
