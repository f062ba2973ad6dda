"""`trainform render`."""

from __future__ import annotations

from typing import Any

from trainform.cli.results import Result, Results, reads_experiments, show_json
from trainform.console.escaping import escaped
from trainform.console.lines import echo, note


@reads_experiments
def command(found: Results, as_json: bool) -> None:
    """Print the manifests that `pulumi up` applies.

    One YAML document for each object, in the order in which they are created; with --json, one list. Without an
    experiment, the objects of the environment's own stack. `-s STACK` prints exactly what `pulumi up -s STACK` applies.
    Of several experiments or stacks, the documents of one after the other; with --json, one list with an entry for
    each.
    """
    from trainform.manifests.documents import to_yaml

    if as_json:
        note(*(_tried(found.each[0]) if found.each else ()), err=True)
        show_json(found, lambda result: _bodies(result))
        return
    for result in found.checked():
        title = [f"# {result.name} in {result.checked.environment}"] if found.several else []
        echo(*map(escaped, [*title, *_tried(result)]))
        echo(*to_yaml(result.checked.checked().manifests).removesuffix("\n").split("\n"))


def _tried(result: Result) -> list[str]:
    """The line that tells objects with tried values from those of a stack."""
    values = ", ".join(result.tried)
    return [f"# tried with --set {values}: in no file, and `pulumi up` applies other objects"] if values else []


def _bodies(result: Result) -> list[dict[str, Any]]:
    return [manifest.body for manifest in result.checked.checked().manifests]
