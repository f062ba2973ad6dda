"""`trainform render`."""

from __future__ import annotations

from trainform.cli.results import Result, Results, reads_experiments, show_json
from trainform.console.lines import echo, escaped, note


@reads_experiments
def command(results: Results, as_json: bool) -> None:
    """Print the manifests that `pulumi up` applies.

    One YAML document for each object, in the order in which they are created; with --output json, one list. Without an
    experiment, it prints the objects of the environment's own stack. A stack is printed exactly as `pulumi up -s
    STACK` applies it. With --output json, several experiments or stacks are one list with an entry for each.
    """
    from trainform.manifests.manifest import to_yaml

    if as_json:
        note(*(_tried(results.each[0]) if results.each else ()), err=True)
        show_json(results, lambda result: [manifest.body for manifest in result.checked.or_raise().manifests])
        return
    for result in results.or_raise():
        title = [f"# {result.name} in {result.checked.environment}"] if results.several else []
        echo(*map(escaped, [*title, *_tried(result)]))
        echo(*to_yaml(result.checked.or_raise().manifests).removesuffix("\n").split("\n"))


def _tried(result: Result) -> list[str]:
    """Return the comment that marks objects rendered with `--set`."""
    values = ", ".join(result.tried)
    return [f"# tried with --set {values}: in no file, and `pulumi up` applies other objects"] if values else []
