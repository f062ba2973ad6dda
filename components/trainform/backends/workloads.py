"""Where the pod templates of any object are, and those of Kubernetes' own kinds.

An object comes from anybody's program here, so it may lack fields that trainform always sets, and have wrong types in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from trainform.backends.paths import places
from trainform.manifests.templates import Template

DEADLINE = "activeDeadlineSeconds"
DEFAULT_REPLICAS = 1  # of every kind, if its number is not set


class Pods(Struct, frozen=True):
    """The pods of one template of an object.

    elsewhere: the object that has the rest of the template, if this one has only parts of it; otherwise empty. What is absent here may then
    stand there. job: the object that says what a job says of all its pods (its queue, when it ends), if another one does; otherwise empty.
    """

    template: Template
    elsewhere: str = ""
    job: str = ""


Finder = Callable[[dict[str, Any]], Iterator[Pods]]
"""From the body of an object to its pods."""


class PodsAt(Struct, frozen=True):
    """A place of pod templates: each item at the path `items` has one.

    template: its path in the item. counts: paths in the item of the numbers whose product is the number of pods. gang: True if all pods of an
    item start together, or as many as `least` in the item; otherwise each starts by itself. scheduler: the path in the object of the scheduler of
    pods that name none. run_time: the path in the item of the seconds after which its pods end. job, elsewhere: as in `Pods`. each_node: as in `Template`.
    """

    items: str
    template: str = "template"
    counts: tuple[str, ...] = ("replicas",)
    gang: bool = False
    least: str = ""
    scheduler: str = ""
    run_time: str = ""
    job: str = ""
    elsewhere: str = ""
    each_node: bool = False

    def __call__(self, body: dict[str, Any]) -> Iterator[Pods]:
        first, _, rest = self.template.partition(".")
        for item, _, place in places(body, f"{self.items}.{first}"):
            template = value_at(item, self.template)
            if not isinstance(template, dict) or "spec" not in template:
                continue
            replicas = 1
            for count in self.counts:
                replicas *= _number(item, count, DEFAULT_REPLICAS)
            together = replicas if self.gang else min(1, replicas)
            least = _number(item, self.least, together) if self.least else together
            where = ".".join((*place, *filter(None, [rest])))
            scheduler = value_at(body, self.scheduler) if self.scheduler else None
            run_time = value_at(item, self.run_time) if self.run_time else None
            made = Template(replicas, least, template, where, scheduler, run_time, self.each_node)
            yield Pods(made, self.elsewhere, self.job)


def the_pod(body: dict[str, Any]) -> Iterator[Pods]:
    """The pod that the object is itself."""
    if "spec" in body:
        yield Pods(Template(1, 1, body))


def the_template(body: dict[str, Any]) -> Iterator[Pods]:
    """The template that the object has on its top level, for pods that others make."""
    if isinstance(body.get("template"), dict) and "spec" in body["template"]:
        yield Pods(Template(1, 1, body["template"], "template"))


_REPLICATED = (PodsAt("spec"),)
KINDS: Mapping[str, tuple[Finder, ...]] = {
    "/Pod": (the_pod,),
    "/PodTemplate": (the_template,),
    "/ReplicationController": _REPLICATED,
    "apps/Deployment": _REPLICATED,
    "apps/ReplicaSet": _REPLICATED,
    "apps/StatefulSet": _REPLICATED,
    "apps/DaemonSet": (
        PodsAt("spec", counts=(), each_node=True),
    ),  # one pod for each node that it selects; how many, the environment has
    "batch/Job": (PodsAt("spec", counts=("parallelism",), run_time=DEADLINE),),
    "batch/CronJob": (PodsAt("spec.jobTemplate.spec", counts=("parallelism",), run_time=DEADLINE),),
    "kueue.x-k8s.io/Workload": (PodsAt("spec.podSets.*", counts=("count",), gang=True),),
}
"""The kinds of Kubernetes, and of its queues, that make pods, as `GROUP/KIND` without the version."""


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
