"""Claims that the pods of one node can mount, of pods that need several nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainform.manifests.templates import Template
from trainform.plan.model import Plan
from trainform.rules.limits.demands import Demand, with_demands
from trainform.rules.limits.judged import Judged
from trainform.spec.environment import Environment
from trainform.spec.storage import ONE_NODE

_Asked = tuple[Template, list[Demand]]


def claim_notes(plan: Plan, judged: Judged, environment: Environment) -> Iterator[str]:
    """A note for each claim that trainform makes for one node. It is a note and no problem, since drivers of file systems over the network often do not
    hold their volumes to it."""
    claims = [claim for claim in plan.claims if claim.request.access_modes == [ONE_NODE]]
    asked = [*with_demands(judged, environment)] if claims else []
    for claim in claims:
        roles = {role.name for role in plan.roles if any(mount.claim == claim.name for mount in role.mounts)}
        mounting = [(template, demands) for template, demands in asked if template.role in roles]
        for why in [*_several_nodes(mounting, environment)][:1]:
            yield (
                f"storage.{claim.key}.access_modes: the pods of one node mount a claim with {ONE_NODE}, and {why}: those of other nodes may wait for it "
                "for ever; write `[ReadWriteMany]`, or limit the volume by `roles`"
            )


def _several_nodes(mounting: Sequence[_Asked], environment: Environment) -> Iterator[str]:
    """Why one node has no room for all of these pods."""
    totals: dict[str, int] = {}
    for template, demands in mounting:
        for demand in demands:
            totals[demand.kind] = totals.get(demand.kind, 0) + demand.total
        if template.replicas > 1 and template.node_ports():
            yield f"each of the {template.replicas} pods of the role {template.role} needs a node of its own for its port"
    for kind, total in totals.items():
        most = environment.accelerators[kind].per_node
        if most is not None and total > most:
            yield f"its pods need {total} {kind}, of which a node has {most}"
