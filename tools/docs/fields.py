"""`docs/reference/fields.md` and `docs/reference/environment.md`: the text of every field, generated from the
models."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tools.docs.markdown import item, page, paragraph
from trainform.spec.base_model import models_of
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.metadata import field_text

ORIGIN = """\
Written by `make golden` from the models in `components/trainform/spec`. The same texts are in the JSON Schema that \
the first line of each \
file names, so an editor shows them while you type.

A field without "Required" may be left out. `Default:` is the value that it has then, and `Empty:` says in words what \
holds then."""


def experiment_page() -> str:
    """Markdown: every field of an experiment, in the order in which the file uses them."""
    of_platform = "What a cluster offers and allows is in [an environment](environment.md)."
    return _page("The fields of an experiment", Experiment, of_platform)


def environment_page() -> str:
    """Markdown: every field of an environment."""
    return _page("The fields of an environment", Environment, "What runs is in [an experiment](fields.md).")


def _page(title: str, kind: type[BaseModel], other: str) -> str:
    sections = (block for model in dict.fromkeys(_reachable(kind)) for block in _section(model))
    return page(f"# {title}", *map(paragraph, ORIGIN.split("\n\n")), paragraph(other), *sections)


def _reachable(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield kind
    for field in kind.model_fields.values():
        for model in models_of(field.annotation):
            yield from _reachable(model)


def _section(model: type[BaseModel]) -> Iterator[str]:
    yield f"## {model.__name__}"
    yield paragraph(model.__doc__ if model.__doc__ is not None else "")
    yield "\n".join(item(f"**`{_name(name, field)}`**: {_text(field)}") for name, field in model.model_fields.items())


def _name(name: str, field: FieldInfo) -> str:
    return name if field.alias is None else field.alias


def _text(field: FieldInfo) -> str:
    required = "Required. " if field.is_required() else ""
    below = "".join(f" Fields: [{model.__name__}](#{model.__name__.lower()})." for model in models_of(field.annotation))
    return f"{required}{field_text(field)}{below}"
