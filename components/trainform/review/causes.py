"""Why a job changes, by the fields of its files: the engine only sees another hash in a name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct, structs

from trainform.backends.backend import BACKENDS
from trainform.console.sections import listed
from trainform.job.render import change_in_job
from trainform.manifests.differences import Difference, Keys, differences, shown
from trainform.plan.record import Record
from trainform.review.context import JobReview
from trainform.review.model import Change, Place
from trainform.spec.base_model import OnChange, field_at, on_change
from trainform.spec.experiment import Experiment
from trainform.spec.quantities import seconds

ENVIRONMENT = "environment"
RUN = "run"
VERSION = "version"
MOST_NAMED = 3  # fields that a sentence names before it counts

DURATIONS = (("ttl",), ("network", "wait"))
"""Fields with a time, which `60m` and `1h` spell."""
TIMEOUT = "timeout"  # of a policy, the job's or a role's

OF_USE = frozenset({"backend", "rdma", "accelerators", "storage_classes", "registries"})
"""Parts of the environment that reach a job only if its experiment uses them."""

_NEVER_REPLACE = {OnChange.IN_PLACE, OnChange.NO_OBJECT, OnChange.GROWS, OnChange.CLAIM_REPLACED}

Locate = Callable[[str], Place]


class Causes(Struct, frozen=True):
    """The fields that differ."""

    changes: tuple[Change, ...] = ()
    """All of them, in the order of the files."""
    replacing: tuple[Change, ...] = ()
    """Those that can make a new revision."""

    @property
    def visible(self) -> tuple[Change, ...]:
        """Return the changes without the version of trainform, which changes objects or not."""
        return tuple(change for change in self.changes if change.place.path != VERSION)

    def under(self, *paths: str) -> list[Change]:
        """Return the changes at the paths and below them."""
        below = tuple(f"{path}{border}" for path in paths for border in ".[")
        return [change for change in self.changes if change.place.path in paths or change.place.path.startswith(below)]


def causes(job: JobReview, locate: Locate = lambda path: Place(path=path)) -> Causes:
    """Return the causes of whatever happens to the job; none if a side has no record."""
    old, new = job.before, job.after
    if old is None or new is None:
        return Causes()
    found = of_experiment(old, new)
    found += _of_environment(old, new, bool(found))
    for name, was, will in ((RUN, old.run, new.run), (VERSION, old.version, new.version)):
        if was != will and None not in (was, will):
            found.append(Difference((name,), (name,), was, will))
    replaces = _replacing(old, new)
    made = [(_change(difference, locate), replaces(difference)) for difference in found]
    return Causes(tuple(change for change, _ in made), tuple(change for change, counts in made if counts))


def of_experiment(old: Record, new: Record) -> list[Difference]:
    """Return how two sides of the experiment differ, without defaults if one side cannot be read."""
    readable = old.model is not None and new.model is not None
    was, will = (old.resolved, new.resolved) if readable else (old.experiment, new.experiment)
    return differences(was, will, same=_same_time, ordered=_order_counts)


def _of_environment(old: Record, new: Record, others: bool) -> Iterator[Difference]:
    """others: the experiment has changed too, so that what comes or goes here may follow from it."""
    for found in differences(old.environment, new.environment):
        if others and None in (found.before, found.after) and _of_use(found.keys):
            continue
        yield structs.replace(found, keys=(ENVIRONMENT, *found.keys), place=(ENVIRONMENT, *found.place))


def _of_use(keys: Keys) -> bool:
    """Return True for a whole part that an experiment uses or not: a kind of accelerators, not a field of it."""
    return keys[0] in OF_USE and len(keys) <= 2


def _same_time(keys: Keys, was: Any, will: Any) -> bool:
    if keys not in DURATIONS and not (keys[-1:] == (TIMEOUT,) and "policies" in keys):
        return False
    try:
        return seconds(was) == seconds(will)
    except (TypeError, ValueError):
        return False


def _order_counts(keys: Keys) -> bool:
    """Return True where order reaches the pods: roles order the ranks, and a variable may refer to an earlier one."""
    return keys in (("roles",), ("storage",)) or keys[-1:] == ("env",)


def _replacing(old: Record, new: Record) -> Callable[[Difference], bool]:
    """Return whether a difference can make a new revision; an unknown one can."""
    model = new.model
    scaling = set() if old.model is None or model is None else _scaling(old.model) & _scaling(model)
    in_place = BACKENDS[new.backend].IN_PLACE if new.backend in BACKENDS else ()

    def replaces(found: Difference) -> bool:
        field = None if model is None else field_at(model, found.keys)
        if field is None:  # of the environment, of another version, the number of the run
            return True
        return change_in_job(found.path, on_change(field), scaling, in_place) not in _NEVER_REPLACE

    return replaces


def _scaling(experiment: Experiment) -> set[str]:
    """Return the roles whose replicas no process knows."""
    return {name for name, role in experiment.roles.items() if experiment.elastic or not role.ranked}


def _change(found: Difference, locate: Locate) -> Change:
    was, will = shown(found)
    return Change(place=locate(found.where).model_copy(update={"path": found.path}), before=was, after=will)


def because(changes: Sequence[Change]) -> str:
    """Return the causes as the end of a sentence: "because `image` changes"; empty if there are none."""
    paths = [f"`{change.place.path}`" for change in changes]
    if not paths:
        return ""
    if len(paths) > MOST_NAMED:
        shown_paths = ", ".join(paths[: MOST_NAMED - 1])
        return f"because {shown_paths} and {len(paths) - MOST_NAMED + 1} more fields change"
    return f"because {listed(paths)} {'change' if len(paths) > 1 else 'changes'}"
