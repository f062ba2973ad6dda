"""All that findings can be: the modules, a category each, and the table of the kinds, from which a page of the
documents is made."""

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
from trainform.review.kinds import Kind
from trainform.review.model import Finding

MODULES = (data, restart, neighbours, security, contract, cost, capacity, drift, promotion, environment)
FINDERS: tuple[Callable[[Context], Iterator[Finding]], ...] = tuple(module.find for module in MODULES)
KINDS: tuple[Kind, ...] = tuple(kind for module in MODULES for kind in module.KINDS)
BY_CODE = {kind.code: kind for kind in KINDS}
