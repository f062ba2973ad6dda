"""Objects of somebody else hold anything at any place, and no rule fails on them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.rules.limits.cases import pod, raw
from tests.support.samples import environment
from trainform.rules.limits.table import RULES
from trainform.spec.environment import Environment

TEXTS = st.sampled_from(["", "x", "nvidia.com/gpu", "amd.com/gpu", "1e3", "4", "Memory", "Exists", "default"])
ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 99) | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A mapping with some of the fields, each of them right or odd, or something odd in its place."""
    return st.fixed_dictionaries({}, optional={name: field | ODD for name, field in fields.items()}) | ODD


AMOUNTS = st.dictionaries(TEXTS, ODD, max_size=2)
TERMS = st.lists(
    some(matchExpressions=st.lists(some(key=TEXTS, operator=st.sampled_from(["In", "NotIn"]), values=ODD), max_size=2)),
    max_size=2,
)
AFFINITY = some(
    nodeAffinity=some(requiredDuringSchedulingIgnoredDuringExecution=some(nodeSelectorTerms=TERMS)), podAffinity=ODD
)
VARIABLES = st.lists(some(name=st.just("NVIDIA_VISIBLE_DEVICES"), value=ODD, valueFrom=ODD), max_size=2)
RESOURCES = some(limits=AMOUNTS, requests=AMOUNTS, claims=ODD)
CONTAINERS = st.lists(
    some(
        name=TEXTS, image=TEXTS, resources=RESOURCES, ports=st.lists(some(hostPort=ODD)),
        volumeMounts=st.lists(some(name=TEXTS)),
        restartPolicy=st.just("Always"), env=VARIABLES,
    ),
    max_size=2,
)  # fmt: skip
VOLUMES = st.lists(
    some(
        name=TEXTS, emptyDir=some(medium=st.just("Memory"), sizeLimit=TEXTS), image=some(reference=TEXTS),
        persistentVolumeClaim=some(claimName=TEXTS),
        ephemeral=some(volumeClaimTemplate=some(spec=some(storageClassName=ODD, volumeName=ODD))),
    ),
    max_size=2,
)  # fmt: skip
SPECS = some(
    containers=CONTAINERS, initContainers=CONTAINERS, ephemeralContainers=CONTAINERS, volumes=VOLUMES,
    resources=RESOURCES, nodeName=ODD,
    nodeSelector=ODD, schedulerName=ODD, priority=ODD, priorityClassName=ODD, serviceAccountName=ODD,
    serviceAccount=ODD, activeDeadlineSeconds=ODD,
    tolerations=st.lists(some(key=TEXTS, operator=TEXTS, effect=TEXTS, value=TEXTS), max_size=2), resourceClaims=ODD,
    hostNetwork=ODD,
    affinity=AFFINITY, runtimeClassName=ODD, overhead=ODD, schedulingGates=ODD,
)  # fmt: skip
KINDS = ["v1/Service", "v1/PersistentVolumeClaim", "scheduling.volcano.sh/v1beta1/Queue",
    "batch.volcano.sh/v1alpha1/Job", "kubeflow.org/v1/PyTorchJob"]  # fmt: skip
LIMITS: dict[str, Any] = {
    "registries": ["registry.example.com"], "max_accelerators": 1, "shared_memory_share": 0.5,
    "max_cost_per_hour": {"amount": 1, "currency": "USD"},
    "max_run_time": "1h", "queues": ["night"], "own_queues": False, "max_queue_weight": 1, "priority_classes": ["low"],
    "service_accounts": ["train"],
    "tolerations": ["spot"],
}  # fmt: skip
ENVIRONMENTS = [
    environment(),
    environment(limits=LIMITS, tolerations=[{"key": "team", "operator": "Exists"}], node_selector={"zone": "a"}),
    environment(admission="kueue", queues={}, limits=LIMITS),
    environment(limits={"max_queue_weight": 1}, queues={"x": {"weight": 2}}),
]
TOLERANT = [rule.code for rule in RULES if rule.code != "TF-POD-1"]


@pytest.mark.parametrize("where", ENVIRONMENTS, ids=range(len(ENVIRONMENTS)))
@settings(max_examples=30)
@given(data=st.data())
def test_no_rule_fails(where: Environment, data: st.DataObject) -> None:
    version, _, kind = data.draw(st.sampled_from(KINDS)).rpartition("/")
    fields = some(type=ODD, weight=ODD, parent=ODD, queue=ODD, runPolicy=ODD, externalIPs=ODD)
    metadata = some(name=TEXTS, labels=ODD, annotations=ODD)
    body = {"apiVersion": version, "kind": kind, "metadata": data.draw(metadata), "spec": data.draw(fields)}
    template = pod(data.draw(SPECS), data.draw(metadata))
    for code in TOLERANT:
        raw(code, where, body, template)
