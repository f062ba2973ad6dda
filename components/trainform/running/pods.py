"""The place of a pod in its job (role, index in the role, rank), and the choice of pods by it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.errors import ClusterError, CommandLineError, InputError, Problem, list_names
from trainform.manifests.manifest import mapping, mappings
from trainform.plan.record import Record
from trainform.plan.split_launcher import split_launcher, split_role
from trainform.plan.world import in_world, rank_offsets
from trainform.running.snapshot import Body, Snapshot
from trainform.spec.experiment import Experiment
from trainform.spec.names import did_you_mean

POD = "ROLE[/INDEX]"
MOST = 8  # names in a fix


class Place(Struct, frozen=True, order=True):
    """The place of a pod. rank: None if the plan assigns none."""

    role: str
    index: int
    rank: int | None = None

    def __str__(self) -> str:
        """Return the words that name it for a person: `worker/3 rank 4`."""
        return self.name if self.rank is None else f"{self.name} rank {self.rank}"

    @property
    def name(self) -> str:
        """Return the word that names it on the command line: `worker/3`."""
        return f"{self.role}/{self.index}"


class Choice(Struct, frozen=True):
    """The pods that the words of a command name: by role, index and rank, of which any may be missing."""

    role: str = ""
    index: int | None = None
    rank: int | None = None

    def fits(self, place: Place) -> bool:
        """Return True if the place is one of those that are named."""
        role, index, rank = self.role or place.role, self.index, self.rank
        return role == place.role and index in (None, place.index) and rank in (None, place.rank)


def choose(word: str | None, rank: int | None, places: Iterable[Place]) -> Choice:
    """Return the choice of `ROLE`, `ROLE/INDEX` or a rank among the places of a job. Raises `InputError` if it names
    none of them. The check is left out if no place is known."""
    role, slash, index = (word or "").partition("/")
    known = sorted(places, key=lambda place: (place.role, place.index))
    choice = Choice(role, int(index) if index.isdecimal() else None, rank)
    if known and (not any(map(choice.fits, known)) or bool(slash) != index.isdecimal()):
        raise InputError([_no_such_pod(word, rank, known)])
    return choice


def _no_such_pod(word: str | None, rank: int | None, known: Sequence[Place]) -> Problem:
    names = [place.name for place in known]
    if rank is None:
        near = did_you_mean(word or "", [*{place.role: place for place in known}, *names])
        return Problem(POD, word, "the job has no such pod", near or f"its pods: {list_names(names, MOST)}")
    ranked = [place for place in known if place.rank is not None]
    reason = "no such pod has this rank" if ranked else "the launcher assigns the ranks of this job"
    return Problem("--rank", rank, reason, f"name a pod: {list_names([*map(str, ranked)] or names, MOST)}")


def _planned(record: Record | None) -> Experiment | None:
    """Return the experiment with the roles of its plan."""
    experiment = None if record is None else record.model
    split = None if experiment is None else split_role(experiment)
    return experiment if experiment is None or split is None else split_launcher(experiment, split)


def first_ranks(record: Record | None) -> dict[str, int]:
    """Return the rank of the first pod of each role that has ranks; empty if the launcher assigns them."""
    experiment = _planned(record)
    if experiment is None or experiment.elastic:
        return {}
    return {name: rank for name, rank in rank_offsets(experiment).items() if in_world(experiment, name)}


def places(record: Record | None) -> list[Place]:
    """Return the places of all pods of the job, in order of its plan; empty if they are unknown."""
    experiment, ranks = _planned(record), first_ranks(record)
    roles = {} if experiment is None else experiment.roles
    return [_place(name, index, ranks) for name, role in roles.items() for index in range(role.replicas)]


def known_places(snapshot: Snapshot) -> list[Place]:
    """Return the places of the pods that the job has or should have."""
    ranks = first_ranks(snapshot.record)
    return list(dict.fromkeys([*places(snapshot.record), *(place_of(pod, ranks) for pod in snapshot.pods)]))


def place_of(pod: Mapping[str, Any], ranks: Mapping[str, int]) -> Place:
    """Return the place of a pod. ranks: `first_ranks` of its job."""
    metadata = mapping(pod.get("metadata"))
    labels = mapping(metadata.get("labels"))
    role = str(labels.get(defaults.ROLE_LABEL, ""))
    # the names of a Job's pods have a random end, their hostnames have not
    name = str(mapping(pod.get("spec")).get("hostname", metadata.get("name", "")))
    word = str(labels.get(defaults.REPLICA_LABEL, name.rpartition("-")[2]))
    return _place(role, int(word) if word.isdecimal() else 0, ranks)  # mpi-operator's launcher has no number


def _place(role: str, index: int, ranks: Mapping[str, int]) -> Place:
    return Place(role, index, ranks[role] + index if role in ranks else None)


def containers_of(pod: Body) -> list[str]:
    """Return the names of the containers, first the main one, and those of the steps before it."""
    spec = mapping(pod.get("spec"))
    return [str(each.get("name")) for field in ("containers", "initContainers") for each in mappings(spec.get(field))]


def only_pod(snapshot: Snapshot, word: str | None, rank: int | None) -> Body:
    """Return the pod that runs at the place that the words name. Raises `CommandLineError` if they name several places,
    `ClusterError` if no pod runs there."""
    ranks, known = first_ranks(snapshot.record), known_places(snapshot)
    fitting = list(filter(choose(word, rank, known).fits, known))
    if len(fitting) > 1:
        names = list_names([place.name for place in fitting], MOST)
        raise CommandLineError(f"{word} has {len(fitting)} pods", f"name one of them: {names}")
    phases = {
        str(mapping(pod.get("status")).get("phase")): pod for pod in snapshot.pods if place_of(pod, ranks) in fitting
    }
    if "Running" not in phases:
        state = list_names(phases) or "it does not exist"
        raise ClusterError(f"the pod {fitting[0]} does not run: {state}", "`trainform status` shows why")
    return phases["Running"]
