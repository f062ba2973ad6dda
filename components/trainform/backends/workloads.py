"""Where the pod templates of an object are. A program may have written the object, so fields can be missing or have
wrong types."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from trainform.backends.paths import places
from trainform.manifests.templates import Template

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
