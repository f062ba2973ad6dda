"""The results of the tool chain: the paths of its programs and files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct


class PulumiTools(Struct, frozen=True):
    """`bin` has pulumi and its Python host, `home` is the PULUMI_HOME with the plugin, `origin` is in ORIGINS."""

    bin: Path
    home: Path
    origin: str


class ControlPlane(Struct, frozen=True):
    """The programs by file name, Volcano's CRDs, and kwok's stages."""

    binaries: Mapping[str, Path]
    crds: tuple[Path, ...]
    stages: tuple[Path, ...]


class Toolchain(Struct, frozen=True):
    """All programs that a sandbox needs."""

    pulumi: PulumiTools
    control_plane: ControlPlane


class BuiltPart(Struct, frozen=True):
    """A finished part of an add-on: a folder with `bin` and the folders of its modules' files."""

    folder: Path

    def binary(self, name: str) -> Path:
        """Return the path of a program."""
        return self.folder / "bin" / name

    def files(self, into: str) -> tuple[Path, ...]:
        """Return the files of one folder, sorted by name."""
        return tuple(sorted(self.folder.glob(f"{into}/*.yaml")))
