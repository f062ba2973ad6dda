"""The parts of the sandbox's add-ons: the controllers of other operators, built (one is downloaded) only for those who ask for them.

Each has a fingerprint and a cache folder of its own: another pin of one rebuilds that one alone.
"""

from __future__ import annotations

import functools
import platform
from collections.abc import Iterable
from pathlib import Path

from trainform.progress import SILENT, Progress
from trainform.toolchain.cache import cache_folder
from trainform.toolchain.estimate import build_time
from trainform.toolchain.model import BuiltPart
from trainform.toolchain.needs import Need, part_need, provide, try_downloads
from trainform.toolchain.origins import BUILD, origins_of_parts
from trainform.toolchain.oserrors import toolchain_edge
from trainform.toolchain.parts import FORMAT, KUBERNETES_STAMP, PINS, UNOPTIMISED, ModuleFiles, Part, digest
from trainform.toolchain.releases import RELEASES

_TRAINING_OPERATOR = "github.com/kubeflow/training-operator"
_TRAINER = "github.com/kubeflow/trainer/v2"
_JOBSET = "sigs.k8s.io/jobset"
_KUEUE = "sigs.k8s.io/kueue"
_GCFLAGS = (f"all={UNOPTIMISED}",)  # a sandbox asks little of these controllers

# What is shipped goes to `<add-on>-crds` and `<add-on>-webhooks`: one part may serve two add-ons.
TRAINING_OPERATOR = Part(
    folder="training-operator",
    gcflags=_GCFLAGS,
    binaries=("training-operator",),
    minutes=1.4,
    packages=609,
    # A main package of ours around the module's controllers: the module's own listens on every interface.
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
    packages=1139,
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
    packages=1368,
    shipped=(
        ModuleFiles(_KUEUE, "config/components/crd/bases/*.yaml", "kueue-crds"),
        ModuleFiles(_KUEUE, "config/components/webhook/manifests.yaml", "kueue-webhooks"),
    ),
)
KUBEDL = Part(
    folder="kubedl",
    gcflags=_GCFLAGS,
    binaries=("kubedl",),
    minutes=1.6,
    packages=542,
    shipped=(ModuleFiles("github.com/alibaba/kubedl", "config/crd/bases/*.yaml", "kubedl-crds"),),
)
# The modules of the control plane, which has been built before.
KUBE_SCHEDULER = Part(
    folder="kube-scheduler", binaries=("kube-scheduler",), minutes=0.1, packages=5, ldflags=KUBERNETES_STAMP
)
ADDON_PARTS = (TRAINING_OPERATOR, TRAINER, KUEUE, KUBEDL, KUBE_SCHEDULER)


@functools.cache
def addon_fingerprint(part: Part, pins: Path = PINS) -> str:
    """Changes with the pins and flags of this part, and with the kind of machine."""
    return digest([part], [FORMAT, platform.system(), platform.machine()], pins)


def addon_folder(part: Part, pins: Path = PINS) -> Path:
    """Where its build goes; the finished part is the folder of its name in there."""
    return cache_folder() / f"addon-{part.folder}-{addon_fingerprint(part, pins)}"


def addon_need(part: Part) -> Need:
    """Kubernetes' scheduler has a release; the others are built."""
    return part_need(part, RELEASES.get(part.folder, ()), origins_of_parts())


@toolchain_edge
def ensure_addons(parts: Iterable[Part], progress: Progress = SILENT, pins: Path = PINS) -> dict[str, BuiltPart]:
    """Each part by its folder's name, made where it is missing. Takes no time and no process when all are there."""
    folders = {addon_need(part): addon_folder(part, pins) for part in parts}
    missing = [need for need, folder in folders.items() if need.finished(folder) is None]
    rest = [left for need in missing for left in try_downloads([need], folders[need], progress, pins)]
    building = [part for need in rest if need.allows(BUILD) for part in need.parts]
    if len(building) > 1:  # of a single one the build itself says the time
        names = ", ".join(part.folder for part in building)
        progress.note(f"to be built for the add-ons, once: {names}; together {build_time(building)}")
    for need in rest:
        provide([need], addon_folder(need.parts[0], pins), progress, pins)
    return {need.name: BuiltPart(found[1]) for need, folder in folders.items() if (found := need.finished(folder))}
