"""The table of rules, and the function that applies it to objects."""

from __future__ import annotations

from collections.abc import Sequence

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
        "Jobs are for the environment's operator, and have no cache that the environment does not allow.",
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
