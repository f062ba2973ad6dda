"""Translate errors of pydantic into problems for the user: path, value, reason, fix."""

from __future__ import annotations

import dataclasses
import datetime
import json
import re
import shlex
import sys
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

import yaml
from msgspec import Struct
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from trainform.errors import MASK, InputError, Problem, is_secret_item, shorten
from trainform.spec.base_model import LINE_AS_WORD
from trainform.spec.libyaml import Loader
from trainform.spec.names import MEANING, PORT_RANGE, RESTART, did_you_mean
from trainform.spec.places import fields_named, known_keys, models_of
from trainform.spec.read import holds_unreadable, join_path
from trainform.spec.refusal import REFUSED
from trainform.spec.unknown_keys import key_meant

Path = tuple[str | int, ...]
OF_FILES = (str, int, float, bool, list, dict, datetime.date, BaseModel, type(None))
"""The types of values in files, and models in their place."""
NOTHING: Mapping[str, str] = MappingProxyType({})

# error type of pydantic -> predicate of the reason (`the value …`), and the fix; `{…}` are values of its context
REASONS: dict[str, tuple[str, str]] = {
    "string_type": ("must be text", 'put it in quotes: "{value}"'),
    "int_type": ("must be a whole number", "write a whole number, without quotes"),
    "int_from_float": ("must be a whole number", "write a whole number, without quotes"),
    "float_type": ("must be a number", "write a number, without quotes"),
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
NO_NUMBERS = {"restart": RESTART, "ports": PORT_RANGE}  # fields whose text is no number in quotes
MOST_WORDS = 9  # of a list of allowed values in the reason
ABOUT_KEYS = ("missing", "extra_forbidden")
WORDS = 'each word as an item of a list, numbers in quotes: [--epochs, "90"]'
LINES = "key: value lines below it"
# Signs of a shell: variables, several commands, files by pattern. `$(NAME)` is a variable of Kubernetes as well.
_SHELL = re.compile(r"[$`|&;<>*?~\n]|^\s*[A-Za-z_][A-Za-z0-9_]*=")
_REFERENCE = re.compile(r"\$\([A-Za-z_][A-Za-z0-9_]*\)")
_PLAIN = re.compile(r"(-{0,2}[A-Za-z_]|\.{0,2}/)[A-Za-z0-9_/.=+-]*")  # words without signs of YAML


def explain(
    kind: type[BaseModel], data: Any, error: ValidationError, written: Mapping[str, str] = NOTHING
) -> list[Problem]:
    """Return a problem for each error, except of values that cannot be read. `written`: see `Source`."""
    return [
        _explain(kind, data, detail, written)
        for detail in error.errors(include_url=False)
        if detail["type"] in ABOUT_KEYS or not holds_unreadable(detail["input"])
    ]


def input_error(kind: type[BaseModel], data: Any, error: ValidationError) -> InputError:
    """Return the error of a model that Python code builds, with the model as the source of each problem.

    It is a ValueError, as those of pydantic are. In a Pulumi program it is a `RunError` too, which the engine prints
    without a traceback.
    """
    name = data.get("name") if isinstance(data, dict) else None
    source = f"{kind.__name__} {shorten(name)}" if isinstance(name, str) else kind.__name__
    problems = [
        dataclasses.replace(problem, path=problem.path or source, source=source if problem.path else "")
        for problem in explain(kind, data, error)
    ]
    pulumi = sys.modules.get("pulumi")  # models work without Pulumi
    bases = (InputError, ValueError) if pulumi is None else (InputError, ValueError, pulumi.RunError)
    raised: InputError = type("InputError", bases, {"__module__": InputError.__module__})(problems)
    return raised


def locate(data: Any, detail: Mapping[str, Any]) -> Path:
    """Return the path in the user's data, without pydantic's words for union branches and keys."""
    path: list[str | int] = []
    current = data
    loc = detail["loc"]
    for index, part in enumerate(loc):
        inside = (isinstance(current, dict) and part in current) or (
            isinstance(current, list) and isinstance(part, int) and part < len(current)
        )
        if inside:
            current = current[part]
            path.append(part)
        elif index == len(loc) - 1 and detail["type"] == "missing":
            path.append(part)
    return tuple(path)


class _Mistake(Struct, frozen=True):
    """An error of pydantic. `value`: as written in the file; `shown`: as a message may show it."""

    kind: type[BaseModel]
    path: Path
    error: Mapping[str, Any]
    value: Any
    shown: str | None

    @property
    def is_key_error(self) -> bool:
        """Return True if the key is wrong, and not its value."""
        return "[key]" in self.error["loc"]

    def problem(self, reason: str, fix: str) -> Problem:
        """Return the problem; `reason` is a predicate, whose subject is the key or its value."""
        value = self.path[-1] if self.is_key_error else self.value
        return Problem(join_path(self.path), value, f"the {'key' if self.is_key_error else 'value'} {reason}", fix)


def _explain(kind: type[BaseModel], data: Any, error: Mapping[str, Any], written: Mapping[str, str]) -> Problem:
    path = locate(data, error)
    where = join_path(path)
    value = error["input"] if "[key]" in error["loc"] else written.get(where, error["input"])
    if not isinstance(value, OF_FILES):  # Python code gave it
        reason = f"the value is of the type {type(value).__name__}, which no field holds"
        return Problem(where, None, reason, "write text, a number, true or false, a list or a mapping")
    value = MASK if _is_secret_word(data, path) else value
    mistake = _Mistake(kind, path, error, value, Problem(where, value, "", "").shown_value)
    return _EXPLANATIONS.get(error["type"], _explain_by_table)(mistake)


def _is_secret_word(data: Any, path: Path) -> bool:
    """Return True if the value is a secret in a list of words, such as [--password, 123]."""
    if not path or not isinstance(path[-1], int):
        return False
    items = data
    for part in path[:-1]:
        items = items[part]
    return isinstance(items, list) and is_secret_item(items, path[-1])


def _unknown_key(mistake: _Mistake) -> Problem:
    fix = key_meant(mistake.kind, mistake.path)
    return Problem(join_path(mistake.path), mistake.value, "the key is not known here", fix)


def _missing(mistake: _Mistake) -> Problem:
    key = mistake.path[-1]
    text = known_keys(mistake.kind, mistake.path[:-1]).get(str(key), "").split(". ")[0].rstrip(".")
    fix = f"add `{key}:` - {text}" if text else f"add `{key}:`"
    return Problem(join_path(mistake.path), None, "the field is missing", fix)


def _no_match(mistake: _Mistake) -> Problem:
    pattern = mistake.error["ctx"]["pattern"]
    reason, fix = MEANING.get(pattern, (f"does not match {pattern}", "change it to match"))
    return mistake.problem(reason, fix)


def _no_choice(mistake: _Mistake) -> Problem:
    expected = mistake.error["ctx"]["expected"]
    words = expected.replace("'", "").replace(" or ", ", ").split(", ")
    many = len(words) > MOST_WORDS
    reason = "is not an allowed value" if many else f"must be {expected}"
    choice = f"one of {', '.join(words)}" if many else expected
    return mistake.problem(reason, did_you_mean(str(mistake.value), words) or f"write {choice}")


def _refused(mistake: _Mistake) -> Problem:
    """Return the problem with the reason and the fix of trainform's own validators."""
    value, context = mistake.value, mistake.error["ctx"]
    shown = None if isinstance(value, dict | list | BaseModel) else value
    return Problem(join_path(mistake.path), shown, context["reason"], context["fix"])


def _one_word(mistake: _Mistake) -> Problem:
    """Return the problem of a command whose first word is a whole line."""
    line = mistake.value[0]
    shown = MASK if len(mistake.value) > 1 else Problem(join_path(mistake.path), line, "", "").shown_value
    reason = "is a command whose first word holds a space, and no program is called so"
    return mistake.problem(reason, f"write {_listed(line, shown, of_command=True)}")


def _no_text(mistake: _Mistake) -> Problem:
    if mistake.shown == MASK:
        return mistake.problem("must be text", "put it in quotes")
    if isinstance(mistake.error["input"], dict | list):
        example = _example(mistake.kind, mistake.path, None)
        like = f", such as {spelled(example)}" if isinstance(example, str) else ""
        return mistake.problem("must be text", f"write one text in its place{like}")
    if mistake.path[-1:] and mistake.path[-1] in NO_NUMBERS and mistake.value is not None:
        return mistake.problem(*MEANING[NO_NUMBERS[str(mistake.path[-1])]])
    return mistake.problem("is missing", "fill it in") if mistake.value is None else _explain_by_table(mistake)


def _explain_by_table(mistake: _Mistake) -> Problem:
    error = mistake.error
    example = _example(mistake.kind, mistake.path, mistake.value)
    context = {
        **error.get("ctx", {}),
        "value": "" if mistake.shown is None else mistake.shown,
        "list": _listed(mistake.value, mistake.shown, of_command=mistake.path[-1:] == ("command",)),
        "mapping": LINES if example is None else f"it like {spelled(example)}",
    }
    other = (f"is wrong: {error['msg'].lower()}", "see the field's text in docs/")
    reason, fix = REASONS.get(error["type"], other)
    return mistake.problem(reason.format_map(context), fix.format_map(context))


_EXPLANATIONS: dict[str, Callable[[_Mistake], Problem]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "string_pattern_mismatch": _no_match,
    "literal_error": _no_choice,
    "string_type": _no_text,
    REFUSED: _refused,
    LINE_AS_WORD: _one_word,
}


def _listed(value: Any, shown: str | None, *, of_command: bool) -> str:
    """Return the value as a list: the words of a text, or a shell if only a shell understands it."""
    if shown == MASK:
        return WORDS
    if not isinstance(value, str):
        return f"[{shown}]"
    if shown != value:  # only the beginning of a long text is shown
        return WORDS
    if of_command and _SHELL.search(_REFERENCE.sub("", value)) is not None:
        return as_list(["sh", "-c", value])
    try:
        words = shlex.split(value)
    except ValueError:  # a quotation mark without its other half
        return WORDS
    return as_list(words) if words else WORDS


def as_list(words: Iterable[str]) -> str:
    """Return the words as a list of texts in YAML, in quotes where they would be read as something else."""
    return f"[{', '.join(map(_quote_if_needed, words))}]"


def _quote_if_needed(word: str) -> str:
    plain = _PLAIN.fullmatch(word) is not None and yaml.load(word, Loader) == word  # noqa: S506 - a safe one
    return word if plain else json.dumps(word, ensure_ascii=False)


def spelled(example: Any) -> str:
    """Return an example in one line of YAML."""
    if isinstance(example, dict):
        return f"{{{', '.join(f'{key}: {spelled(value)}' for key, value in example.items())}}}"
    if isinstance(example, list):
        return f"[{', '.join(map(spelled, example))}]"
    return _quote_if_needed(example) if isinstance(example, str) else json.dumps(example)


def _example(kind: type[BaseModel], path: Path, value: Any) -> Any:
    """Return an example for the path, or for the value as a key of it; None if no field has one."""
    models, example = [kind], None
    for part in path:
        fields = fields_named(models, part)
        if fields:
            models, example = [model for field in fields for model in models_of(field.annotation)], _first(fields)
        elif isinstance(example, dict | list):  # a key of a dict field or an index of a list field
            example = next(iter(example.values() if isinstance(example, dict) else example), None)
    inner = _first(fields_named(models, value)) if isinstance(value, str) else None
    return example if inner is None else {value: inner}


def _first(fields: Iterable[FieldInfo]) -> Any:
    return next((example for field in fields if field.examples for example in field.examples), None)
