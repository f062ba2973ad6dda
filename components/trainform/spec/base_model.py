"""The base of every model (frozen, strict, unknown keys refused), and metadata of fields for docs and schemas.

The modules of the models have no `from __future__ import annotations`: pydantic would compile texts at each start.
"""

import datetime
import enum
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, StringConstraints, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError, PydanticUndefined, ValidationError

from trainform import defaults
from trainform.spec.refusal import refusal


class OnChange(enum.Enum):
    """The effect of a change of a field, as a sentence for the docs.

    A field has it as `json_schema_extra`, so that pydantic calls it for the JSON Schema. Tests compare it with
    `trainform.job.render`, without the record in the job object, which follows every change.
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
    OTHER_CLUSTER = "A change to another cluster is refused while a stack has objects on the old one."
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
    """Yield the path and the field of each value that differs from its default; for a section, those inside it. path:
    the beginning of all paths, with a dot at its end."""
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        if value == field.get_default():
            continue
        where = f"{path}{name if field.alias is None else field.alias}"
        parts = {where: value}
        if isinstance(value, dict):
            parts = {f"{where}.{key}": item for key, item in value.items()}
        elif isinstance(value, list):
            parts = {f"{where}[{index}]": item for index, item in enumerate(value)}
        sections = {place: part for place, part in parts.items() if isinstance(part, BaseModel)}
        if len(sections) < len(parts) or not parts:
            yield where, field
        for place, section in sections.items():
            yield from set_fields(section, f"{place}.")


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


class Model(BaseModel):
    """A strict model: `replicas: "3"` is an error, and never read as 3.

    `on_change` of a subclass is the effect of a change of its fields, unless a field has another `OnChange`.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        populate_by_name=True,
        regex_engine="python-re",
        allow_inf_nan=False,
        hide_input_in_errors=True,  # secrets may be in it; `explain` shows what may be seen
        # build validators for the models of the two files only, each with its parts: saves a third of `check`
        defer_build=True,
    )

    def __init__(self, /, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise _input_error(type(self), data, error) from None

    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]  # pydantic builds parts of a model without it

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """Return the data as a model. Raises `InputError`, as the constructor does."""
        try:
            return super().model_validate(obj, **options)
        except ValidationError as error:
            raise _input_error(cls, obj, error) from None

    def __init_subclass__(cls, **_: Any) -> None:
        super().__init_subclass__()  # `on_change` is for the method below

    @classmethod
    def __pydantic_init_subclass__(cls, on_change: OnChange | None = None, **kwargs: Any) -> None:
        for field in cls.model_fields.values():
            field.json_schema_extra = on_change if field.json_schema_extra is None else field.json_schema_extra

    def user_set(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, as plain data under the names of the file."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _input_error(kind: type[BaseModel], data: Any, error: ValidationError) -> Exception:
    from trainform.spec.explain import input_error  # which needs the models

    return input_error(kind, data, error)


class OneOf(Model):
    """A model in which exactly one of the fields `one_of` is set; its schema tells editors too."""

    one_of: ClassVar[tuple[str, ...]]

    @classmethod
    def __pydantic_init_subclass__(cls, on_change: OnChange | None = None, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(on_change, **kwargs)
        cls.model_config["json_schema_extra"] = only_one(cls.one_of)

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = [name for name in self.one_of if getattr(self, name) is not None]
        if len(given) != 1:
            known = ", ".join(self.one_of)
            reason = f"the mapping has {' and '.join(given)} together" if given else f"the mapping has none of {known}"
            raise refusal(reason, f"write exactly one of {known}")
        return self


def only_one(names: tuple[str, ...]) -> Any:
    """Return the JSON Schema for "exactly one of these keys", for editors."""
    return {"oneOf": [{"required": [name]} for name in names]}


def _text(value: str) -> str:
    if "\0" in value:
        raise refusal("the text holds a NUL character, which no process can be given", "remove it")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise refusal("the text holds half a character, which no encoding knows", "remove it") from None
    return value


def added_later(default: Any = None, **settings: Any) -> Any:
    """Return a field that is left out while it has its default, since records and releases of earlier versions do not
    have it."""
    return Field(default=default, exclude_if=lambda value: bool(value == default), **settings)


LINE_AS_WORD = "line_as_word"
"""The error type of `command: [python train.py]`; `explain` splits the line into words."""


def _program(words: list[str]) -> list[str]:
    if not words[0]:
        raise refusal("the command starts with an empty word", "write the program first")
    if not words[0].startswith("/") and any(map(str.isspace, words[0])):
        raise PydanticCustomError(LINE_AS_WORD, "the first word of the command holds a space")
    return words


def _plain(what: str, kinds: tuple[type, ...]) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return a validator that refuses values that JSON cannot hold, such as `.inf` and `!!binary` of YAML. `kinds`: the
    types that are allowed in addition to texts, lists and mappings."""

    def check(value: Any, levels: int = defaults.DEEPEST) -> Any:
        if levels < 0:
            raise refusal(f"the {what} is nested deeper than {defaults.DEEPEST} levels", "flatten it")
        if isinstance(value, dict):
            for key, item in value.items():
                if not isinstance(key, str):
                    raise refusal(f"the key {key!r} is not text", "put it in quotes")
                _text(key)
                check(item, levels - 1)
        elif isinstance(value, list):
            for item in value:
                check(item, levels - 1)
        elif isinstance(value, float) and not math.isfinite(value):
            fix = "write a finite number, or text in quotes"
            raise refusal(f"the {what} holds {value}, which JSON does not know", fix)
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            fix = "write a smaller one, or text in quotes"
            raise refusal(f"the {what} holds a whole number of more than 64 bits", fix)
        elif isinstance(value, str):
            _text(value)
        elif value is not None and not isinstance(value, kinds):
            raise refusal(f"the {what} holds a {type(value).__name__}, which JSON does not know", "put it in quotes")
        return value

    return check


Text = Annotated[str, AfterValidator(_text)]
"""An argument or a variable of a process."""

NonEmpty = Annotated[str, StringConstraints(min_length=1), AfterValidator(_text)]
Command = Annotated[list[Text], Field(min_length=1), AfterValidator(_program)]
"""A program and its arguments, which may be empty."""

Patch = Annotated[dict[str, Any], AfterValidator(_plain("patch", (bool, int, float)))]
"""A merge patch (RFC 7386)."""

Overlay = Annotated[dict[str, Any], AfterValidator(_plain("overlay", (bool, int, float, datetime.date)))]
"""A merge patch on an experiment, which has dates too."""

# Tags of a field that is either one word or a mapping. The shape of the value selects the branch, so that a mistake is
# reported once, for the intended branch. The brackets keep a tag from being read as a key of the user's.
TEXT, MAPPING = "(text)", "(mapping)"
value_shape = Discriminator(lambda value: MAPPING if isinstance(value, dict | BaseModel) else TEXT)
