"""pydantic's errors as problems for the user: path, value, reason, fix."""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from trainform.errors import MASK, Problem, shorten
from trainform.secret_text.search import secret_words
from trainform.spec.libyaml import Loader
from trainform.spec.model import models_of
from trainform.spec.names import MEANING
from trainform.spec.nodes import holds_unreadable
from trainform.spec.refusal import REFUSED
from trainform.spec.source import join_path

Path = tuple[str | int, ...]
NOTHING: Mapping[str, str] = MappingProxyType({})

# error type of pydantic -> what follows `the value` in the reason, and the fix; `{…}` are values of its context
REASONS: dict[str, tuple[str, str]] = {
    "string_type": ("must be text", 'put it in quotes: "{value}"'),
    "string_unicode": ("holds half a character, which no encoding knows", "remove it"),
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
MOST_WORDS = 9  # more are not read to the end
WORDS_BEFORE = 64  # of a command, up to the one that is judged
# A text in place of a number is one in quotes if it has digits alone.
_NUMBERS = {"int_type": "a whole number", "float_type": "a number"}
_DIGITS = re.compile(r"[-+]?[0-9]*\.?[0-9]+")
_PERCENT = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?%")
OF_KEYS = ("missing", "extra_forbidden")  # what is wrong about keys is so whatever stands there
WORDS = 'each word as an item of a list, numbers in quotes: [--epochs, "90"]'
LINES = "key: value lines below it"
# Words without a sign that YAML could take for its own; `true`, `1e3` and the like it reads as something else all the same.
_PLAIN = re.compile(r"(-{0,2}[A-Za-z_]|\.{0,2}/)[A-Za-z0-9_/.=+-]*")


def explain(
    kind: type[BaseModel], data: Any, error: ValidationError, written: Mapping[str, str] = NOTHING
) -> list[Problem]:
    """One Problem per mistake. `written`: how values stand in the file, by path, where it is not how they were read. A value that
    cannot be read has its problem already."""
    return [
        _problem(kind, data, detail, written)
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


@dataclasses.dataclass(frozen=True)
class _Mistake:
    """One of pydantic's errors. `value`: as it stands in the file; `shown`: the same as far as a message may show it."""

    kind: type[BaseModel]
    path: Path
    error: Mapping[str, Any]
    value: Any
    shown: str | None

    @property
    def of_key(self) -> bool:
        """True if the key itself is wrong, not what it holds."""
        return "[key]" in self.error["loc"]

    @property
    def context(self) -> dict[str, Any]:
        """The values of the error that reason and fix may name."""
        return {**self.error.get("ctx", {}), "value": "" if self.shown is None else self.shown}

    def problem(self, reason: str, fix: str) -> Problem:
        """The problem for the user; `reason` is a predicate, whose subject is the key or its value."""
        value = self.path[-1] if self.of_key else self.value
        return Problem(join_path(self.path), value, f"the {'key' if self.of_key else 'value'} {reason}", fix)


def _problem(kind: type[BaseModel], data: Any, error: Mapping[str, Any], written: Mapping[str, str]) -> Problem:
    path = locate(data, error)
    where = join_path(path)
    value = error["input"] if "[key]" in error["loc"] else written.get(where, error["input"])
    value = MASK if _is_secret_word(data, path) else value
    mistake = _Mistake(kind, path, error, value, Problem(where, value, "", "").shown_value)
    return _PROBLEMS.get(error["type"], _by_table)(mistake)


def _is_secret_word(data: Any, path: Path) -> bool:
    """True if the value is an item of a list that is a secret by itself, by the option before it, or by its place in a command: [--password, 123],
    [sshpass, -p, 123]."""
    if not path or not isinstance(path[-1], int):
        return False
    index, items = path[-1], data
    for part in path[:-1]:
        items = items[part]
    if not isinstance(items, list):
        return False
    first = max(index + 1 - WORDS_BEFORE, 0)  # each of many mistakes in a long list is looked at by itself
    words = [item if isinstance(item, str) else shorten(item) for item in items[first : index + 1]]
    return len(words) - 1 in secret_words(words)


def _unknown_key(mistake: _Mistake) -> Problem:
    known = list(_known_keys(mistake.kind, mistake.path[:-1]))
    near = difflib.get_close_matches(str(mistake.path[-1]), known, 1)
    fix = f"did you mean {near[0]}?" if near else f"known here: {', '.join(known)}"
    return Problem(join_path(mistake.path), mistake.value, "the key is not known here", fix)


def _missing(mistake: _Mistake) -> Problem:
    key, text = mistake.path[-1], _describe(mistake.kind, mistake.path)
    fix = f"add `{key}:` - {text}" if text else f"add `{key}:`"
    return Problem(join_path(mistake.path), None, "the field is missing", fix)


def _no_match(mistake: _Mistake) -> Problem:
    pattern = mistake.context["pattern"]
    return mistake.problem(*MEANING.get(pattern, (f"does not match {pattern}", "change it to match")))


def _other_word(mistake: _Mistake) -> Problem:
    expected = mistake.context["expected"]
    words = expected.replace("'", "").replace(" or ", ", ").split(", ")
    near = difflib.get_close_matches(str(mistake.value), words, 1)
    many = len(words) > MOST_WORDS  # all of them stand in one place, if at all
    reason = "is none of the words that are known here" if many else f"must be {expected}"
    fix = f"one of {', '.join(words)}" if many else expected
    return mistake.problem(reason, f"did you mean {near[0]}?" if near else f"write {fix}")


def _refused(mistake: _Mistake) -> Problem:
    """What a validator of ours refuses, which says reason and fix itself."""
    value, context = mistake.value, mistake.context
    given = None if isinstance(value, dict | list | BaseModel) else value
    return Problem(join_path(mistake.path), given, context["reason"], context["fix"])


def _no_text(mistake: _Mistake) -> Problem:
    if mistake.shown == MASK:
        return mistake.problem("must be text", "put it in quotes")  # the mask is not what to type
    if isinstance(mistake.error["input"], dict | list):
        example = _example(mistake.kind, mistake.path, None)
        like = f", such as {spelled(example)}" if isinstance(example, str) else ""
        return mistake.problem("must be text", f"write one text in its place{like}")
    return _by_table(mistake)


def _text_instead(mistake: _Mistake) -> Problem:
    """A text where a number or the like is wanted: shown in quotes, since they are what is wrong with it."""
    text = mistake.error["input"]
    quoted = isinstance(text, str) and mistake.shown != MASK
    given = json.dumps(text, ensure_ascii=False) if quoted else mistake.value
    problem = _by_table(dataclasses.replace(mistake, value=given))
    number = _NUMBERS.get(mistake.error["type"])
    if not isinstance(text, str) or number is None or _DIGITS.fullmatch(text) is not None:
        return problem
    percent = _PERCENT.fullmatch(text) if mistake.error["type"] == "float_type" else None
    share = "" if percent is None else f": {Decimal(percent.group(1)) / 100:f}"
    return dataclasses.replace(problem, fix=f"write {number}{share}")


def _by_table(mistake: _Mistake) -> Problem:
    error, value = mistake.error, mistake.value
    example = _example(mistake.kind, mistake.path, value)
    mapping = LINES if example is None else f"it like {spelled(example)}"
    context = {**mistake.context, "list": _listed(value, mistake.shown), "mapping": mapping}
    other = (f"is wrong: {error['msg'].lower()}", "see the field's text in docs/")
    reason, fix = REASONS.get(error["type"], other)
    return mistake.problem(reason.format_map(context), fix.format_map(context))


_PROBLEMS: dict[str, Callable[[_Mistake], Problem]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "string_pattern_mismatch": _no_match,
    "literal_error": _other_word,
    "string_type": _no_text,
    REFUSED: _refused,
    **dict.fromkeys(("int_type", "float_type", "bool_type", "date_type"), _text_instead),
}


def _listed(value: Any, shown: str | None) -> str:
    """The value as the list that was meant: of a text its words, as a shell takes them apart."""
    if shown == MASK:  # the mask is not what to type
        return WORDS
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
