"""The place of a pod in its job (role, index in the role, rank), and the choice of pods by it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.errors import InputError, Problem, list_names
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


def chosen(word: str | None, rank: int | None, known: Sequence[Place]) -> list[Place]:
    """Return the known places that `ROLE`, `ROLE/INDEX` or a rank names; all without them. Raises `InputError` if there
    are none."""
    found = [each for each in known if word in (None, each.role, each.name) and rank in (None, each.rank)]
    if known and not found:
        fix = f"its pods: {list_names([*map(str, known)], MOST)}"
        if rank is not None:
            raise InputError([Problem("--rank", rank, "no such pod has this rank (of pods, not of processes)", fix)])
        names = dict.fromkeys([*(each.role for each in known), *(each.name for each in known)])
        raise InputError([Problem(POD, word, "the job has no such pod", did_you_mean(word or "", [*names]) or fix)])
    return found


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


def running_steps(pods: Sequence[Body]) -> list[str]:
    """Return the names of the steps of `prepare` that run, each once."""
    found = (each for pod in pods for each in mappings(mapping(pod.get("status")).get("initContainerStatuses")))
    return list(dict.fromkeys(str(each.get("name")) for each in found if "running" in mapping(each.get("state"))))
