"""The parts of the add-ons: controllers of other operators, which are built only when they are named.

Each part has its own fingerprint and cache folder: a changed pin rebuilds only its own part.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Iterable
from pathlib import Path

from trainform.console.progress import SILENT, Progress
from trainform.local.toolchain.cache import cache_folder, os_errors_as_toolchain_errors
from trainform.local.toolchain.needs import part_need, provide
from trainform.local.toolchain.parts import (
    FORMAT,
    KUBERNETES_STAMP,
    PINS,
    UNOPTIMISED,
    ModuleFiles,
    Part,
    build_time,
    digest,
)
from trainform.local.toolchain.tools import BuiltPart

_TRAINING_OPERATOR = "github.com/kubeflow/training-operator"
_MPI_OPERATOR = "github.com/kubeflow/mpi-operator"
_TRAINER = "github.com/kubeflow/trainer/v2"
_JOBSET = "sigs.k8s.io/jobset"
_KUEUE = "sigs.k8s.io/kueue"
_GCFLAGS = (f"all={UNOPTIMISED}",)  # the load of these controllers in a sandbox is low

# The folders are named `<add-on>-crds` and `<add-on>-webhooks`, since one part may belong to two add-ons.
TRAINING_OPERATOR = Part(
    folder="training-operator",
    gcflags=_GCFLAGS,
    binaries=("training-operator",),
    minutes=1.4,
    # Our own main package around the module's controllers, since the module's main package listens on all interfaces.
    target=".",
    shipped=(
        ModuleFiles(_TRAINING_OPERATOR, "manifests/base/crds/kubeflow.org_*.yaml", "kubeflow-crds"),
        ModuleFiles(_TRAINING_OPERATOR, "manifests/base/webhook/manifests.yaml", "kubeflow-webhooks"),
    ),
)
TRAINER = Part(
    folder="trainer",
    gcflags=_GCFLAGS,
    binaries=("trainer-controller-manager", "jobset"),
    minutes=1.2,
    shipped=(
        ModuleFiles(_TRAINER, "manifests/base/crds/trainer.kubeflow.org_*.yaml", "trainer-crds"),
        ModuleFiles(_TRAINER, "manifests/base/webhook/manifests.yaml", "trainer-webhooks"),
        ModuleFiles(_JOBSET, "config/components/crd/bases/*.yaml", "jobset-crds"),
        ModuleFiles(_JOBSET, "config/components/webhook/manifests.yaml", "jobset-webhooks"),
    ),
)
KUEUE = Part(
    folder="kueue",
    gcflags=_GCFLAGS,
    binaries=("kueue",),
    minutes=2.3,
    shipped=(
        ModuleFiles(_KUEUE, "config/components/crd/bases/*.yaml", "kueue-crds"),
        ModuleFiles(_KUEUE, "config/components/webhook/manifests.yaml", "kueue-webhooks"),
    ),
)
# Our own main package, since the module's listens on all interfaces and always elects a leader.
MPI_OPERATOR = Part(
    folder="mpi-operator",
    pins="kueue",
    gcflags=_GCFLAGS,
    binaries=("mpi-operator",),
    minutes=0.5,
    target="./mpi-operator",
    shipped=(ModuleFiles(_MPI_OPERATOR, "manifests/base/kubeflow.org_mpijobs.yaml", "mpi-operator-crds"),),
)
KUBEDL = Part(
    folder="kubedl",
    gcflags=_GCFLAGS,
    binaries=("kubedl",),
    minutes=1.6,
    shipped=(ModuleFiles("github.com/alibaba/kubedl", "config/crd/bases/*.yaml", "kubedl-crds"),),
)
_COMMANDS = "k8s.io/kubernetes/cmd"
# Their packages are compiled already, for the control plane.
KUBE_SCHEDULER = Part(
    folder="kube-scheduler", binaries=("kube-scheduler",), minutes=0.1, pins="controlplane",
    target=f"{_COMMANDS}/kube-scheduler", ldflags=KUBERNETES_STAMP,
)  # fmt: skip
ADDON_PARTS = (TRAINING_OPERATOR, TRAINER, KUEUE, MPI_OPERATOR, KUBEDL, KUBE_SCHEDULER)
# The programs of real nodes, which are containers.
_IN_CONTAINERS = (("GOOS", "linux"),)
NODE = Part(
    folder="node", binaries=("kubelet", "kube-proxy"), minutes=0.4, pins="controlplane",
    target=f"{_COMMANDS}/kubelet {_COMMANDS}/kube-proxy", ldflags=KUBERNETES_STAMP, environment=_IN_CONTAINERS,
)  # fmt: skip
# Our own main package with six of the module's plugins: the others bring the clients of cloud services.
COREDNS = Part(
    folder="coredns", binaries=("coredns",), minutes=0.7, target=".", gcflags=_GCFLAGS, environment=_IN_CONTAINERS
)


@functools.cache
def addon_fingerprint(part: Part, pins: Path = PINS) -> str:
    """Return a hash of the pins and flags of this part, and of the system and processor."""
    return digest([part], [FORMAT, platform.system(), platform.machine()], pins)


def addon_folder(part: Part, pins: Path = PINS) -> Path:
    """Return the folder in which the part is built; the finished part is the subfolder with its name."""
    return cache_folder() / f"addon-{part.folder}-{addon_fingerprint(part, pins)}"


@os_errors_as_toolchain_errors
def ensure_addons(parts: Iterable[Part], progress: Progress = SILENT, pins: Path = PINS) -> dict[str, BuiltPart]:
    """Download or build the missing parts; return all by folder name. `ToolchainError` if that fails."""
    folders = {part_need(part): addon_folder(part, pins) for part in parts}
    missing = [need for need, folder in folders.items() if need.finished(folder) is None]
    building = [part for need in missing if not need.releases for part in need.parts]
    if len(building) > 1:  # for a single part the build shows the time
        names = ", ".join(part.folder for part in building)
        progress.note(f"these parts of the add-ons are built once: {names}; together {build_time(building)}")
    for need in missing:
        provide([need], folders[need], progress, pins)
    return {need.name: BuiltPart(found[1]) for need, folder in folders.items() if (found := need.finished(folder))}
