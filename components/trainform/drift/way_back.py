"""What puts back what was deployed, and what cannot be put back. Measured with the real engine: `tests/engine/test_drift.py`."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from trainform.drift.model import FieldDrift, ObjectDrift
from trainform.manifests.manifest import ownership
from trainform.manifests.shapes import quantity

PUT_BACK = "pulumi up --refresh --skip-preview -s {stack}"
"""A plain preview compares with the state and sees nothing; `preview --refresh` fails with a conflict of field managers."""
CLAIM, SIZE = "PersistentVolumeClaim", "spec.resources.requests.storage"
LABELS = "metadata.labels."
_NUMBER = re.compile(r"spec\.ports\.[^.]+\.(port|protocol)")
_OWNERSHIP = frozenset(ownership("", environment=""))


def commands(objects: Sequence[ObjectDrift], stack: str) -> list[str]:
    """The commands in their order. The preflight takes an object without trainform's labels for somebody else's, so these come first. A port that has
    another number is another port to an apply, which then fails since both have the same name: such a Service is made again."""
    return [*_relabel(objects), *_make_again(objects), PUT_BACK.format(stack=shlex.quote(stack))]


def not_put_back(objects: Iterable[ObjectDrift]) -> list[str]:
    """Sentences about what no command puts back: Kubernetes cannot make a claim smaller."""
    return [
        f"{each.kind} {each.name} cannot shrink from {field.now} to {field.was}: write `size: {field.now}` into the file, else `pulumi up` refuses."
        for each in objects
        for field in each.fields
        if each.kind == CLAIM and field.path == SIZE and _grown(field)
    ]


def _grown(field: FieldDrift) -> bool:
    was, now = quantity(field.was), quantity(field.now)
    return was is not None and now is not None and now > was


def _relabel(objects: Iterable[ObjectDrift]) -> Iterator[str]:
    for each in objects:
        labels = {field.path.removeprefix(LABELS): field.was for field in each.fields if field.path.startswith(LABELS)}
        lost = [f"{name}={value}" for name, value in labels.items() if name in _OWNERSHIP]
        if lost:
            yield shlex.join(["kubectl", "label", each.kind.lower(), each.name, *_where(each), "--overwrite", *lost])


def _make_again(objects: Iterable[ObjectDrift]) -> Iterator[str]:
    for each in objects:
        if each.kind == "Service" and any(_NUMBER.fullmatch(field.path) for field in each.fields):
            yield shlex.join(["kubectl", "delete", "service", each.name, *_where(each)])


def _where(each: ObjectDrift) -> list[str]:
    return ["-n", each.namespace] if each.namespace else []
