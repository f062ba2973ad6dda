"""The text of every field as a page: `docs/fields.md`."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.model import models_of

HEADER = """\
# Every field

Written by `make golden` from the models in `components/trainform/spec`. The same texts are in the JSON Schemas that the first line of
each file names, so an editor shows them while you type.
"""


def fields_page() -> str:
    """Markdown: a table per model, in the order in which the files use them."""
    told: set[type[BaseModel]] = set()
    parts = [HEADER]
    for title, kind in (("An experiment", Experiment), ("An environment", Environment)):
        parts.append(f"## {title}\n")
        for model in _reachable(kind):
            if model not in told:
                told.add(model)
                parts.append(_table(model))
    return "\n".join(parts)


def _reachable(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield kind
    for field in kind.model_fields.values():
        for model in models_of(field.annotation):
            yield from _reachable(model)


def _table(model: type[BaseModel]) -> str:
    summary = " ".join((model.__doc__ if model.__doc__ is not None else "").split())
    rows = [f"| `{_name(name, field)}` | {_text(field)} |" for name, field in model.model_fields.items()]
    return "\n".join([f"### {model.__name__}\n", f"{summary}\n", "| field | meaning |", "|---|---|", *rows, ""])


def _name(name: str, field: FieldInfo) -> str:
    return name if field.alias is None else field.alias


def _text(field: FieldInfo) -> str:
    required = "Required. " if field.is_required() else ""
    return required + (field.description if field.description is not None else "").replace("|", "\\|")


if __name__ == "__main__":
    import sys

    sys.stdout.write(fields_page())
