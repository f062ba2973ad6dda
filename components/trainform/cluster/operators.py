"""The operators that a cluster may have, as the cluster shows them."""

from __future__ import annotations

import dataclasses

from trainform.catalog import defaults


@dataclasses.dataclass(frozen=True)
class Operator:
    """name: the backend's, or what admits jobs. project: whom to install. domain: the end of the names of its custom resource definitions.
    api_version: what trainform writes of it. kinds: plurals of what `pulumi up` makes of it for an experiment. image: the last part of its
    controller's image, wherever that is mirrored."""

    name: str
    project: str
    domain: str
    api_version: str
    kinds: tuple[str, ...]
    image: str

    @property
    def group(self) -> str:
        """The API group of its kinds."""
        return self.api_version.partition("/")[0]


# In this order: a name of a definition may end with several domains, and the first counts.
OPERATORS = (
    Operator(
        "volcano",
        "Volcano (its Helm chart)",
        "volcano.sh",
        "batch.volcano.sh/v1alpha1",
        ("jobs",),
        "vc-controller-manager",
    ),
    Operator("jobset", "JobSet", "jobset.x-k8s.io", "jobset.x-k8s.io/v1alpha2", ("jobsets",), "jobset"),
    Operator(defaults.KUEUE, "Kueue", "kueue.x-k8s.io", "kueue.x-k8s.io/v1beta2", (), "kueue"),
    Operator(
        "trainer",
        "Kubeflow Trainer",
        "trainer.kubeflow.org",
        "trainer.kubeflow.org/v1alpha1",
        ("trainjobs", "trainingruntimes"),
        "trainer-controller-manager",
    ),
    Operator(
        "kubedl",
        "KubeDL",
        "training.kubedl.io",
        "training.kubedl.io/v1alpha1",
        ("pytorchjobs", "tfjobs"),
        "kubedl",
    ),
    Operator(
        "kubeflow",
        "Kubeflow's training-operator",
        "kubeflow.org",
        "kubeflow.org/v1",
        ("pytorchjobs", "tfjobs", "mpijobs"),
        "training-operator",
    ),
)
PROJECTS = {operator.domain: operator.project for operator in OPERATORS}
"""Whose custom resource definitions these are, by the end of their names; the first that fits."""
