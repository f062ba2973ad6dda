"""A rendered object and what to do with it."""

from __future__ import annotations

import dataclasses
from typing import Any

from trainform.catalog import defaults


@dataclasses.dataclass(frozen=True)
class Manifest:
    """One object. `key` is its name for the user (`manifest_overrides`) and in Pulumi.

    keep: stays at destroy and is adopted by the next up. patch: the object belongs to somebody else, and only the fields that
    stand here are set (Volcano makes the queue `default` itself). follows_revision: the name contains the revision, so a change makes a new object.
    """

    key: str
    body: dict[str, Any]
    keep: bool = False
    patch: bool = False
    follows_revision: bool = False


def ownership(name_label: str, *, environment: str) -> dict[str, str]:
    """Labels by which an object is known to be ours; they never change while the object lives."""
    return {**defaults.MANAGED_BY, defaults.NAME_LABEL: name_label, defaults.ENVIRONMENT_LABEL: environment}


def without_empty(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields that say something: None, and empty lists and mappings, are left out; 0, False and "" stay."""
    return {key: value for key, value in fields.items() if value is not None and value != [] and value != {}}
