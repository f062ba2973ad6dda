"""The place of a pod in its job: role, index in the role, and rank."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.manifests.manifest import mapping
from trainform.plan.record import Record
from trainform.plan.split import split_launcher, split_role
from trainform.plan.world import in_world, rank_offsets


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


def first_ranks(record: Record | None) -> dict[str, int]:
    """Return the rank of the first pod of each role that has ranks; empty if the launcher assigns them."""
    experiment = None if record is None else record.model
    if experiment is None or experiment.elastic:
        return {}
    split = split_role(experiment)
    experiment = experiment if split is None else split_launcher(experiment, split)
    return {name: rank for name, rank in rank_offsets(experiment).items() if in_world(experiment, name)}


def place_of(pod: Mapping[str, Any], ranks: Mapping[str, int]) -> Place:
    """Return the place of a pod. ranks: `first_ranks` of its job."""
    metadata = mapping(pod.get("metadata"))
    labels = mapping(metadata.get("labels"))
    role = str(labels.get(defaults.ROLE_LABEL, ""))
    # the names of a Job's pods have a random end, their hostnames have not
    name = str(mapping(pod.get("spec")).get("hostname", metadata.get("name", "")))
    word = str(labels.get(defaults.REPLICA_LABEL, name.rpartition("-")[2]))
    index = int(word) if word.isdecimal() else 0  # mpi-operator's launcher has no number
    return Place(role, index, ranks[role] + index if role in ranks else None)
