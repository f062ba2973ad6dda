"""`docs/reference/versions.md`: the versions with which trainform is tested, from the pins of the tool chain."""

from __future__ import annotations

import importlib.metadata

from tools.docs.markdown import page, paragraph, table
from trainform.local.toolchain.parts import PINS, PLUGIN_VERSION, PULUMI_VERSION
from trainform.local.toolchain.releases import Module

INTRODUCTION = """\
Written by `make golden` from the pins in `components/trainform/local/toolchain/pins`. These are the versions that a \
[sandbox](sandbox.md) runs \
and that the tests of trainform use. Others may work, and are not tested. \
pip gives a project of `trainform init` the newest SDK of Pulumi: newer ones than the one in this table usually work, \
and only that one is \
tested."""

MODULES = {
    "Kubernetes": Module("controlplane", "k8s.io/kubernetes"),
    "Volcano": Module("controlplane", "volcano.sh/volcano"),
    "JobSet": Module("trainer", "sigs.k8s.io/jobset"),
    "Kubeflow Trainer": Module("trainer", "github.com/kubeflow/trainer/v2"),
    "Kubeflow training-operator": Module("training-operator", "github.com/kubeflow/training-operator"),
    "mpi-operator": Module("kueue", "github.com/kubeflow/mpi-operator"),
    "KubeDL": Module("kubedl", "github.com/alibaba/kubedl"),
    "Kueue": Module("kueue", "sigs.k8s.io/kueue"),
}


def versions() -> dict[str, str]:
    """Return the version of each program, without a `v`."""
    return {
        **{name: module.version(PINS) for name, module in MODULES.items()},
        "Pulumi": PULUMI_VERSION,
        "Pulumi's SDK for Python": importlib.metadata.version("pulumi"),
        "Pulumi's Kubernetes provider": PLUGIN_VERSION,
    }


def versions_page() -> str:
    """Markdown: a table of the versions."""
    return page("# Versions", paragraph(INTRODUCTION), table(("program", "version"), versions().items()))
