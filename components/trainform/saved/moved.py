"""The differences between two lists of facts, in the words of the files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainform.manifests.shapes import mapping
from trainform.review.difference import Difference, differences, shown
from trainform.review.stand_ins import CHANGED_MASK, MASKED
from trainform.saved.facts import Facts
from trainform.saved.model import Fact, Moved, What

PRESENT = "present"
HIDDEN = "(a secret)"
PREFIXES: Mapping[str, str] = {"environment": "environment.", "cluster": "cluster.uid"}
NAMED = ("object", "step")
_HASH = re.compile("[0-9a-f]{64}")
SENTENCES: Mapping[What, str] = {
    "backend": "The states of stacks are kept in another backend.",
    "project": "The project has another name.",
    "cluster": "The kubeconfig leads to another cluster.",
    "engine": "Another version of the engine runs.",
    "trainform": "Another version of trainform runs.",
    "experiment": "The experiment has changed.",
    "environment": "The environment has changed.",
    "config": "The config of the stack has changed.",
    "program": "A file of the program has changed.",
    "policy": "A file of a policy pack has changed.",
    "variable": "A variable of the shell for Pulumi's Kubernetes provider has changed.",
    "state": "The state was written since the review: by an `up`, a `refresh`, an `import` or a `destroy`.",
    "packs": "Other policy packs judge the preview.",
    "object": "An object in the cluster was created, changed or deleted.",
    "step": "The engine would do something else.",
}
"""In the order in which they are reported."""


def moved_backend(saved: Facts, backend: str) -> list[Moved]:
    """Return the difference in the place of the states: without it neither the state nor the key can be read."""
    was = saved["backend"].shown if "backend" in saved else None
    if was == backend:
        return []
    return [Moved(what="backend", path="backend", was=was, now=backend, sentence=SENTENCES["backend"])]


def moved(saved: Facts, now: Facts) -> list[Moved]:
    """Return every difference in the facts of now, which may be some of the saved ones."""
    found = list[Moved]()
    for what, sentence in SENTENCES.items():
        if what in now and what in saved and not (what == "cluster" and saved[what].shown is None):
            found += _moved(what, sentence, saved[what], now[what])
    return found


def _moved(what: What, sentence: str, was: Fact, now: Fact) -> Iterator[Moved]:
    if was.hash == now.hash:
        return
    before, after = was.shown, now.shown
    if what == "object":  # one that could not be read, or that no step touches any more, is not compared
        both = mapping(before).keys() & mapping(after).keys()
        before, after = (
            {key: value for key, value in mapping(side).items() if key in both} for side in (before, after)
        )
    found = differences(before, after)
    if not found and what != "object":
        path = f"{PREFIXES.get(what, '')}{HIDDEN}"
        yield Moved(what=what, path=path, was=MASKED, now=CHANGED_MASK, sentence=sentence)
    for each in found:
        was_shown, now_shown = (_visible(each, value, what) for value in shown(each))
        yield Moved(what=what, path=_path(what, each), was=was_shown, now=now_shown, sentence=sentence)


def _path(what: What, found: Difference) -> str:
    if what in NAMED:
        name, *rest = found.keys
        below = Difference(tuple(rest), tuple(rest), None, None).path
        return f"{name}: {below}" if below else str(name)
    return f"{PREFIXES.get(what, '')}{found.path}" or what


def _visible(found: Difference, value: Any, what: What) -> Any:
    """Hide hashes, and whole files and resources."""
    if isinstance(value, Mapping) and len(found.keys) <= (what in NAMED):
        return PRESENT
    return None if isinstance(value, str) and _HASH.fullmatch(value) else value
