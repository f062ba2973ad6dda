"""The history of a stack's updates in Pulumi's backend."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from trainform.deployed.engine import NO_STACK, as_json, printed
from trainform.manifests.manifest import mapping, mappings

MOST_UPDATES = 100
ALL = 0
CHANGES_OBJECTS = ("update", "destroy")
"""Kinds of updates that create and delete objects. A `refresh` does not."""
REFRESH = "refresh"
RELEASE = "trainform:release"
BOOLEANS = {"true": True, "false": False}
FOR_A_PART = frozenset(
    note
    for option in ("target", "target-replace", "exclude")
    for note in (f"pulumi.flag.{option}", f"pulumi.env.PULUMI_OPTION_{option.replace('-', '_').upper()}")
)
"""Notes of the engine on an update for a part of the stack."""


class Update(Struct, frozen=True):
    """One update of a stack.

    kind: `update` is a `pulumi up`. result: `succeeded`, `failed` or `in-progress`. started, ended: in UTC (RFC 3339);
    "" if it has not ended. number: of a service; 0 in a folder or a bucket. commit, dirty: of git; "" and None if
    unknown. release: in the stack's config. in_part: for some of the stack's resources.
    """

    kind: str
    result: str
    started: str
    ended: str
    number: int
    commit: str
    dirty: bool | None
    release: str
    in_part: bool = False

    @property
    def deployed(self) -> bool:
        """Return True for a `pulumi up` of the whole stack that succeeded."""
        return (self.kind, self.result, self.in_part) == ("update", "succeeded", False)

    @property
    def destroyed(self) -> bool:
        """Return True for a `pulumi destroy` of the whole stack that succeeded."""
        return (self.kind, self.result, self.in_part) == ("destroy", "succeeded", False)


def updates(stack: str, root: Path, most: int = MOST_UPDATES) -> list[Update]:
    """Return the last updates of the stack, the newest first; all of them if none of the last ones has changed an
    object, and none if the backend has no such stack."""
    found = _updates(stack, root, most)
    cut = most != ALL and len(found) >= most
    return _updates(stack, root, ALL) if cut and not any(each.kind in CHANGES_OBJECTS for each in found) else found


def _updates(stack: str, root: Path, most: int) -> list[Update]:
    words = ("stack", "history", "-s", stack, "--json", "--show-secrets=false", "--page-size", str(most))
    text = printed(root, *words, nothing=NO_STACK)
    return updates_in(as_json(text, "stack history") if text.strip() else [])


def updates_in(listed: Any) -> list[Update]:
    """Return the updates in the output of `pulumi stack history --json`."""
    return [*map(_update, mappings(listed))]


def last_deployed(found: Iterable[Update]) -> Update | None:
    """Return the last `pulumi up` of the whole stack that succeeded; None without one, or after a `pulumi destroy`."""
    for update in found:
        if update.deployed:
            return update
        if update.destroyed:
            return None
    return None


def _update(entry: Mapping[str, Any]) -> Update:
    environment, config = mapping(entry.get("environment")), mapping(entry.get("config"))
    number = entry.get("version")
    return Update(
        kind=str(entry.get("kind", "")),
        result=str(entry.get("result", "")),
        started=_second(entry.get("startTime")),
        ended=_second(entry.get("endTime")),
        number=number if isinstance(number, int) else 0,
        commit=str(environment.get("git.head", "")),
        dirty=BOOLEANS.get(str(environment.get("git.dirty", ""))),
        release=str(mapping(config.get(RELEASE)).get("value", "")),
        in_part=not FOR_A_PART.isdisjoint(environment),
    )


def _second(time: object) -> str:
    """Return the time without fractions of a second, which are zeros."""
    return re.sub(r"\.[0-9]+Z$", "Z", time) if isinstance(time, str) else ""
