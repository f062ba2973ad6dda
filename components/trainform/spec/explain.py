"""pydantic's errors in the words of the user: path, value, reason, fix."""

from __future__ import annotations

import difflib
import json
import re
import shlex
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from trainform.errors import MASK, Problem
from trainform.spec import quantities
from trainform.spec.libyaml import Loader
from trainform.spec.model import models_of
from trainform.spec.names import MEANING
from trainform.spec.nodes import holds_unreadable
from trainform.spec.source import join_path

Path = tuple[str | int, ...]
NOTHING: Mapping[str, str] = MappingProxyType({})

# error type of pydantic -> reason and fix; `{…}` are values of its context
REASONS: dict[str, tuple[str, str]] = {
    "missing": ("is missing", "add it"),
    "string_type": ("must be text", 'put it in quotes: "{value}"'),
    "string_unicode": ("holds half a character, which is no text", "remove it"),
    "int_type": ("must be a whole number", "write it without quotes and without a fraction"),
    "int_from_float": ("must be a whole number", "remove the fraction"),
    "float_type": ("must be a number", "write it without quotes"),
    "bool_type": ("must be true or false", "write true or false, without quotes"),
    "list_type": ("must be a list", "write {list}"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), ("must be a mapping", "write {mapping}")),
    "date_type": ("must be a date", "write it as 2026-01-31, without quotes"),
    "greater_than_equal": ("is below {ge}", "write {ge} or more"),
    "less_than_equal": ("is above {le}", "write {le} or less"),
    "string_too_long": ("is longer than {max_length} characters", "shorten it to {max_length} characters"),
    "string_too_short": ("is empty", "fill it in or remove it"),
    "too_short": ("has too few entries", "give at least {min_length}"),
    "too_long": ("has more than {max_length} entries", "keep at most {max_length}"),
}
OF_KEYS = ("missing", "extra_forbidden")  # what is wrong about keys is so whatever stands there
HINTS = {
    "is not a duration": quantities.DURATION_HINT,
    "is larger than Kubernetes can hold": "write less than 8Ei",
    "is finer than a thousandth": "round it to three digits, or use the suffix m",
}
WORDS = 'each word as an item of a list, numbers in quotes: [--epochs, "90"]'
LINES = "key: value lines below it"
# Words without a sign that YAML could take for its own; `true`, `1e3` and the like it reads as something else all the same.
_PLAIN = re.compile(r"(-{0,2}[A-Za-z_]|\.{0,2}/)[A-Za-z0-9_/.=+-]*")


def explain(
    kind: type[BaseModel], data: Any, error: ValidationError, written: Mapping[str, str] = NOTHING
) -> list[Problem]:
    """One Problem per mistake. `written`: how values stand in the file, by path, where it is not how they were read. That a value cannot be read
    is told already."""
    return [
        _problem(kind, detail, locate(data, detail), written)
        for detail in error.errors(include_url=False)
        if detail["type"] in OF_KEYS or not holds_unreadable(detail["input"])
    ]


def locate(data: Any, detail: Mapping[str, Any]) -> Path:
    """The path in the user's data; pydantic's own words for union branches and keys are left out."""
    path: list[str | int] = []
    current = data
    loc = detail["loc"]
    for index, part in enumerate(loc):
        last = index == len(loc) - 1
        inside = (isinstance(current, dict) and part in current) or (
            isinstance(current, list) and isinstance(part, int) and part < len(current)
        )
        if inside:
            current = current[part]
            path.append(part)
        elif last and detail["type"] == "missing":
            path.append(part)
    return tuple(path)


def _problem(kind: type[BaseModel], detail: Mapping[str, Any], path: Path, written: Mapping[str, str]) -> Problem:
    where, error_type = join_path(path), detail["type"]
    key_is_wrong = "[key]" in detail["loc"]
    value = detail["input"] if key_is_wrong else written.get(where, detail["input"])
    # a fix repeats the value only as far as a message may show it
    shown = Problem(where, value, "", "").shown_value
    context = {**detail.get("ctx", {}), "value": "" if shown is None else shown}
    if error_type == "extra_forbidden":
        known = list(_known_keys(kind, path[:-1]))
        near = difflib.get_close_matches(str(path[-1]), known, 1)
        fix = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
        return Problem(where, value, "is not a known key", fix)
    if error_type == "string_pattern_mismatch":
        reason, fix = MEANING.get(context["pattern"], (f"does not match {context['pattern']}", "change it to match"))
        return Problem(where, path[-1] if key_is_wrong else value, reason, fix)
    if error_type == "literal_error":
        expected = context["expected"]
        near = difflib.get_close_matches(str(value), expected.replace("'", "").replace(" or ", ", ").split(", "), 1)
        return Problem(where, value, f"must be {expected}", f"did you mean {near[0]}?" if near else f"write {expected}")
    if error_type == "value_error":
        reason, _, fix = str(context["error"]).partition("|")
        fix = fix if fix else HINTS.get(reason, quantities.quantity_hint(str(value)))
        return Problem(where, None if isinstance(value, dict | list | BaseModel) else value, reason, fix)
    if error_type == "missing":
        text = _describe(kind, path)
        return Problem(where, None, "is missing", f"add `{path[-1]}:` - {text}" if text else f"add `{path[-1]}:`")
    if error_type == "string_type" and shown == MASK:
        return Problem(where, value, "must be text", "put it in quotes")  # the mask is not what to type
    example = _example(kind, path, value)
    context |= {"list": _listed(value, shown), "mapping": LINES if example is None else f"it like {spelled(example)}"}
    reason, fix = REASONS.get(error_type, (detail["msg"].lower(), "see the field's text in docs/"))
    return Problem(where, value, reason.format_map(context), fix.format_map(context))


def _listed(value: Any, shown: str | None) -> str:
    """The value as the list that was meant: of a text its words, as a shell takes them apart."""
    if not isinstance(value, str):
        return f"[{shown}]"
    try:
        words = shlex.split(value)
    except ValueError:  # a quotation mark without its other half
        return WORDS
    return as_list(words) if shown == value and words else WORDS


def as_list(words: Iterable[str]) -> str:
    """The words as a list of texts in YAML, in quotes where they would be read as something else."""
    return f"[{', '.join(map(_as_text, words))}]"


def _as_text(word: str) -> str:
    plain = _PLAIN.fullmatch(word) is not None and yaml.load(word, Loader) == word  # noqa: S506 - a safe one
    return word if plain else json.dumps(word, ensure_ascii=False)


def spelled(example: Any) -> str:
    """An example in one line of YAML."""
    if isinstance(example, dict):
        return f"{{{', '.join(f'{key}: {spelled(value)}' for key, value in example.items())}}}"
    if isinstance(example, list):
        return f"[{', '.join(map(spelled, example))}]"
    return _as_text(example) if isinstance(example, str) else json.dumps(example)


def _example(kind: type[BaseModel], path: Path, value: Any) -> Any:
    """What could stand at the path, None where no field has an example: of the key that was written in place of a mapping, else of
    the whole."""
    models, example = [kind], None
    for part in path:
        fields = _fields(models, part)
        if fields:
            models, example = [model for field in fields for model in models_of(field.annotation)], _first(fields)
        elif isinstance(example, dict | list):  # a key of a dict field or an index of a list field
            example = next(iter(example.values() if isinstance(example, dict) else example), None)
    inner = _first(_fields(models, value)) if isinstance(value, str) else None
    return example if inner is None else {value: inner}


def _first(fields: Iterable[FieldInfo]) -> Any:
    return next((example for field in fields if field.examples for example in field.examples), None)


def _fields(models: Iterable[type[BaseModel]], key: str | int) -> list[FieldInfo]:
    """The fields of this name in the file."""
    return [field for model in models for name, field in model.model_fields.items() if key in (name, field.alias)]


def _known_keys(kind: type[BaseModel], path: Path) -> dict[str, str]:
    """The keys that the mapping at the path may have, with their texts."""
    models = [kind]
    for part in path:
        fields = _fields(models, part)
        # a key of a dict field or an index of a list field is not a field: it leads to the same models
        models = [model for field in fields for model in models_of(field.annotation)] if fields else models
    return {
        field.alias if field.alias is not None else name: field.description if field.description is not None else ""
        for model in models
        for name, field in model.model_fields.items()
    }


def _describe(kind: type[BaseModel], path: Path) -> str:
    text = _known_keys(kind, path[:-1]).get(str(path[-1]), "")
    return text.split(". ")[0].rstrip(".")
