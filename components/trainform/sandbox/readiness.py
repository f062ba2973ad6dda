"""The conditions that make a sandbox ready."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from trainform.sandbox import nodes, objects
from trainform.sandbox.addons.installation import InstalledAddOn
from trainform.sandbox.api import Api
from trainform.sandbox.settings import NodePool
from trainform.sandbox.waiting import Condition


def readiness(
    api: Api, pools: Iterable[NodePool], addons: Iterable[InstalledAddOn], ports: Mapping[str, int]
) -> list[Condition]:
    """Return the conditions that `up` waits for."""
    count = sum(pool.count for pool in pools)
    return [
        Condition("Volcano's webhooks answer", "volcano-webhook-manager", lambda: objects.webhooks_answer(api)),
        Condition("pods can be made", "kube-controller-manager", lambda: objects.accounts_ready(api)),
        Condition("the nodes are ready", "kwok", lambda: nodes.count_nodes(api) == (count, count)),
        # The scheduler creates the queue and the controller opens it, so a missing queue is explained by the scheduler's log.
        Condition("the default queue exists", "volcano-scheduler", lambda: objects.default_queue_exists(api)),
        Condition("the default queue is open", "volcano-controller-manager", lambda: objects.default_queue_open(api)),
        *(addon.readiness(api, ports) for addon in addons),
    ]
