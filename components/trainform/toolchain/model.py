"""What the tool chain hands out: where the finished binaries and files are."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class PulumiTools:
    """`bin` holds pulumi and its Python host, `home` is the PULUMI_HOME with the kubernetes plugin; `origin` says whence."""

    bin: Path
    home: Path
    origin: str


@dataclasses.dataclass(frozen=True)
class ControlPlane:
    """Binaries by the name of their file; Volcano's CRDs; kwok's stages."""

    binaries: Mapping[str, Path]
    crds: tuple[Path, ...]
    stages: tuple[Path, ...]


@dataclasses.dataclass(frozen=True)
class Toolchain:
    """All that a sandbox needs."""

    pulumi: PulumiTools
    control_plane: ControlPlane
