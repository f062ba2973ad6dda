"""Which fields a file has at which place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from trainform.spec.model import models_of

Path = tuple[str | int, ...]
NAME = "NAME"  # stands in places for names of the user's


def places(kind: type[BaseModel], above: str = "", seen: frozenset[Any] = frozenset()) -> Iterator[str]:
    """Every field of the kind by its path, the shortest first; in the order of the fields."""
    below = []
    for name, field in kind.model_fields.items():
        place = f"{above}{name if field.alias is None else field.alias}"
        yield place
        for model, names in _models(field.annotation):
            if model not in seen:
                below.append((model, f"{place}{names}."))
    for model, place in below:
        yield from places(model, place, seen | {kind})


def _models(annotation: Any) -> Iterator[tuple[type[BaseModel], str]]:
    """The models inside an annotation, each with what stands between the field and its own fields: `.NAME` or `[0]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, ""
        return
    names = {dict: f".{NAME}", list: "[0]"}.get(get_origin(annotation), "")
    for argument in get_args(annotation):
        for model, inner in _models(argument):
            yield model, f"{names}{inner}"


def fields_named(models: Iterable[type[BaseModel]], key: str | int) -> list[FieldInfo]:
    """The fields of this name in the file."""
    return [field for model in models for name, field in model.model_fields.items() if key in (name, field.alias)]


def known_keys(kind: type[BaseModel], path: Path) -> dict[str, str]:
    """The keys that the mapping at the path may have, with their texts."""
    models = [kind]
    for part in path:
        fields = fields_named(models, part)
        # a key of a dict field or an index of a list field is not a field: it leads to the same models
        models = [model for field in fields for model in models_of(field.annotation)] if fields else models
    return {
        field.alias if field.alias is not None else name: field.description if field.description is not None else ""
        for model in models
        for name, field in model.model_fields.items()
    }


def annotation_at(kind: type[BaseModel], path: Path) -> Any:
    """The type of the value at the path, with what it must be like; None if no field says it."""
    annotation: Any = kind
    for part in path:
        fields = fields_named(models_of(annotation), part)
        if fields:
            annotation = fields[0].rebuild_annotation()
        else:  # a key of a dict field or an index of a list field
            inner = [found for found in _inside(annotation) if get_origin(found) in (dict, list)]
            annotation = get_args(inner[0])[-1] if inner else None
    return annotation


def patterns(annotation: Any) -> list[str]:
    """The patterns that a text of this type must match."""
    return [part.pattern for part in _constraints(annotation) if getattr(part, "pattern", None) is not None]


def may_be_empty(annotation: Any) -> bool:
    """Whether a text of this type may have no characters."""
    return not any(getattr(part, "min_length", None) for part in _constraints(annotation))


def _constraints(annotation: Any) -> Iterator[Any]:
    """What is said of the type and of its alternatives."""
    for part in _inside(annotation):
        yield from getattr(part, "__metadata__", ())


def _inside(annotation: Any) -> Iterator[Any]:
    """The type and its alternatives, without what is said of them."""
    yield annotation
    within = get_args(annotation)[:1] if hasattr(annotation, "__metadata__") else _alternatives(annotation)
    for part in within:
        yield from _inside(part)


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else ()
