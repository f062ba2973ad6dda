"""The table of rules, its judgement of objects, and the verdict after waivers."""

from __future__ import annotations

import dataclasses
import datetime
import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from trainform.console.secrets import masked_line
from trainform.errors import Problem, list_names
from trainform.rules.limits import (
    object_rules,
    placement,
    pod_rules,
    pod_security,
    resources,
    secrets,
)
from trainform.rules.limits.rule import Judged, Judgement, Rule
from trainform.spec.environment import Environment
from trainform.spec.limits import Severity, Waiver
from trainform.spec.names import did_you_mean
from trainform.spec.quantities import seconds

SECRETS = "TF-SEC-1"
RULES: tuple[Rule, ...] = (
    Rule("TF-IMG-1", "Images come from the registries of the environment.", pod_rules.registries, ("registries",)),
    Rule("TF-IMG-2", "Images are pinned by digest.", pod_rules.digests, severity="off"),
    Rule("TF-IMG-3", "Images are not the placeholder of `trainform new`.", pod_rules.placeholders, fixed=True),
    Rule(
        "TF-POD-1",
        "Pods meet the environment's level of the Pod Security Standards.",
        pod_security.pod_security,
        ("pod_security", "host_network", "host_paths"),
    ),
    Rule(
        "TF-POD-2",
        "Volumes are of the types, and of the folders of the node, that the environment allows.",
        pod_rules.volumes,
        ("volume_types", "host_paths"),
    ),
    Rule("TF-POD-3", "Containers do not run as root.", pod_rules.root, severity="off"),
    Rule(
        "TF-POD-4",
        "Pods have a runtime class that the environment allows, or none.",
        pod_rules.runtime_classes,
        ("runtime_classes",),
    ),
    Rule(
        "TF-POD-6",
        "Pods set none of the known labels and annotations that add containers, devices or rights; others are not "
        "judged.",
        pod_rules.keys,
        ("metadata_keys",),
    ),
    Rule("TF-NET-1", "Pods do not use the node's network.", pod_rules.host_network, ("host_network",)),
    Rule(
        "TF-NET-2",
        "Services are of the environment's types and have no address outside the cluster without one of them.",
        object_rules.services,
        ("service_types",),
    ),
    Rule("TF-RES-1", "A pod asks for no more than its node has.", resources.per_node),
    Rule(
        "TF-RES-2",
        "All pods together ask for no more accelerators than the environment allows.",
        resources.accelerators,
        ("max_accelerators",),
    ),
    Rule(
        "TF-RES-3",
        "Pods ask for extended resources, and claim devices, that the environment offers.",
        resources.extended,
        ("resources", "resource_claims"),
    ),
    Rule(
        "TF-RES-4",
        "Shared memory is at most the allowed share of the node's memory.",
        resources.shared_memory,
        ("shared_memory_share",),
    ),
    Rule("TF-RES-5", "Every container asks for CPU and memory.", resources.requests, severity="off"),
    Rule("TF-RES-6", "The nodes hold the pods that run together.", resources.nodes, ("max_accelerators",)),
    Rule("TF-RES-7", "Containers see no devices but those that they ask for.", pod_rules.visible, ("pod_security",)),
    Rule("TF-PLC-1", "A scheduler chooses the nodes of pods.", placement.node_name),
    Rule("TF-PLC-2", "Pods wait for the environment's admission.", placement.scheduler),
    Rule("TF-PLC-3", "Pods have the environment's node selectors.", placement.node_selectors),
    Rule("TF-PLC-4", "Pods have the environment's tolerations.", placement.missing_tolerations),
    Rule(
        "TF-PLC-5",
        "Pods tolerate taints that the environment opens, and never all of them.",
        placement.tolerations,
        ("tolerations",),
    ),
    Rule(
        "TF-PRI-1",
        "Jobs and pods have a priority class that the environment allows.",
        object_rules.priority_classes,
        ("priority_classes",),
    ),
    Rule(
        "TF-ACC-1",
        "Pods have a service account that the environment allows.",
        pod_rules.service_accounts,
        ("service_accounts",),
    ),
    Rule(
        "TF-JOB-1",
        "Jobs are for the environment's operator, and bring no caches, containers or volumes that no limit counts.",
        object_rules.other_managers,
        ("job_managers", "cache_backends"),
    ),
    Rule(
        "TF-QUE-1",
        "Jobs wait in queues that experiments may name.",
        object_rules.allowed_queues,
        ("queues", "own_queues"),
    ),
    Rule(
        "TF-QUE-2",
        "An experiment's own queue stays within the limits, and the environment's queues are unchanged.",
        object_rules.own_queues,
        ("own_queues", "max_queue_weight"),
    ),
    Rule("TF-QUE-3", "The capability of a queue holds a gang.", resources.queue),
    Rule(
        "TF-COST-1",
        "All pods together cost no more in an hour than the environment allows.",
        resources.per_hour,
        ("max_cost_per_hour",),
    ),
    Rule(
        "TF-DATA-1",
        "A claim that ranked pods write to is kept by `pulumi destroy`.",
        object_rules.kept_claims,
        severity="off",
    ),
    Rule(
        "TF-DATA-2",
        "New claims are of the environment's storage classes, and bind no existing volume.",
        object_rules.new_claims,
    ),
    Rule("TF-RUN-1", "A job is deleted some time after its end.", object_rules.deleted_after_end, severity="off"),
    Rule(
        "TF-RUN-2",
        "Pods end within the environment's longest time, with a grace period of at most one day.",
        object_rules.run_time,
        ("max_run_time",),
    ),
    Rule(SECRETS, "No secret is written as plain text.", secrets.plain_secrets, fixed=True),
)

BY_CODE = {rule.code: rule for rule in RULES}


def judge(judged: Judged, environment: Environment, rules: Sequence[Rule] = RULES) -> list[Judgement]:
    """Return the findings of the rules, in the order of the table."""
    found = []
    for rule in rules:
        severity = rule.severity_in(environment)
        if severity != "off":
            found += [Judgement(rule, severity, finding) for finding in rule.find(judged, environment)]
    return found


SECONDS_OF_A_DAY = 24 * 60 * 60


class Verdict(Struct, frozen=True):
    """The result of all findings: problems, and notes on warnings and waivers."""

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    found: tuple[tuple[Problem, Severity], ...] = ()  # waived or not


def verdict(
    found: Iterable[tuple[Problem, Severity]],
    waivers: Sequence[Waiver],
    environment: Environment,
    today: datetime.date | None,
) -> Verdict:
    """Apply the waivers to the findings. today: the day on which waivers must hold; None: no waiver holds.

    Equal problems are reported once: replicas of a role that have their own templates may break a rule together.
    """
    severities = dict(found)
    accepted = waived(waivers, environment, today)
    problems: list[Problem] = []
    notes: list[str] = []
    for problem, severity in severities.items():
        if identity(problem) in accepted:
            continue
        if severity == "warning":
            notes.append(f"{_place(problem)}: {problem.reason} (a warning of the rule {problem.code}): {problem.fix}")
        else:
            problems.append(_suggest_waiver(problem, waivers, environment, today))
    notes += _notes(waivers, {identity(problem): problem for problem in severities}, accepted, today)
    shown = tuple(map(masked_line, notes))
    return Verdict((*problems, *waiver_problems(waivers, environment, today)), shown, tuple(severities.items()))


def identity(problem: Problem) -> tuple[str, str]:
    """Return the code of the rule and the fingerprint of a finding, by which a waiver names it."""
    return problem.code, problem.fingerprint


def waived(waivers: Iterable[Waiver], environment: Environment, today: datetime.date | None) -> set[tuple[str, str]]:
    """Return code and fingerprint of each finding that is waived. today: None if no waiver holds."""
    return {
        (waiver.rule, waiver.finding)
        for waiver in waivers
        if today is not None and today <= waiver.until and _refusal(waiver, environment, today) is None
    }


def owners(code: str, environment: Environment) -> Sequence[str]:
    """Return the people who may own a waiver of the rule in the environment; empty if the rule always holds."""
    if code not in REVIEW_CODES and (code not in BY_CODE or BY_CODE[code].fixed):
        return ()
    return environment.limits.waivable.get(code, ())


def waiver_problems(
    waivers: Iterable[Waiver], environment: Environment, today: datetime.date | None
) -> Iterator[Problem]:
    """Yield waivers that the environment does not allow."""
    for index, waiver in enumerate(waivers):
        refusal = _refusal(waiver, environment, today)
        if refusal is not None:
            field, reason, fix = refusal
            yield Problem(f"waivers[{index}].{field}", str(getattr(waiver, field)), reason, fix)


def _refusal(waiver: Waiver, environment: Environment, today: datetime.date | None) -> tuple[str, str, str] | None:
    """Return field, reason and fix if the environment does not allow the waiver."""
    code, allowed = waiver.rule, owners(waiver.rule, environment)
    does_not_allow = f"the environment {environment.name} does not allow waivers of"
    if code not in WAIVABLE:
        return "rule", *unknown_code(code, WAIVABLE)
    if code in BY_CODE and BY_CODE[code].fixed:
        return "rule", ALWAYS_HOLDS, "remove the waiver, and what the rule finds"
    if not allowed:
        fix = f"remove the waiver, or ask the platform team for limits.waivable.{code}"
        return "rule", f"{does_not_allow} this rule", fix
    if waiver.owner not in allowed:
        fix = f"name the one who answers for it, of {list_names(allowed)}"
        return "owner", f"{does_not_allow} {code} with this owner", fix
    longest = environment.limits.longest_waiver
    if today is not None and (waiver.until - today).days * SECONDS_OF_A_DAY > seconds(longest):
        reason = f"the day is farther away than the environment {environment.name} allows ({longest} from today)"
        return "until", reason, f"write {today + datetime.timedelta(seconds=seconds(longest))} or an earlier day"
    return None


REMOVED = ("TF-POD-5", "TF-QUE-4", "TR-CONTRACT-4", "TR-ENVIRONMENT-5", "TR-ENVIRONMENT-6", "TR-NEIGHBOURS-5")
"""Codes of rules and findings that trainform had. A code is never used again."""
_REVIEW_NUMBERS = {
    "CAPACITY": (1, 2),
    "CONTRACT": (1, 2, 3, 5, 6),
    "COST": (1, 2, 3),
    "DATA": (1, 2, 3, 4, 5, 6),
    "DRIFT": (1, 2, 3),
    "NEIGHBOURS": (1, 2, 3, 4),
    "RESTART": (1, 2, 3, 4, 5, 7),
    "SECURITY": (1, 2, 3, 4, 5, 6, 7, 8, 10),
    "UNKNOWN": (1,),
}
REVIEW_CODES = frozenset(
    {f"TR-{category}-{number}" for category, numbers in _REVIEW_NUMBERS.items() for number in numbers}
)
"""Findings of a review that an experiment may waive. Gates of a promotion are waived by `trainform promote`."""
WAIVABLE = BY_CODE.keys() | REVIEW_CODES
ALWAYS_HOLDS = "the rule holds in every environment: it can neither be waived nor made a warning"


def unknown_code(code: str, known: Collection[str]) -> tuple[str, str]:
    """Return reason and fix for a code that no rule has."""
    if code in REMOVED:
        return "trainform no longer has this rule", "remove the entry"
    return "no rule has this code", did_you_mean(code, sorted(known)) or f"known: {list_names(sorted(known))}"


def _suggest_waiver(
    problem: Problem, waivers: Iterable[Waiver], environment: Environment, today: datetime.date | None
) -> Problem:
    """Return the problem with the last day of its expired waiver, or with the line of an allowed waiver."""
    allowed = owners(problem.code, environment)
    if not allowed or not problem.fingerprint:
        return problem
    expired = [
        (index, waiver)
        for index, waiver in enumerate(waivers)
        if identity(problem) == (waiver.rule, waiver.finding) and today is not None and today > waiver.until
    ]
    if expired:
        index, last = max(expired, key=lambda entry: entry[1].until)
        return dataclasses.replace(
            problem,
            reason=f"{problem.reason}; its waiver expired on {last.until}",
            fix=f"{problem.fix}; or, if {list_names(allowed)} agrees, set a later day in waivers[{index}].until",
        )
    return dataclasses.replace(
        problem,
        fix=f"{problem.fix}; or, if {' or '.join(allowed)} agrees, complete this under `waivers`: "
        f"{line(problem.code, problem.fingerprint, allowed[0])}",
    )


def line(code: str, fingerprint: str, owner: str) -> str:
    """Return the waiver of the finding as a line of YAML, without its reason and its last day."""
    return (
        f'- {{rule: {code}, finding: "{fingerprint}", reason: "…", '
        f"owner: {json.dumps(owner, ensure_ascii=False)}, until: YYYY-MM-DD}}"
    )


def _notes(
    waivers: Iterable[Waiver],
    found: Mapping[tuple[str, str], Problem],
    accepted: set[tuple[str, str]],
    today: datetime.date | None,
) -> Iterator[str]:
    """Yield notes on waivers that hold, or whose finding does not exist."""
    for index, waiver in enumerate(waivers):
        if waiver.rule in REVIEW_CODES:  # only a review knows these findings
            continue
        name = waiver.rule, waiver.finding
        problem = found.get(name)
        if problem is None:
            yield f"waivers[{index}]: {waiver.rule} has no finding {waiver.finding} here: remove the waiver"
        elif today is not None and today <= waiver.until and name in accepted:
            yield (
                f"{_place(problem)}: {problem.reason}. {waiver.owner} waives this until {waiver.until}: "
                f"{waiver.reason} ({waiver.rule}, finding {waiver.finding})"
            )


def _place(problem: Problem) -> str:
    shown = problem.shown_value
    return problem.path if shown is None else f"{problem.path} = {shown}"
