"""The pods of each role as rendered, merge patches of the user applied."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from trainform.spec.quantities import amount


@dataclasses.dataclass(frozen=True)
class Template:
    """The pods of one role."""

    role: str
    replicas: int
    min_available: int
    annotations: dict[str, str]
    spec: dict[str, Any]

    @property
    def path(self) -> str:
        """Where the user may have changed what was rendered."""
        return f"roles.{self.role}.pod_overrides"

    def containers(self) -> Iterator[tuple[int | None, dict[str, Any]]]:
        """Index (None for the containers that are no init containers) and container."""
        yield from enumerate(self.spec.get("initContainers", []))
        yield from ((None, container) for container in self.spec.get("containers", []))

    def asks(self, resource: str) -> Decimal:
        """How much of it each pod takes, as the scheduler counts: containers together, or an init container if it takes more;
        an init container that restarts always stays beside the others."""
        beside = most = together = Decimal(0)
        for index, container in self.containers():
            asked = _asks(container, resource)
            if index is None:
                together += asked
            elif container.get("restartPolicy") == "Always":
                beside += asked
                most = max(most, beside)
            else:
                most = max(most, beside + asked)
        return max(most, beside + together)


def _asks(container: dict[str, Any], resource: str) -> Decimal:
    given = container.get("resources", {})
    asked = [given[field][resource] for field in ("requests", "limits") if resource in given.get(field, {})]
    return max((amount(str(quantity)) for quantity in asked), default=Decimal(0))
