"""Metadata of fields for docs and schemas: the default, and the effect of a change."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined


class OnChange(enum.Enum):
    """The effect of a change of a field, as a sentence for the docs.

    A field has it as `json_schema_extra`, so that pydantic calls it for the JSON Schema. Tests compare it with
    `trainform.job.revision`, without the record in the job object, which follows every change.
    """

    NEW_REVISION = "A change makes a new revision."
    NEW_REVISIONS = "A change makes a new revision of each job that uses it."
    MOVED_PORTS = "A change makes a new revision of each job whose ports it moves."
    NEW_OBJECTS = "A change makes new objects."
    IN_PLACE = "A change updates the object in place."
    IN_PLACE_BY_BACKEND = "A change updates the job in place where its backend can; elsewhere it makes a new revision."
    IN_PLACE_WITHOUT_RANKS = (
        "A change updates the job in place where no process knows the number (an unranked role, or an elastic job "
        "within its bounds) and its backend can; elsewhere it makes a new revision."
    )
    IN_PLACE_BY_PATCH = "A change does what a change of the patched field does."
    GROWS = "Growing it updates the claim in place; Kubernetes refuses to shrink a claim."
    CLAIM_REPLACED = "A change is refused where the claim exists: it would replace the claim and delete its data."
    CLAIMS_REPLACED = (
        "A change is refused where a claim of the class exists: it would replace the claim and delete its data."
    )
    REPLACED = "Kubernetes refuses a change: the preview says how to replace the object in two steps."
    ALL_REPLACED = "A change replaces every object."
    NAMESPACE_REPLACED = "A change replaces every object of the namespace."
    MADE_OR_REMOVED = "A change makes the object, or removes it."
    NO_OBJECT = "A change leaves what runs as it is."
    BY_PART = ""  # each field of the section has its own

    def __call__(self, schema: dict[str, Any]) -> None:
        """Complete the description in the field's JSON Schema."""
        default = schema.get("default", PydanticUndefined)
        schema["description"] = _sentences(schema.get("description"), default, self)


def on_change(field: FieldInfo) -> OnChange:
    """Return the effect of a change of the field. Raises `TypeError` if the field has none."""
    if not isinstance(field.json_schema_extra, OnChange):
        raise TypeError(f"the field has no OnChange: {field.description}")
    return field.json_schema_extra


def field_text(field: FieldInfo) -> str:
    """Return the whole text of a field: its description, its default and the effect of a change."""
    return _sentences(field.description, field.get_default(), on_change(field))


def set_fields(model: BaseModel, path: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Yield the path and the field of each value that differs from its default; for a section, those inside it."""
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if value != field.get_default():
            where = name if field.alias is None else field.alias
            yield from _set_fields(value, f"{path}.{where}" if path else where, field)


def _set_fields(value: Any, path: str, field: FieldInfo) -> Iterator[tuple[str, FieldInfo]]:
    parts = {path: value}
    if isinstance(value, dict):
        parts = {f"{path}.{key}": item for key, item in value.items()}
    elif isinstance(value, list):
        parts = {f"{path}[{index}]": item for index, item in enumerate(value)}
    sections = [(where, part) for where, part in parts.items() if isinstance(part, BaseModel)]
    if len(sections) < len(parts) or not parts:
        yield path, field
    for where, section in sections:
        yield from set_fields(section, where)


def _sentences(meaning: str | None, default: Any, change: OnChange) -> str:
    meaning = "" if meaning is None else meaning
    return " ".join(text for text in (meaning, _default_sentence(meaning, default), change.value) if text)


def _default_sentence(meaning: str, default: Any) -> str:
    """Return the sentence; "" for a required field, for a section, and if the description has `Empty: `."""
    section = isinstance(default, BaseModel) or (isinstance(default, dict) and default)
    if default is PydanticUndefined or section or (default in (None, [], {}) and "Empty: " in meaning):
        return ""
    if default in (None, [], {}):
        return "Default: none."
    if isinstance(default, list):
        return f"Default: {', '.join(f'`{item}`' for item in default)}."
    return f"Default: `{str(default).lower() if isinstance(default, bool) else default}`."


def field_at(model: BaseModel, keys: Iterable[str | int]) -> FieldInfo | None:
    """Return the field at the keys, which are those of the file; None if there is no such field. Keys inside a merge
    patch, or inside a value that is not set, lead to the field with that patch or value."""
    field: FieldInfo | None = None
    value: Any = model
    for key in keys:
        if isinstance(value, BaseModel):
            fields = type(value).model_fields
            name = next((name for name in fields if key in (fields[name].alias, name)), None)
            if name is None:
                return None
            field, value = fields[name], getattr(value, name)
        elif isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list):
            named = {getattr(item, "name", index): item for index, item in enumerate(value)}
            value = named.get(key)
        else:
            return field
    return field
