"""Volumes, files and new claims of a plan."""

from __future__ import annotations

from msgspec import Struct

from trainform.spec.storage import CLAIM, ClaimRequest


class Mount(Struct, frozen=True):
    """A volume in a role's containers; `volume` is the user's name for it. `kind`: the source by the field that names
    it, `claim` for every claim. `source`: the name of an object, a path of the node, or the size of a scratch
    folder."""

    volume: str
    kind: str
    source: str
    path: str
    sub_path: str | None
    read_only: bool

    @property
    def claim(self) -> str | None:
        """Return the name of the claim; None for another source."""
        return self.source if self.kind == CLAIM else None


class MountedFile(Struct, frozen=True):
    """A file of the user in all containers. `key`: its entry in the ConfigMap."""

    path: str
    key: str
    text: str


class ClaimPlan(Struct, frozen=True):
    """A claim that trainform creates. `storage_class`: its name in the cluster, None for the cluster's default."""

    key: str
    name: str
    request: ClaimRequest
    storage_class: str | None
