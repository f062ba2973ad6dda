"""What every backend says of itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from trainform.errors import Problem
from trainform.manifests.env import Operator
from trainform.manifests.manifest import Manifest
from trainform.plan.model import Plan, QueuePlan


class Backend(Protocol):
    """One operator. A module is the usual way to be one."""

    API_VERSION: str
    KIND: str
    CRDS: tuple[str, ...]
    """Custom resource definitions that must be in the cluster: `<plural>.<group>`."""

    INDEX_LABEL: str
    """The label in which it gives every pod its index in its group."""

    ADDS: str
    """What it puts into pods by itself, for the launch contract."""

    SHAPE: dict[str, Any]
    """What a job must look like after a merge patch of the user's (`manifests.shape`)."""

    def problems(self, plan: Plan) -> Iterable[Problem]:
        """What this operator cannot do."""

    def operator(self, plan: Plan) -> Operator:
        """What pod templates must know of it."""

    def files(self, plan: Plan) -> dict[str, str]:
        """What its templates need beside the plan's own launch files, by name."""

    def job(self, plan: Plan) -> Manifest:
        """The job object."""

    def pods(self, job: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
        """The pods that its controller makes of a rendered job, and the ConfigMaps that these need, by name."""

    def queue(self, queue: QueuePlan, labels: dict[str, str]) -> Manifest:
        """The queue object."""

    def replanned(self, rendered: dict[str, Any], patched: dict[str, Any]) -> Iterable[tuple[str, str]]:
        """Path and reason of what a merge patch changes although the plan decides it."""

    def immutable_part(self, job: dict[str, Any]) -> Any:
        """The part of a rendered job that the operator refuses to change in place; its hash is the revision."""
