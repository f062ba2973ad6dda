"""Resources, capacity and cost of rendered objects, compared with nodes, limits and queues of the environment."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.errors import list_names
from trainform.manifests.manifest import mapping, mappings, quantity
from trainform.manifests.templates import RESOURCE_FIELDS, Template, is_extended, resource_amounts
from trainform.rules.limits.rule import Finding, Judged, not_allowed
from trainform.spec.environment import Accelerator, Environment, hourly_cost
from trainform.spec.quantities import amount, spell

STEERING = ("nodeAffinity", "podAffinity")
"""The parts of an affinity that restrict the nodes of pods."""


class Demand(Struct, frozen=True):
    """The accelerators of one kind that each pod of a role requests."""

    role: str
    kind: str
    each: int
    replicas: int
    min_available: int
    node_ports: frozenset[str]  # host ports, which no other pod of the node may have

    @property
    def total(self) -> int:
        """Return the number for all pods together."""
        return self.each * self.replicas


def demands(judged: Judged, environment: Environment) -> list[Demand]:
    """Return the demands of the pods of all templates."""
    return [demand for _, asked in with_demands(judged, environment) for demand in asked]


def by_kind(judged: Judged, environment: Environment) -> dict[str, list[Demand]]:
    """Return the demands by kind of accelerator."""
    found: dict[str, list[Demand]] = {}
    for demand in demands(judged, environment):
        found.setdefault(demand.kind, []).append(demand)
    return found


def with_demands(judged: Judged, environment: Environment) -> Iterator[tuple[Template, list[Demand]]]:
    """Yield each template with the demands of its pods, in the order of the environment's kinds."""
    kinds: dict[str, list[str]] = {}
    for name, accelerator in environment.accelerators.items():
        kinds.setdefault(accelerator.resource, []).append(name)
    for template in judged.templates:
        asked, found = template.resources, list[Demand]()
        for resource, names in kinds.items():
            each = math.ceil(template.pod_request(resource)) if resource in asked else 0
            if each:
                kind, ports = _kind_of(template, sorted(names), environment), template.node_ports()
                found.append(Demand(template.role, kind, each, template.replicas, template.min_available, ports))
        yield template, found


def _kind_of(template: Template, names: Sequence[str], environment: Environment) -> str:
    """Return the kind whose nodes the pods select by most labels, among the kinds of one resource. Pods that choose
    nodes in another way, such as by an affinity, count as the most expensive kind."""
    selectors = {name: environment.accelerators[name].node_selector for name in names}
    selected = mapping(template.spec.get("nodeSelector"))
    named = [name for name in names if selectors[name] and selects(selected, selectors[name])]
    if named:
        return max(named, key=lambda name: len(selectors[name]))
    own_labels = any(environment.node_selector.get(key) != value for key, value in selected.items())
    steered = any(mapping(template.spec.get("affinity")).get(part) for part in STEERING)
    anywhere = [] if own_labels or steered else [name for name in names if not selectors[name]]
    return anywhere[0] if anywhere else max(names, key=lambda name: _cost(environment.accelerators[name]))


def _cost(kind: Accelerator) -> tuple[bool, float, int]:
    """Return a key to compare costs: an unknown price is the highest, then the nodes with most accelerators."""
    price = kind.price_per_hour
    return price is None, 0 if price is None else price.amount, kind.per_node or 0


def selects(selected: Mapping[str, object], labels: Mapping[str, str]) -> bool:
    """Return True if a node selector has all of these labels."""
    return all(selected.get(key) == value for key, value in labels.items())


COUNTED = ("cpu", "memory")
MEBIBYTE = 2**20


def extended(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield extended resources, and templates of device claims, that the environment does not offer."""
    kinds = (kind.resource for kind in environment.accelerators.values())
    fabric = () if environment.rdma is None else (environment.rdma.resource,)
    offered = dict.fromkeys([*kinds, *fabric, *environment.limits.resources])
    for template in judged.templates:
        for where, holder in [("spec", template.spec), *template.named_containers]:
            for resource, (field, asked) in _extended(holder).items():
                if resource not in offered:
                    names = list_names(offered) if offered else "none"
                    no_offer = f"the environment {environment.name} does not offer the resource {resource}"
                    reason = f"{no_offer} (it offers: {names})"
                    fix = "ask for `accelerators` of the environment, or ask the platform team for limits.resources"
                    yield Finding(f"{where}.resources.{field}.{resource}", asked, reason, fix, template)
        yield from _claims(template, environment)


def readable(judged: Judged) -> Iterator[Finding]:
    """Yield amounts that trainform cannot read, so that no other rule can count them."""
    for template in judged.templates:
        for where, holder in [("spec", template.spec), *template.named_containers]:
            for field in RESOURCE_FIELDS:
                for resource, asked in resource_amounts(holder, field).items():
                    if quantity(asked) is None:
                        reason = "the amount is not a quantity that trainform reads, so it is held against no limit"
                        fix = "write a number with an optional suffix: 500m, 8, 20G, 64Gi"
                        yield Finding(f"{where}.resources.{field}.{resource}", asked, reason, fix, template)


def shared_memory(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield pods whose volumes in memory are larger than the allowed share of the node's memory."""
    share = environment.limits.shared_memory_share
    if share is None:
        return
    for template, asked in with_demands(judged, environment):
        sizes = [*_sizes(template)]
        node = _node_memory(asked, environment)
        most = node * Decimal(str(share))
        if sum((node if size is None else size for size in sizes), Decimal(0)) > most:
            known = [size for size in sizes if size is not None]
            given = spell(sum(known, Decimal(0)), binary=True) if len(known) == len(sizes) else "no sizeLimit"
            allowed = spell(most // MEBIBYTE * MEBIBYTE, binary=True)
            reason = (
                f"the shared memory is more than {share:g} of the node's memory ({allowed} of "
                f"{spell(node, binary=True)})"
            )
            fix = f"write `shared_memory: {allowed}` or less"
            yield Finding("shared_memory", given, reason, fix, template)


def requests(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield containers without an amount of CPU or memory, which the scheduler counts as 0."""
    for template, where, container in judged.containers():
        for resource in COUNTED:
            holders = (container, template.spec)
            if not any(resource in resource_amounts(holder, field) for holder in holders for field in RESOURCE_FIELDS):
                reason = f"the container asks for no {resource}, which the environment {environment.name} requires"
                fix = f"write `{resource}` on the role, or requests in `pod_overrides` for other containers"
                yield Finding(f"{where}.resources.requests.{resource}", None, reason, fix, template)


def _extended(holder: dict[str, Any]) -> dict[str, tuple[str, object]]:
    """Return the extended resources of a container or pod, with the field that asks for it and the amount."""
    found: dict[str, tuple[str, object]] = {}
    for field in RESOURCE_FIELDS:
        for resource, asked in resource_amounts(holder, field).items():
            if is_extended(resource) and quantity(asked) != 0:
                found.setdefault(resource, (field, asked))
    return found


def _claims(template: Template, environment: Environment) -> Iterator[Finding]:
    """Yield device claims (dynamic resource allocation), which no other limit counts."""
    allowed = environment.limits.resource_claims
    for index, claim in enumerate(mappings(template.spec.get("resourceClaims"))):
        name = claim.get("resourceClaimTemplateName")
        if name not in allowed:
            words = not_allowed("this `resourceClaimTemplateName`", allowed, "resource_claims", environment)
            where = f"spec.resourceClaims.{claim.get('name', index)}"
            yield Finding(where, name, *words, template, bound=claim)


def _sizes(template: Template) -> Iterator[Decimal | None]:
    """Yield the size of each volume in memory; None without a limit. Kubernetes reads a limit of 0 as none."""
    for volume in template.volumes():
        folder = mapping(volume.get("emptyDir"))
        if folder.get("medium") == "Memory":
            size = quantity(folder.get("sizeLimit"))
            yield size if size else None


def _node_memory(asked: list[Demand], environment: Environment) -> Decimal:
    """Return the memory of the pods' node. Pods without accelerators may land on the smallest node."""
    kinds = [demand.kind for demand in asked]
    names = kinds if kinds else list(environment.accelerators)
    memories = [amount(environment.accelerators[name].memory) for name in names]
    return min(memories, default=amount(defaults.NODE_MEMORY))


def per_node(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield pods that no node can hold, and amounts that cannot be read."""
    yield from readable(judged)
    for template, asked_for in with_demands(judged, environment):
        for demand in asked_for:
            node = environment.accelerators[demand.kind]
            if node.per_node is None:
                continue
            if demand.each > node.per_node:
                reason = f"the number is more than a node has ({node.per_node} {demand.kind})"
                fix = f"ask for at most {node.per_node} on each pod and for more replicas"
                yield Finding(f"accelerators.{demand.kind}", demand.each, reason, fix, template)
            for resource, most in (("cpu", node.cpu), ("memory", node.memory)):
                asked = template.pod_request(resource)
                if asked > amount(most):
                    reason = f"the amount is more {resource} than a node with {demand.kind} has ({most})"
                    fix = f"ask for {most} or less"
                    yield Finding(resource, spell(asked, binary=most.endswith("i")), reason, fix, template)


def accelerators(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield a finding if all pods together request more accelerators than the environment allows."""
    limit = environment.limits.max_accelerators
    asked = sum(demand.total for demand in demands(judged, environment))
    if limit is not None and asked > limit:
        yield _all_roles(f"the pods ask for {asked} accelerators together; the environment allows {limit}", FEWER)


def nodes(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield kinds whose nodes cannot hold the pods that start together or, without a limit, all pods."""
    for kind, of_kind in by_kind(judged, environment).items():
        node = environment.accelerators[kind]
        if node.per_node is None or node.nodes is None:
            continue
        held = node.nodes * node.per_node
        needed = _gang_nodes(of_kind, node.per_node)
        port, pods = _most_taken(of_kind)
        since = f", since {pods} of them take the port {port} of their node" if pods > needed else ""
        needed = max(needed, pods)
        gang, total = _gang(of_kind), sum(demand.total for demand in of_kind)
        if any(demand.each > node.per_node for demand in of_kind):
            continue  # `per_node` reports it
        if needed > node.nodes:
            reason = f"the pods need {needed} nodes with {kind} at once{since}; the environment has {node.nodes}"
            yield _all_roles(reason, FEWER_WITH_THE_PORT if since else FEWER_AT_ONCE)
        elif gang > held:
            yield _all_roles(f"the pods need {gang} {kind} at once; the environment has {held}", FEWER_AT_ONCE)
        elif environment.limits.max_accelerators is None and total > held:
            yield _all_roles(f"the pods ask for {total} {kind} together; the environment has {held}", FEWER)


def queue(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield a finding for each kind of which the gang needs more than the capability of its queue."""
    listed = None if judged.queue is None else environment.queues.get(judged.queue)
    request = judged.own_queue if judged.own_queue is not None else listed
    capability = {} if request is None else request.capability
    for kind, of_kind in by_kind(judged, environment).items():
        most = capability.get(kind, capability.get(environment.accelerators[kind].resource))
        if most is not None and _gang(of_kind) > amount(most):
            reason = f"the queue has a capability of {most} {kind}, and the gang needs {_gang(of_kind)} at once"
            bound = [judged.queue, reason]
            fix = "use another queue, or ask for less"
            yield Finding("queue", judged.queue, reason, fix, bound=bound)


FEWER = "ask for fewer replicas or accelerators"
FEWER_AT_ONCE = "ask for fewer replicas, or set min_available"
FEWER_WITH_THE_PORT = f"{FEWER_AT_ONCE}, or let fewer pods take the port"


def _all_roles(reason: str, fix: str) -> Finding:
    return Finding("roles", None, reason, fix)


def _gang(demands: list[Demand]) -> int:
    return sum(demand.each * demand.min_available for demand in demands)


def _gang_nodes(demands: list[Demand], per_node: int) -> int:
    """Return the fewest nodes that hold the gang's pods of one kind. Pods of a role share nodes; roles do not."""

    def nodes(demand: Demand) -> int:
        return math.ceil(demand.min_available / max(1, per_node // demand.each))

    whole = [demand for demand in demands if demand.each * 2 > per_node]
    return max(sum(nodes(demand) for demand in whole), max((nodes(demand) for demand in demands), default=0))


def _most_taken(demands: list[Demand]) -> tuple[str, int]:
    """Return the host port that most of the gang's pods use, and their number: each needs its own node."""
    taken: Counter[str] = Counter()
    for demand in demands:
        taken.update(dict.fromkeys(demand.node_ports, demand.min_available))
    return max(sorted(taken.items()), key=lambda item: item[1], default=("", 0))


def per_hour(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield a finding if the job costs more than the environment allows, or if its cost is unknown."""
    limit = environment.limits.max_cost_per_hour
    counts = {kind: sum(each.total for each in of_kind) for kind, of_kind in by_kind(judged, environment).items()}
    if limit is None or not any(counts.values()):
        return
    allowed = f"{Decimal(str(limit.amount)):.2f} {limit.currency}"
    cost = hourly_cost(counts, environment)
    if cost is None:
        reason = f"the cost per hour is not known ({_gap(counts, environment)}), and the environment allows {allowed}"
        yield _all_roles(reason, "ask the platform team for `price_per_hour` of every accelerator")
    elif cost.currency != limit.currency:
        reason = f"the cost per hour is known in {cost.currency}, and the environment's limit is in {limit.currency}"
        yield _all_roles(reason, "ask the platform team for prices and limit in one currency")
    elif cost.amount > Decimal(str(limit.amount)):
        reason = f"the pods cost {cost.dated} an hour together; the environment allows {allowed}"
        yield _all_roles(reason, FEWER)


def _gap(counts: Mapping[str, int], environment: Environment) -> str:
    """Return the reason why the cost is unknown."""
    prices = {kind: environment.accelerators[kind].price_per_hour for kind, count in counts.items() if count}
    missing = [kind for kind, price in prices.items() if price is None]
    return f"no price of {list_names(missing)}" if missing else "prices in several currencies"
