"""The fields of a file, by their places in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

Path = tuple[str | int, ...]
NAME = "NAME"  # in places: a name that the user chooses


def places(kind: type[BaseModel], above: str = "", seen: frozenset[Any] = frozenset()) -> Iterator[str]:
    """Yield the path of every field of the kind: the shortest first, then in the order of the fields."""
    below = []
    for name, field in kind.model_fields.items():
        place = f"{above}{name if field.alias is None else field.alias}"
        yield place
        for model, names in _paths_of_models(field.annotation):
            if model not in seen:
                below.append((model, f"{place}{names}."))
    for model, place in below:
        yield from places(model, place, seen | {kind})


def models_of(annotation: Any) -> list[type[BaseModel]]:
    """Return the models inside an annotation such as `dict[str, Role]` or `Network | None`."""
    return [model for model, _ in _paths_of_models(annotation)]


def _paths_of_models(annotation: Any) -> Iterator[tuple[type[BaseModel], str]]:
    """Yield the models inside an annotation, each with the path from the field to the model: "", `.NAME` or `[0]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation, ""
        return
    names = {dict: f".{NAME}", list: "[0]"}.get(get_origin(annotation), "")
    for argument in get_args(annotation):
        for model, inner in _paths_of_models(argument):
            yield model, f"{names}{inner}"


def fields_named(models: Iterable[type[BaseModel]], key: str | int) -> list[FieldInfo]:
    """Return the fields with this name in the file."""
    return [field for model in models for name, field in model.model_fields.items() if key in (name, field.alias)]


def known_keys(kind: type[BaseModel], path: Path) -> dict[str, str]:
    """Return the keys that the mapping at the path may have, with their descriptions."""
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
