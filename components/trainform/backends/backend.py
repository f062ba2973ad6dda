"""The contract of a backend, the backends by name, and the pod templates in the objects that they render.

A path into an object has dots between names, and `*` for every item of a list or value of a mapping. A program may have
written the object, so fields can be missing or have wrong types.
"""

from __future__ import annotations

import abc
import copy
import functools
import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from msgspec import Struct

from trainform import defaults
from trainform.backends.outcome import ToOutcome
from trainform.backends.support import Fields
from trainform.errors import Problem
from trainform.manifests.env import PodConventions
from trainform.manifests.manifest import Manifest
from trainform.manifests.templates import Template
from trainform.plan.model import Ending, Plan
from trainform.plan.operator import Naming, Operator
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

EACH = "*"
Place = tuple[str, ...]
"""The names from the top of a body to a value; an item of a list has its `name`, or its index if it has no name."""


def places(body: Any, path: str) -> Iterator[tuple[dict[str, Any], str, Place]]:
    """Yield every value at the path: the mapping that holds it, its key there, and its place."""
    *above, last = path.split(".")
    for holder, place in _reached(body, above, ()):
        if isinstance(holder, dict) and last in holder:
            yield holder, last, (*place, last)


def _reached(body: Any, words: Sequence[str], above: Place) -> Iterator[tuple[Any, Place]]:
    """Yield every value to which the words lead, with its place."""
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
    """Return the value at the path of names; None if there is none. An empty path leads to the body itself."""
    for word in path.split(".") if path else ():
        if not isinstance(body, dict) or word not in body:
            return None
        body = body[word]
    return body


def without_paths(body: dict[str, Any], paths: Iterable[str]) -> dict[str, Any]:
    """Return a copy of the body without the values at the paths."""
    copied = copy.deepcopy(body)
    for path in paths:
        for holder, key, _ in [*places(copied, path)]:
            del holder[key]
    return copied


def _number(item: Any, path: str, default: int) -> int:
    found = value_at(item, path)
    return max(0, found) if isinstance(found, int) and not isinstance(found, bool) else default


class PodRestarts(Struct, frozen=True):
    """The rules by which an operator makes a failed pod anew.

    reason: its own rule, or that it has none. codes, shown: the only exit codes that it knows, as numbers and in an
    experiment. most: it knows any codes, and at most so many. counts: it knows any codes, limits, and disruptions.
    """

    reason: str = "the operator has no rules for exit codes and disruptions"
    codes: tuple[int, ...] = ()
    shown: str = ""
    most: int = 0
    counts: bool = False


class Existing(Struct, frozen=True):
    """An object that a job refers to and does not own.

    namespace: None for a cluster-scoped kind. fix: what to do if the object is missing, besides a correction of the
    name. problems: given the object of the cluster, the reason and the fix of everything in it that keeps the job from
    running as planned.
    """

    api_version: str
    kind: str
    plural: str
    name: str
    namespace: str | None
    fix: str
    problems: Callable[[dict[str, Any]], Iterable[tuple[str, str]]]


class Backend(abc.ABC):
    """One way to run jobs. Every backend must define the abstract methods; the others have defaults that suit most.

    The job object is the manifest with the key `job`.
    """

    # --- the operator in a cluster

    OPERATORS: ClassVar[tuple[Operator, ...]]
    """Those that run its jobs; the first is the main one."""

    MAKES_GANGS: ClassVar[bool] = False
    """True if trainform renders the PodGroup of a job, because the operator does not make it."""

    PODS: ClassVar[Mapping[str, tuple[Finder, ...]]] = {}
    """Finders of pod templates by `GROUP/KIND`; any program may have written the object."""

    OUTCOME: ClassVar[ToOutcome]
    """What became of a job, by what the operator itself says in the status of the live object."""

    RESTARTS: ClassVar[PodRestarts] = PodRestarts()
    """Its rules for failed pods, for values of `restart` with exit codes or `ignore`."""

    # --- for the documentation

    MAKES: ClassVar[str]
    """The objects that are rendered for it, for the comparison of backends."""

    ENDS: ClassVar[str]
    """What ends a job while other pods still run, for the comparison of backends."""

    GANG: ClassVar[str] = ""
    """Settings of the operator for each admission, and pods that wait for no others, for the comparison of backends."""

    ADDS: ClassVar[str]
    """What its controller adds to pods, for the launch contract."""

    # --- its jobs

    INDEX_LABEL: ClassVar[str]
    """The label in which its controller gives every pod its index in its group."""

    JOB_LABEL: ClassVar[str] = ""
    """The label in which its controller gives every pod the name of its job, whoever wrote the job; empty if it has
    none."""

    LOOKUP_CONTAINERS: ClassVar[frozenset[str]] = frozenset()
    """Init containers that its controller adds and that resolve names with the `nslookup` of their own image."""

    ADMISSIONS: ClassVar[tuple[str, ...]] = (defaults.VOLCANO,)
    """The values of the environment's `admission` that its jobs support."""

    SPLITS_LAUNCHER: ClassVar[bool] = True
    """True if pods with different programs need different templates (`plan.split_launcher`)."""

    IN_PLACE: ClassVar[tuple[str, ...]] = ()
    """Paths of the job object that can change while the job runs (`immutable_part`). The hash of everything else is the
    revision."""

    SUSPENDED: ClassVar[tuple[str, ...]] = ()  # paths of the job object: true there, and the operator makes no pods

    READS: ClassVar[frozenset[str]] = frozenset()
    """Labels and annotations of its objects that the operator reads: a patch must not add them."""

    POD_KEYS: ClassVar[frozenset[str]] = frozenset()
    """Labels and annotations of pods that its controller sets, or for which nothing would make the pods: keys, and
    prefixes that end in `/`."""

    FIELDS: ClassVar[Fields] = {}
    """The experiment's fields that the operator handles in its own way, or does not support."""

    LACKS: ClassVar[frozenset[str]] = frozenset()
    """What the operator cannot do beyond single fields (`backends.refusals`); the fix for such a need does not name
    this backend."""

    ONE_ROLE: ClassVar[bool] = False
    """True if its jobs have one role. No fix names this backend, since most experiments have several."""

    def groups(self, experiment: Experiment) -> dict[str, str]:
        """Return the operator's name for each role, a part of the names of its pods. Default: the role's name."""
        return {name: name for name in experiment.roles}

    def operator(self, experiment: Experiment, environment: Environment) -> Operator:
        """Return the operator that runs the experiment's job. Default: the main one."""
        return self.OPERATORS[0]

    @abc.abstractmethod
    def naming(self, experiment: Experiment, environment: Environment) -> Naming:
        """Return the names of the experiment's pods, and the addresses by which peers reach them."""

    @abc.abstractmethod
    def crds(self, plan: Plan) -> tuple[str, ...]:
        """Return the custom resource definitions that the cluster must have: `<plural>.<group>`."""

    def problems(self, plan: Plan) -> Iterable[Problem]:
        """Return problems with what the operator cannot do, beyond single fields. Default: none."""
        return ()

    def notes(self, plan: Plan, manifests: Sequence[Manifest]) -> Iterable[str]:
        """Return notes on surprising effects of the operator, beyond single fields. Default: none."""
        return ()

    def suspend_fix(self, plan: Plan) -> str:
        """Return how to suspend the job without `trainform:suspend`; "" if a field of the job object does it. Default:
        the field in `SUSPENDED`."""
        return "" if self.SUSPENDED else "use `pulumi destroy` instead of this key; `pulumi up` starts the job again"

    def existing(self, plan: Plan) -> tuple[Existing, ...]:
        """Return objects of other owners to which only jobs of this backend refer. Default: none."""
        return ()

    # --- its objects

    def conventions(self, plan: Plan) -> PodConventions:
        """Return what pod templates depend on in the operator. Default: the label of the index alone; nothing is added
        to pods."""
        return PodConventions(self.INDEX_LABEL)

    def files(self, plan: Plan) -> dict[str, str]:
        """Return launch files that its pod templates need in addition to the plan's, by name. Default: none."""
        return {}

    def prerequisites(self, plan: Plan) -> list[Manifest]:
        """Return objects that must be in the cluster before the job object. Default: none."""
        return []

    @abc.abstractmethod
    def job(self, plan: Plan) -> Manifest:
        """Return the job object."""

    @abc.abstractmethod
    def templates(self, plan: Plan, manifests: Sequence[Manifest]) -> list[Template]:
        """Return the pod template of each role, from the rendered objects."""

    @abc.abstractmethod
    def pods(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
        """Return the pods that the controller makes from the rendered objects, and the data of its ConfigMaps by
        name."""

    def rehearsed(self, plan: Plan, manifests: Sequence[Manifest]) -> Sequence[Manifest]:
        """Return the rendered objects with those of other owners to which the job refers. Default: there are none."""
        return manifests

    def endings(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[Ending, ...]:
        """Return the pods whose success ends the job while other pods run. Default: none, so every pod must end."""
        return ()

    # --- merge patches of the user's

    def own_restarts(self, plan: Plan) -> tuple[str, ...]:
        """Return what the operator takes as a pod's `restartPolicy` besides the values of Kubernetes: a patch of a role
        may choose it. Default: nothing."""
        return ()


class _Backends(Mapping[str, Backend]):
    """The backends by name. Each is imported when it is first used, since most commands need one of them."""

    def __init__(self) -> None:
        self._made: dict[str, Backend] = {}

    def __getitem__(self, name: str) -> Backend:
        row = defaults.BACKENDS[name]
        if row not in self._made:
            module, _, kind = row.partition(":")
            made = getattr(importlib.import_module(module), kind)()
            if not isinstance(made, Backend):
                raise TypeError(f"{row} is not a subclass of Backend")
            self._made[row] = made
        return self._made[row]

    def __iter__(self) -> Iterator[str]:
        return iter(defaults.BACKENDS)

    def __len__(self) -> int:
        return len(defaults.BACKENDS)


BACKENDS: Mapping[str, Backend] = _Backends()

PLAIN_JOB = "batch/v1:Job"  # which other programs have for work of any kind
JOB_TYPES = (
    PLAIN_JOB,
    "batch.volcano.sh/v1alpha1:Job",
    "jobset.x-k8s.io/v1alpha2:JobSet",
    "kubeflow.org/v1:MPIJob",
    "kubeflow.org/v1:PyTorchJob",
    "kubeflow.org/v1:TFJob",
    "kubeflow.org/v2beta1:MPIJob",
    "trainer.kubeflow.org/v1alpha1:TrainJob",
    "training.kubedl.io/v1alpha1:MPIJob",
    "training.kubedl.io/v1alpha1:PyTorchJob",
    "training.kubedl.io/v1alpha1:TFJob",
)
"""Types of the job object on every operator; here so that a program need not import them all. Never remove one: a
deployed stack may have it."""


def pods_of(body: dict[str, Any]) -> list[Pods]:
    """Return the pods of which the object has templates; empty for every kind that no backend renders."""
    return [pods for find in described_kinds().get(group_and_kind(body), ()) for pods in find(body)]


@functools.cache
def described_kinds() -> Mapping[str, tuple[Finder, ...]]:
    """Return how the pods of each kind are found, by `GROUP/KIND`."""
    return {kind: finders for backend in BACKENDS.values() for kind, finders in backend.PODS.items()}


def group_and_kind(body: Mapping[str, Any]) -> str:
    """Return `GROUP/KIND` of the object; the group of Kubernetes' first kinds is empty."""
    group = str(body.get("apiVersion", "")).rpartition("/")[0]
    return f"{group}/{body.get('kind', '')}"
