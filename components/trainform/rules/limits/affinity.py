"""On which nodes pods may land by their node selector and affinity: where all labels of a node are known, and where some are."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from trainform.manifests.shapes import mapping

STEERING = ("nodeAffinity", "podAffinity")
"""The parts of an affinity that lead pods to some nodes; a preference leads them there too."""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

Operators = Mapping[str, Callable[[str | None, Collection[object]], bool]]
"""Whether a node with this value of a label matches an expression with these values; None: it has no such label. What is not in the table matches."""

# None: the node has other labels, which nobody knows.
_MAY_MATCH: Operators = {
    "In": lambda value, values: value is None or value in values,
    "NotIn": lambda value, values: value is None or value not in values,
    "DoesNotExist": lambda value, values: value is None,
}
_MATCHES: Operators = {
    "In": lambda value, values: value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, values: value is not None,
    "DoesNotExist": lambda value, values: value is None,
    "Gt": lambda value, values: any(low < high for low, high in _numbers(values, [value])),
    "Lt": lambda value, values: any(low < high for low, high in _numbers([value], values)),
}
NAME_FIELD = "metadata.name"


def steers(affinity: object) -> bool:
    """True if the affinity leads the pods to some nodes."""
    return any(mapping(affinity).get(part) for part in STEERING)


def may_land(selected: Mapping[str, object], affinity: object, labels: Mapping[str, str]) -> bool:
    """Whether pods with this node selector and affinity may land on nodes that have these labels, and perhaps others."""
    if any(selected.get(key, value) != value for key, value in labels.items()):
        return False
    return _by_terms(affinity, _MAY_MATCH, labels, {})


def lands(affinity: object, name: str, labels: Mapping[str, str]) -> bool:
    """Whether the affinity lets pods on the node of this name that has these labels and no others."""
    return _by_terms(affinity, _MATCHES, labels, {NAME_FIELD: name})


def _by_terms(affinity: object, operators: Operators, labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
    terms = mapping(mapping(mapping(affinity).get(STEERING[0])).get(REQUIRED)).get("nodeSelectorTerms")
    return not isinstance(terms, list) or any(_matches(term, operators, labels, fields) for term in terms)


def _matches(term: Any, operators: Operators, labels: Mapping[str, str], fields: Mapping[str, str]) -> bool:
    """Whether all expressions of a term match. Kubernetes matches no node by an empty term; what has another shape than it should may match any."""
    if not isinstance(term, dict):
        return True
    of_labels, of_fields = (_expressions(term, part) for part in ("matchExpressions", "matchFields"))
    by_labels = all(_expression(each, operators, labels) for each in of_labels)
    return bool(term) and by_labels and all(_expression(each, operators, fields) for each in of_fields)


def _expressions(term: Mapping[str, Any], part: str) -> list[Any]:
    found = term.get(part)
    return found if isinstance(found, list) else []


def _expression(expression: Any, operators: Operators, labels: Mapping[str, str]) -> bool:
    values = mapping(expression).get("values")
    matches = operators.get(str(mapping(expression).get("operator")))
    return matches is None or matches(
        labels.get(str(mapping(expression).get("key"))), values if isinstance(values, list) else []
    )


def _numbers(low: Collection[object], high: Collection[object]) -> Iterator[tuple[int, int]]:
    """The pairs that are whole numbers; Kubernetes compares no others."""
    for one in low:
        for other in high:
            if str(one).removeprefix("-").isdecimal() and str(other).removeprefix("-").isdecimal():
                yield int(str(one)), int(str(other))
