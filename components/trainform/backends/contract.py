"""What every backend says of itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from trainform.backends.support import Fields
from trainform.errors import Problem
from trainform.manifests.env import Operator
from trainform.manifests.manifest import Manifest
from trainform.plan.model import Ending, Plan
from trainform.policy.templates import Template


class Backend(Protocol):
    """One operator. A module is the usual way to be one. The job object is the manifest with the key `job`."""

    INDEX_LABEL: str
    """The label in which it gives every pod its index in its group."""

    ADDS: str
    """What it puts into pods by itself, for the launch contract."""

    ENDS: str
    """By what it ends a job whose other pods would run on, for the comparison of backends."""

    MAKES: str
    """The objects that it is given, for the comparison of backends."""

    ADMISSIONS: tuple[str, ...]
    """What may hold its jobs back until all of them fits, of the environment's `admission`."""

    IN_PLACE: tuple[str, ...]
    """Paths of the job object that change while it runs (`immutable_part`). The hash of everything else is the revision."""

    FIELDS: Fields
    """The experiment's fields that it does in words of its own, or not at all."""

    def crds(self, plan: Plan) -> tuple[str, ...]:
        """Custom resource definitions that must be in the cluster: `<plural>.<group>`."""

    def shapes(self, plan: Plan) -> dict[str, Any]:
        """What objects must look like after a merge patch of the user's (`manifests.shape`), by key."""

    def problems(self, plan: Plan) -> Iterable[Problem]:
        """What this operator cannot do, beyond single fields."""

    def operator(self, plan: Plan) -> Operator:
        """What pod templates must know of it."""

    def files(self, plan: Plan) -> dict[str, str]:
        """What its templates need beside the plan's own launch files, by name."""

    def further(self, plan: Plan) -> list[Manifest]:
        """What must be there before the job."""

    def job(self, plan: Plan) -> Manifest:
        """The job object."""

    def templates(self, plan: Plan, manifests: Sequence[Manifest]) -> list[Template]:
        """The pods of each role, as rendered."""

    def pods(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
        """The pods that its controller makes of the rendered objects, and the ConfigMaps that these need, by name."""

    def endings(self, plan: Plan, manifests: Sequence[Manifest]) -> tuple[Ending, ...]:
        """What ends the job while pods of it still run, as rendered: by the success of which ones."""

    def replanned(self, key: str, rendered: dict[str, Any], patched: dict[str, Any]) -> Iterable[tuple[str, str]]:
        """Path and reason of what a merge patch on an object of `shapes` changes although the plan decides it."""
