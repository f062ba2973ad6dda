"""What every backend says of itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from trainform.errors import Problem
from trainform.manifests.manifest import Manifest
from trainform.plan.model import Plan, QueuePlan


class Backend(Protocol):
    """One operator. A module is the usual way to be one."""

    API_VERSION: str
    KIND: str
    CRDS: tuple[str, ...]
    """Custom resource definitions that must be in the cluster: `<plural>.<group>`."""

    INDEX_FIELD: str
    """Where the downward API finds a pod's index in its role."""

    SHAPE: dict[str, Any]
    """What a job must look like after a merge patch of the user's (`manifests.shape`)."""

    def problems(self, plan: Plan) -> Iterable[Problem]:
        """What this operator cannot do."""

    def job(self, plan: Plan) -> Manifest:
        """The job object."""

    def queue(self, queue: QueuePlan, labels: dict[str, str]) -> Manifest:
        """The queue object."""

    def replanned(self, rendered: dict[str, Any], patched: dict[str, Any]) -> Iterable[tuple[str, str]]:
        """Path and reason of what a merge patch changes although the plan decides it."""

    def immutable_part(self, job: dict[str, Any]) -> Any:
        """The part of a rendered job that the operator refuses to change in place; its hash is the revision."""
