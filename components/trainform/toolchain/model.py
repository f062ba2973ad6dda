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


@dataclasses.dataclass(frozen=True)
class BuiltPart:
    """A finished part of an add-on: `bin` and the folders of files that its modules ship."""

    folder: Path

    def binary(self, name: str) -> Path:
        """A program by the name of its file."""
        return self.folder / "bin" / name

    def files(self, into: str) -> tuple[Path, ...]:
        """What was shipped into one folder, by name."""
        return tuple(sorted(self.folder.glob(f"{into}/*.yaml")))
