"""Add-ons of a sandbox: how they are chosen from the table."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from trainform.console.progress import Progress
from trainform.errors import InputError, Problem
from trainform.local.sandbox.addons.addon import InstalledAddOn
from trainform.local.sandbox.addons.addon_table import ADDONS
from trainform.local.toolchain.addons import ensure_addons


def chosen_addons(text: Iterable[str]) -> tuple[str, ...]:
    """Return the names in texts such as `kubeflow,trainer`, each once. Raises `InputError` for an unknown name."""
    names = [name.strip() for word in text for name in word.split(",") if name.strip()]
    unknown = [name for name in dict.fromkeys(names) if name not in ADDONS]
    if unknown:
        reason = "is not an add-on of the sandbox" if len(unknown) == 1 else "are not add-ons of the sandbox"
        raise InputError([Problem("--with", ", ".join(unknown), reason, f"choose from {', '.join(ADDONS)}")])
    return sort_by_table(names)


def sort_by_table(*names: Iterable[str]) -> tuple[str, ...]:
    """Return all these names, each once and in the order of the table."""
    chosen = set(itertools.chain(*names))
    return tuple(name for name in ADDONS if name in chosen)


def add_dependencies(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names and those of the add-ons that they depend on."""
    found = sort_by_table(names)
    needed = sort_by_table(found, *(ADDONS[name].needs for name in found))
    return found if needed == found else add_dependencies(needed)


def install_addons(names: Iterable[str], progress: Progress) -> tuple[InstalledAddOn, ...]:
    """Return the add-ons, after their missing parts were downloaded or built."""
    chosen = [ADDONS[name] for name in names]
    built = ensure_addons(dict.fromkeys(addon.part for addon in chosen), progress)
    return tuple(InstalledAddOn(addon, built[addon.part.folder]) for addon in chosen)
