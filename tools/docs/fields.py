"""`docs/reference/fields.md` and `docs/reference/environment.md`: tables of every field, generated from the models."""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tools.docs.markdown import page, paragraph, table
from trainform.spec.base_model import Model, OnChange, OneOf, Overlay, Patch, field_text, on_change
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.explain import spelled
from trainform.spec.limits import VolumeType
from trainform.spec.places import models_of
from trainform.spec.quantities import Bytes, Duration, Quantity, SharedMemory, Size

OF_EXPERIMENT = """\
Written by `make golden` from the models in `components/trainform/spec`. Editors show the same texts from the JSON \
Schema that the first line of each file names. What a cluster offers and allows is in [an environment](environment.md).

In the tables `ssh.port` stands for `ssh: {port: 2222}`, and `init[].name` for `init: [{name: first}]`. The column \
`changes` says what a change does to a deployed job; empty, it makes a new revision, with which the job starts again:"""
OF_ENVIRONMENT = """\
Written by `make golden`, and read as the page of [an experiment](fields.md). `NAME` stands for a key of your choice. \
The column `changes` says what a change does:"""
COLUMNS = ("field", "type", "default", "meaning", "changes")
MOST_ROWS = 5
"""A section with as many fields, in one place of the files, is a part of the table above it."""
TYPES: Sequence[tuple[Any, str]] = (
    (Bytes, "bytes (`64Gi`)"),
    (SharedMemory, "bytes (`64Gi`), `unlimited`"),
    (Size, "bytes (`2Ti`)"),
    (Quantity, "quantity (`500m`)"),
    (Duration, "duration (`12h`)"),
    (Patch, "patch"),
    (Overlay, "patch"),
    (VolumeType, "type"),
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "text"),
    (datetime.date, "date"),
)
LONGEST_EXAMPLE = 40
BELOW = {"list": "[].", "map": ".NAME."}
# The words of the column `changes`.
CHANGES = {
    OnChange.NEW_REVISION: "",
    OnChange.NEW_REVISIONS: "revisions",
    OnChange.MOVED_PORTS: "ports",
    OnChange.NEW_OBJECTS: "objects",
    OnChange.IN_PLACE: "in place",
    OnChange.IN_PLACE_BY_BACKEND: "by backend",
    OnChange.IN_PLACE_WITHOUT_RANKS: "by rank",
    OnChange.IN_PLACE_BY_PATCH: "as patched",
    OnChange.GROWS: "grows",
    OnChange.CLAIM_REPLACED: "refused",
    OnChange.CLAIMS_REPLACED: "refused",
    OnChange.REPLACED: "two steps",
    OnChange.OTHER_CLUSTER: "cluster",
    OnChange.NAMESPACE_REPLACED: "replaced",
    OnChange.MADE_OR_REMOVED: "object",
    OnChange.NO_OBJECT: "nothing",
    OnChange.BY_PART: "by field",
}


def experiment_page() -> str:
    """Return the page with every field of an experiment, in the order of the file."""
    return _page("The fields of an experiment", OF_EXPERIMENT, Experiment, "")


def environment_page() -> str:
    """Return the page with every field of an environment that the page of the experiment does not have."""
    return _page("The fields of an environment", OF_ENVIRONMENT, Environment, "fields.md")


def _page(title: str, introduction: str, kind: type[Model], elsewhere: str) -> str:
    tables = _Tables(kind, elsewhere)
    sections = [block for model in tables.models for block in tables.section(model)]
    used = dict.fromkeys(change for model in (*tables.models, *tables.inside) for change in _changes(model))
    legend: dict[str, str] = {}
    for change in used:
        if change.value and CHANGES[change]:
            legend.setdefault(f"`{CHANGES[change]}`", change.value.removeprefix("A change "))
    blocks = map(paragraph, introduction.split("\n\n"))
    return page(f"# {title}", *blocks, table(("changes", "a change"), legend.items()), *sections)


class _Tables:
    """The tables of a page. `elsewhere`: the page of the experiment, which has the models that both files share."""

    def __init__(self, kind: type[Model], elsewhere: str) -> None:
        self._elsewhere = elsewhere
        self._shared = set(_reachable(Experiment)) if elsewhere else set()
        self._uses = Counter(
            used for model in {*_reachable(Experiment), *_reachable(Environment)} for used in _used(model)
        )
        found = [model for model in dict.fromkeys(_reachable(kind)) if model not in self._shared]
        self.inside = [model for model in found if self._is_inside(model)]
        self.models = [model for model in found if model not in self.inside]

    def section(self, model: type[BaseModel]) -> Iterator[str]:
        """Yield heading, text and table of a model."""
        yield f"## {model.__name__}"
        base = _base(model)
        further = "" if base is None else f" It also has the fields of {self._link(base)}."
        yield paragraph(f"{_linked(str(model.__doc__))}{further}")
        yield table(COLUMNS, self._rows(model))

    def _is_inside(self, model: type[BaseModel]) -> bool:
        """Return True for a model that is a part of the table of its only user."""
        return self._uses[model] == 1 and len(_own_fields(model)) <= MOST_ROWS

    def _rows(self, model: type[BaseModel], path: str = "") -> Iterator[tuple[str, ...]]:
        hints = get_type_hints(model, include_extras=True)
        for name, field in _own_fields(model).items():
            where = f"{path}{name if field.alias is None else field.alias}"
            typed = self._type(hints[name])
            example = spelled(field.examples[0]) if field.examples and not models_of(field.annotation) else ""
            if 0 < len(example) <= LONGEST_EXAMPLE:
                typed += f" (`{example}`)"
            meaning, default = _parts(field)
            yield f"`{where}`", typed, default, meaning, CHANGES[on_change(field)]
            for inside in filter(self.inside.__contains__, models_of(field.annotation)):
                yield from self._rows(inside, f"{where}{BELOW.get(typed.split()[-1], '.')}")

    def _type(self, annotation: Any) -> str:
        named = next((name for alias, name in TYPES if annotation == alias or _extends(annotation, alias)), None)
        if named is not None:
            return named
        origin, arguments = get_origin(annotation), [each for each in get_args(annotation) if each is not NoneType]
        if origin is Annotated:
            return self._type(arguments[0])
        if origin in (Union, UnionType):
            return " or ".join(filter(None, map(self._type, arguments)))
        if origin is Literal:
            return ", ".join(f"`{value}`" for value in arguments)
        if origin in (list, dict):
            inner = self._type(arguments[-1]).removesuffix("mapping")
            return f"{inner} {'list' if origin is list else 'map'}".strip()
        base = _base(annotation)
        if annotation in self.inside:
            return "mapping" if base is None else self._link(base)
        return self._link(annotation)

    def _link(self, model: type[BaseModel]) -> str:
        where = self._elsewhere if model in self._shared else ""
        return f"[{model.__name__}]({where}#{model.__name__.lower()})"


def _extends(annotation: Any, alias: Any) -> bool:
    """Return True for an annotated type with more metadata, such as the tag of a branch."""
    known = get_args(alias) if get_origin(alias) is Annotated else ()
    return bool(known) and get_args(annotation)[: len(known)] == known


def _reachable(kind: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield the model and those of its fields, each behind the base that it shares with others."""
    base = _base(kind)
    if base is not None:
        yield base
    yield kind
    for model in _used(kind):
        yield from _reachable(model)


def _used(model: type[BaseModel]) -> list[type[BaseModel]]:
    return [used for field in _own_fields(model).values() for used in models_of(field.annotation)]


def _base(model: type[BaseModel]) -> type[BaseModel] | None:
    """Return the model whose fields the model inherits; None if it inherits none."""
    (base,) = model.__bases__
    return None if base in (Model, OneOf) else base


def _own_fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    base = _base(model)
    inherited = {} if base is None else base.model_fields
    return {name: field for name, field in model.model_fields.items() if name not in inherited}


def _changes(model: type[BaseModel]) -> Iterator[OnChange]:
    yield from map(on_change, _own_fields(model).values())


def _parts(field: FieldInfo) -> tuple[str, str]:
    """Return the meaning of a field and its default, which the editor shows as one text."""
    text = field_text(field).removesuffix(on_change(field).value).strip()
    meaning, default = re.split(r" (?:Default|Empty): ", f"{text} Default: required.")[:2]
    return _linked(meaning), _linked(default.removesuffix("."))


def _linked(text: str) -> str:
    """Return the text with links to the pages that it names."""
    return re.sub(r"docs/(\w+)/(\w+)\.md", _link_to, text)


def _link_to(found: re.Match[str]) -> str:
    folder, name = found.groups()
    return f"[{name}]({'' if folder == 'reference' else f'../{folder}/'}{name}.md)"
