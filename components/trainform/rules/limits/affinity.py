"""On which nodes pods may land by their node selector and affinity, as far as the labels of the nodes are known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from trainform.manifests.shapes import mapping

STEERING = ("nodeAffinity", "podAffinity")
"""The parts of an affinity that lead pods to some nodes; a preference leads them there too."""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"

# Whether a node with this value of a label may match an expression with these values; None: the node has other labels, which nobody knows.
_MAY_MATCH: Mapping[str, Callable[[str | None, Collection[object]], bool]] = {
    "In": lambda value, values: value is None or value in values,
    "NotIn": lambda value, values: value is None or value not in values,
    "DoesNotExist": lambda value, values: value is None,
}


def steers(affinity: object) -> bool:
    """True if the affinity leads the pods to some nodes."""
    return any(mapping(affinity).get(part) for part in STEERING)


def may_land(selected: Mapping[str, object], affinity: object, labels: Mapping[str, str]) -> bool:
    """Whether pods with this node selector and affinity may land on nodes that have these labels, and perhaps others."""
    if any(selected.get(key, value) != value for key, value in labels.items()):
        return False
    terms = mapping(mapping(mapping(affinity).get(STEERING[0])).get(REQUIRED)).get("nodeSelectorTerms")
    return not isinstance(terms, list) or any(_may_match(term, labels) for term in terms)


def _may_match(term: Any, labels: Mapping[str, str]) -> bool:
    """Whether all expressions of a term may match. Kubernetes matches no node by an empty term; what has another shape than it should may
    match any."""
    if not isinstance(term, dict):
        return True
    expressions = term.get("matchExpressions")
    if not isinstance(expressions, list) or not expressions:
        return bool(term)
    return all(_expression(mapping(expression), labels) for expression in expressions)


def _expression(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    values = expression.get("values")
    may = _MAY_MATCH.get(str(expression.get("operator")))
    return may is None or may(labels.get(str(expression.get("key"))), values if isinstance(values, list) else [])
