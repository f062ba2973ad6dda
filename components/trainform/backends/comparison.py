"""What each operator makes of each field as a page: `docs/backends.md`, written from the tables that refuse and note."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pydantic import BaseModel

from trainform.backends.job import BACKENDS
from trainform.backends.support import Support
from trainform.spec.experiment import Experiment
from trainform.spec.model import models_of

HEADER = """\
# Backends

Written by `make golden` from the tables in `components/trainform/backends`, so it says what is rendered and refused.

`backend:` in an experiment names the operator that runs the job; empty, it is the one of the environment. The experiment stays the same. What an operator
cannot express is refused by `trainform check` where meaning would be lost, and noted by it and by `trainform plan` where it would not.

"yes" means: as [every field](fields.md) describes it.
"""


REPLICAS = """
Labels and annotations of the job change in place everywhere. Replicas, where they stand above, do for roles whose number no process was told: unranked ones, and that of an elastic job
within its bounds.
What other controllers write into a job (Kueue's `suspend` and its entry of `runtimePatches`, defaults of webhooks) is never a change."""

ENDINGS = """
## How a job ends

A job ends when all its pods have succeeded. Where others would run on (SSH servers, parameter servers, extras), it ends with one role: the one that launches, TensorFlow's chief or
else all its workers, or, where the job has extras, the role of rank 0. `trainform plan` reads from the rendered objects, your patches and policies included, what ends the job, and says so where
nothing does. A PyTorchJob differs: with training-operator the end of its Master ends it, and workers that still run are removed.
"""


def comparison_page() -> str:
    """Markdown: what each operator is given, then every field of an experiment."""
    names = list(BACKENDS)
    lines = [
        HEADER,
        "## Operators\n",
        _row(("backend", "makes", "admitted by", "changes in place")),
        _row(("---",) * 4),
    ]
    lines += [
        _row((name, backend.MAKES, ", ".join(backend.ADMISSIONS), ", ".join(f"`{path}`" for path in backend.IN_PLACE)))
        for name, backend in BACKENDS.items()
    ]
    lines += [
        REPLICAS,
        ENDINGS,
        _row(("backend", "where other pods would run on, the job ends by")),
        _row(("---",) * 2),
    ]
    lines += [_row((name, backend.ENDS)) for name, backend in BACKENDS.items()]
    lines += ["\n## Fields\n", _row(("field", *names)), _row(("---",) * (len(names) + 1))]
    lines += [_row((f"`{field}`", *(_cell(field, name) for name in names))) for field in field_paths(Experiment)]
    return "\n".join(lines) + "\n"


def field_paths(kind: type[BaseModel], path: str = "") -> Iterator[str]:
    """Every field that a user may write, `*` for names of the user's own, in the order of the models."""
    for name, field in kind.model_fields.items():
        word = name if field.alias is None else field.alias
        where = f"{path}.{word}" if path else word
        yield where
        below = models_of(field.annotation)
        many = "dict[" in str(field.annotation) or "list[" in str(field.annotation)
        for model in below:
            yield from field_paths(model, f"{where}.*" if many else where)


def _cell(field: str, backend: str) -> str:
    fields = BACKENDS[backend].FIELDS
    parts = field.split(".")
    # what is refused as a whole, is refused in its parts
    above = [".".join(parts[: length + 1]) for length in range(len(parts))]
    found = next((fields[path] for path in above if path in fields and fields[path].fix), fields.get(field))
    return "yes" if found is None else _text(found)


def _text(support: Support) -> str:
    word = "refused: " if support.fix else "noted: " if support.noted else ""
    return f"{word}{support.how}".replace("|", "\\|")


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    import sys

    sys.stdout.write(comparison_page())
