"""The pods of each role as rendered, merge patches of the user applied."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from trainform.catalog import defaults
from trainform.spec.quantities import amount

ASKING = ("requests", "limits")


@dataclasses.dataclass(frozen=True)
class Template:
    """The pods of one role, or of one replica that has a template of its own. `body`: metadata and spec."""

    replicas: int
    min_available: int
    body: dict[str, Any]

    @property
    def role(self) -> str:
        """The role, by the label that no merge patch may change."""
        return str(self.body["metadata"]["labels"][defaults.ROLE_LABEL])

    @property
    def annotations(self) -> dict[str, str]:
        """Annotations of the pods."""
        found: dict[str, str] = self.body["metadata"].get("annotations", {})
        return found

    @property
    def spec(self) -> dict[str, Any]:
        """The pods' spec."""
        found: dict[str, Any] = self.body["spec"]
        return found

    @property
    def path(self) -> str:
        """Where the user may have changed what was rendered."""
        return f"roles.{self.role}.pod_overrides"

    def containers(self) -> Iterator[tuple[int | None, dict[str, Any]]]:
        """Index (None for the containers that are no init containers) and container."""
        yield from enumerate(self.spec.get("initContainers", []))
        yield from ((None, container) for container in self.spec.get("containers", []))

    def resources(self) -> set[str]:
        """Everything that a container asks for."""
        given = [container.get("resources", {}) for _, container in self.containers()]
        return {name for fields in given for field in ASKING for name in fields.get(field, {})}

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
    asked = [given[field][resource] for field in ASKING if resource in given.get(field, {})]
    return max((amount(str(quantity)) for quantity in asked), default=Decimal(0))
