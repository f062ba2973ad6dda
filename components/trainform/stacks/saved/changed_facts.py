"""The differences between the facts of a saved review and those of now."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainform.console.secrets import masked_path
from trainform.manifests.differences import Difference, differences
from trainform.manifests.manifest import mapping
from trainform.review.steps import COMPONENT
from trainform.spec.read import join_path
from trainform.stacks.saved.gather import Facts
from trainform.stacks.saved.saved_review import Change, FactKind

PRESENT = "present"
_HASH = re.compile("[0-9a-f]{64}")
SENTENCES: Mapping[FactKind, str] = {
    "backend": "The states of stacks are kept in another backend.",
    "cluster": "The kubeconfig leads to another cluster.",
    "versions": "Another version of Pulumi or of trainform runs.",
    "config": "The config of the stack has changed.",
    "variable": "A variable of the shell for Pulumi's Kubernetes provider has changed.",
    "state": "The state was written since the review: by an `up`, a `refresh`, an `import` or a `destroy`.",
    "object": "An object in the cluster was created, changed or deleted, or a job has started or ended.",
    "step": "`pulumi up` would do something else.",
}
"""In the order in which they are reported."""


def changed_facts(saved: Facts, now: Facts) -> list[Change]:
    """Return every difference in the facts that are on both sides."""
    return [
        Change(
            what=what, path=_path(each, what), was=_visible(each.before), now=_visible(each.after), sentence=sentence
        )
        for what, sentence in SENTENCES.items()
        if what in saved and what in now
        for each in _differences(what, saved[what], now[what])
    ]


def _differences(what: FactKind, before: Any, after: Any) -> Iterator[Difference]:
    if what == "object":  # one that could not be read, or that no step touches any more, is not compared
        both = mapping(before).keys() & mapping(after).keys()
        before, after = ({key: each for key, each in side.items() if key in both} for side in (before, after))
    found = differences(before, after)
    components = {*_components(before), *_components(after)} if what == "step" else ()
    causes = [each for each in found if each.keys and each.keys[0] in components]
    yield from causes or found  # the objects of a component follow from its inputs


def _components(steps: Mapping[str, Any]) -> Iterator[str]:
    return (name for name, step in steps.items() if step["(options)"]["type"].startswith(COMPONENT))


def _path(found: Difference, what: FactKind) -> str:
    name, *rest = found.keys or (what,)
    return masked_path(f"{name}: {join_path(tuple(rest))}" if rest else str(name))


def _visible(value: Any) -> Any:
    """Hide hashes, and whole objects and resources."""
    if isinstance(value, Mapping):
        return PRESENT
    return None if isinstance(value, str) and _HASH.fullmatch(value) else value
