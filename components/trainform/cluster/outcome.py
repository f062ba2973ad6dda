"""The result of checks on a live cluster, and the stack that they check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from trainform.cluster.live_objects import Key, key_of
from trainform.errors import Problem
from trainform.manifests.manifest import Manifest
from trainform.project import deploy


class Outcome(Struct, frozen=True):
    """The result of checks."""

    problems: list[Problem] = []
    not_checked: list[tuple[str, str]] = []
    """Parts that could not be checked, each with the reason."""
    warnings: list[str] = []
    """Settings that work, but not as intended, or that another rule may refuse."""

    def __add__(self, other: Outcome) -> Outcome:
        return Outcome(
            self.problems + other.problems, self.not_checked + other.not_checked, self.warnings + other.warnings
        )


def refused(reason: str, fix: str) -> Outcome:
    """Return the outcome of a check with one problem that no field causes."""
    return Outcome([Problem("", None, reason, fix)])


class StackContext(Struct, frozen=True):
    """The stack whose objects are checked."""

    name: str = "STACK"
    declared: frozenset[tuple[str, str]] = frozenset()
    """Kind and name of the objects that the environment's file declares."""
    applied: Mapping[Key, Mapping[str, Any]] = {}
    """The objects in Pulumi's state as they were sent last."""
    preview: bool = True
    """False for `pulumi up`."""

    def has(self, manifest: Manifest) -> bool:
        """Return True if Pulumi's state has the object."""
        return key_of(manifest.body) in self.applied

    def leaves(self, manifest: Manifest) -> bool:
        """Return True if Pulumi sends nothing to the server, because the object has not changed."""
        return self.applied.get(key_of(manifest.body)) == manifest.body

    def fix(self, kind: str, name: str, environment: str, other: str) -> str:
        """Return the command that creates a missing object if the environment's file declares it; `other` if not."""
        return deploy(environment) if (kind, name) in self.declared else other
