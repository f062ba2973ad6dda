"""Kinds whose objects belong to the cluster and not to a namespace."""

from __future__ import annotations

CLUSTER_SCOPED = frozenset(
    [
        "/Namespace",
        "/PersistentVolume",
        "kueue.x-k8s.io/ClusterQueue",
        "kueue.x-k8s.io/ResourceFlavor",
        "kueue.x-k8s.io/WorkloadPriorityClass",
        "scheduling.k8s.io/PriorityClass",
        "scheduling.volcano.sh/Queue",
        "storage.k8s.io/StorageClass",
        "trainer.kubeflow.org/ClusterTrainingRuntime",
    ]
)
"""As `GROUP/KIND`. The provider writes its default namespace into the patch of any of them, and the API server does not read it."""
