"""A description of the machine and the versions of a run, without paths and host names."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

import psutil

from trainform.local.toolchain.parts import KUBERNETES_VERSION


def describe(runs: int, load: float) -> str:
    """Return one paragraph. `load`: the load average before the run, by other processes."""
    memory = psutil.virtual_memory().total / 2**30
    versions = [
        f"Python {platform.python_version()}",
        *(f"{package} {version(package)}" for package in ("pulumi", "pulumi-kubernetes", "pydantic")),
        f"Kubernetes {KUBERNETES_VERSION} in the sandbox",
    ]
    return (
        f"{psutil.cpu_count()} cores ({platform.machine()}), {memory:.0f} GiB of memory, {platform.system()}; "
        f"{', '.join(versions)}. {runs} {'round' if runs == 1 else 'rounds'} after one warm-up; load average before "
        f"the run: {load:.1f}."
    )


def load() -> float:
    """Return the load average of the last minute."""
    return os.getloadavg()[0]
