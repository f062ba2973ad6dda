"""The add-ons by name, and which of them a sandbox gets."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping

from trainform.errors import InputError, Problem
from trainform.sandbox.addons.installation import Installed
from trainform.sandbox.addons.jobset import JOBSET
from trainform.sandbox.addons.kubedl import KUBEDL
from trainform.sandbox.addons.kubeflow import KUBEFLOW
from trainform.sandbox.addons.kueue import KUEUE
from trainform.sandbox.addons.scheduler import SCHEDULER
from trainform.sandbox.addons.trainer import TRAINER
from trainform.toolchain.model import BuiltPart
from trainform.toolchain.parts import Part

# In the order in which they are waited for: Kueue is asked about every JobSet, and is then to blame.
ADDONS = {addon.name: addon for addon in (KUBEFLOW, KUEUE, JOBSET, TRAINER, KUBEDL, SCHEDULER)}


def chosen_addons(text: Iterable[str]) -> tuple[str, ...]:
    """The names in words like `kubeflow,trainer`, each once; `InputError` with the known ones for any other."""
    names = [name.strip() for word in text for name in word.split(",") if name.strip()]
    unknown = [name for name in dict.fromkeys(names) if name not in ADDONS]
    if unknown:
        reason = "is no add-on of the sandbox" if len(unknown) == 1 else "are no add-ons of the sandbox"
        raise InputError([Problem("--with", ", ".join(unknown), reason, f"choose from {', '.join(ADDONS)}")])
    return together(names)


def together(*names: Iterable[str]) -> tuple[str, ...]:
    """All of them, each once and in the table's order."""
    wanted = set(itertools.chain(*names))
    return tuple(name for name in ADDONS if name in wanted)


def with_needed(names: Iterable[str]) -> tuple[str, ...]:
    """Those and what they need."""
    found = together(names)
    needed = together(found, *(ADDONS[name].needs for name in found))
    return found if needed == found else with_needed(needed)


def parts_of(names: Iterable[str]) -> tuple[Part, ...]:
    """What has to be built for them."""
    return tuple(dict.fromkeys(ADDONS[name].part for name in names))


def installed(names: Iterable[str], built: Mapping[str, BuiltPart]) -> tuple[Installed, ...]:
    """The add-ons with their finished parts."""
    return tuple(Installed(ADDONS[name], built[ADDONS[name].part.folder]) for name in names)
