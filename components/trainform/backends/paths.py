"""Paths into the body of an object, and the places of pod templates in it.

A path has dots between names, and `*` for every item of a list or value of a mapping. Everything after `labels.` or
`annotations.` is one name, since such keys contain dots themselves. A program may have written the object, so fields
can be missing or have wrong types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from trainform.manifests.templates import Template

EACH = "*"
Place = tuple[str, ...]
"""The names from the top of a body to a value; an item of a list has its `name`, or its index if it has no name."""


def places(body: Any, path: str) -> Iterator[tuple[dict[str, Any], str, Place]]:
    """Every value at the path: the mapping that holds it, its key there, and its place."""
    *above, last = _words(path)
    for holder, place in _reached(body, above, ()):
        if isinstance(holder, dict) and last in holder:
            yield holder, last, (*place, last)


def written(place: Place) -> str:
    """The place as a path."""
    return ".".join(place)


def named_items(value: Any) -> dict[str, Any] | None:
    """The items of a mapping, or of a list in which each has a `name` of its own; None if the value is neither."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list) or not all(
        isinstance(item, dict) and isinstance(item.get("name"), str) for item in value
    ):
        return None
    found = {item["name"]: item for item in value}
    return found if len(found) == len(value) else None


def _words(path: str) -> list[str]:
    for keys in ("labels", "annotations"):
        above, found, key = path.partition(f"{keys}.")
        if found:
            return [*above.split(".")[:-1], keys, key]
    return path.split(".")


def _reached(body: Any, words: Sequence[str], above: Place) -> Iterator[tuple[Any, Place]]:
    """Every value to which the words lead, with its place."""
    if not words:
        yield body, above
        return
    word, *rest = words
    if word == EACH:
        for name, item in _items(body):
            yield from _reached(item, rest, (*above, name))
    elif isinstance(body, dict) and word in body:
        yield from _reached(body[word], rest, (*above, word))


def _items(body: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(body, dict):
        yield from body.items()
    elif isinstance(body, list):
        for index, item in enumerate(body):
            yield str(item.get("name", index) if isinstance(item, dict) else index), item


DEADLINE = "activeDeadlineSeconds"
DEFAULT_REPLICAS = 1  # of every kind, if its number is not set


class Pods(Struct, frozen=True):
    """The pods of one template of an object.

    elsewhere: the object that has the rest of the template, if this one has only parts of it; otherwise empty. job: the
    object that sets the queue and the end of the job, if it is another one; otherwise empty.
    """

    template: Template
    elsewhere: str = ""
    job: str = ""


Finder = Callable[[dict[str, Any]], Iterator[Pods]]
"""From the body of an object to its pods."""


class PodsAt(Struct, frozen=True):
    """A place of pod templates: each item at the path `items` has one.

    template: its path in the item. counts: paths in the item of the numbers whose product is the number of pods. least:
    the path in the item of how many start together; empty for all. scheduler: the path in the object of the scheduler
    of pods that name none. run_time: the path in the item of the seconds after which its pods end. job: as in `Pods`.
    """

    items: str
    template: str = "template"
    counts: tuple[str, ...] = ("replicas",)
    least: str = ""
    scheduler: str = ""
    run_time: str = ""
    job: str = ""

    def __call__(self, body: dict[str, Any]) -> Iterator[Pods]:
        first, _, rest = self.template.partition(".")
        for item, _, place in places(body, f"{self.items}.{first}"):
            template = value_at(item, self.template)
            if not isinstance(template, dict) or "spec" not in template:
                continue
            replicas = 1
            for count in self.counts:
                replicas *= _number(item, count, DEFAULT_REPLICAS)
            least = _number(item, self.least, replicas) if self.least else replicas
            where = ".".join((*place, *filter(None, [rest])))
            scheduler = value_at(body, self.scheduler) if self.scheduler else None
            run_time = value_at(item, self.run_time) if self.run_time else None
            yield Pods(Template(replicas, least, template, where, scheduler, run_time), job=self.job)


def value_at(body: Any, path: str) -> Any:
    """The value at the path of names; None where there is none. An empty path leads to the body itself."""
    for word in path.split(".") if path else ():
        if not isinstance(body, dict) or word not in body:
            return None
        body = body[word]
    return body


def _number(item: Any, path: str, default: int) -> int:
    found = value_at(item, path)
    return max(0, found) if isinstance(found, int) and not isinstance(found, bool) else default
