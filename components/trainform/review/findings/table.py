"""The modules of findings, a category each."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from trainform.review.context import Context
from trainform.review.findings import (
    capacity,
    contract,
    cost,
    data,
    drift,
    environment,
    neighbours,
    promotion,
    restart,
    security,
)
from trainform.review.model import Finding

MODULES = (data, restart, neighbours, security, contract, cost, capacity, drift, promotion, environment)
FINDERS: tuple[Callable[[Context], Iterator[Finding]], ...] = tuple(module.find for module in MODULES)
