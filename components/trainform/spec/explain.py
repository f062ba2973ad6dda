"""pydantic's errors as problems for the user: path, value, reason, fix."""

from __future__ import annotations

import dataclasses
import datetime
import difflib
import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import yaml
from msgspec import Struct, structs
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from trainform.errors import MASK, Problem, is_secret_item
from trainform.spec.dates import day_meant
from trainform.spec.libyaml import Loader
from trainform.spec.model import LINE_AS_WORD, models_of
from trainform.spec.names import MEANING, matches
from trainform.spec.nodes import holds_unreadable
from trainform.spec.places import annotation_at, fields_named, known_keys, may_be_empty, patterns
from trainform.spec.refusal import REFUSED
from trainform.spec.source import join_path
from trainform.spec.unknown_keys import key_meant, wrong_name_meant

Path = tuple[str | int, ...]
NOTHING: Mapping[str, str] = MappingProxyType({})

# error type of pydantic -> what follows `the value` in the reason, and the fix; `{…}` are values of its context
REASONS: dict[str, tuple[str, str]] = {
    "string_type": ("must be text", 'put it in quotes: "{value}"'),
    "string_unicode": ("holds half a character, which no encoding knows", "remove it"),
    "int_type": ("must be a whole number", "write a whole number"),
    "int_from_float": ("must be a whole number", "write a whole number"),
    "float_type": ("must be a number", "write a number"),
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
_PERCENT = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?%")
_NUMBER = re.compile(r"[-+]?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})(e[-+]?[0-9]{1,2})?", re.IGNORECASE)
OF_KEYS = ("missing", "extra_forbidden")  # what is wrong about keys is so whatever stands there
WORDS = 'each word as an item of a list, numbers in quotes: [--epochs, "90"]'
LINES = "key: value lines below it"
# What a shell makes something of: variables, several commands, files by pattern; `$(NAME)` is a variable of Kubernetes' as well.
_OF_SHELL = re.compile(r"[$`|&;<>*?~\n]|^\s*[A-Za-z_][A-Za-z0-9_]*=")
_REFERENCE = re.compile(r"\$\([A-Za-z_][A-Za-z0-9_]*\)")
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


class _Mistake(Struct, frozen=True):
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
    return isinstance(items, list) and is_secret_item(items, index)


def _unknown_key(mistake: _Mistake) -> Problem:
    return Problem(
        join_path(mistake.path), mistake.value, "the key is not known here", key_meant(mistake.kind, mistake.path)
    )


def _missing(mistake: _Mistake) -> Problem:
    key, text = mistake.path[-1], _describe(mistake.kind, mistake.path)
    fix = f"add `{key}:` - {text}" if text else f"add `{key}:`"
    return Problem(join_path(mistake.path), None, "the field is missing", fix)


def _no_match(mistake: _Mistake) -> Problem:
    reason, fix = _meaning(mistake.context["pattern"])
    meant = wrong_name_meant(mistake.kind, mistake.path) if mistake.of_key else None
    return mistake.problem(reason, fix if meant is None else meant)


def _other_word(mistake: _Mistake) -> Problem:
    expected = mistake.context["expected"]
    words = expected.replace("'", "").replace(" or ", ", ").split(", ")
    near = difflib.get_close_matches(str(mistake.value), words, 1)
    many = len(words) > MOST_WORDS  # all of them stand in one place, if at all
    reason = "is none of the words that are known here" if many else f"must be {expected}"
    fix = f"one of {', '.join(words)}" if many else expected
    return mistake.problem(reason, f"did you mean {near[0]}?" if near else f"write {fix}{_place_of_numbers(mistake)}")


def _place_of_numbers(mistake: _Mistake) -> str:
    """Where a number stands that was written in the place of a word: in the field of one such thing, as `port` is beside `ports`."""
    *above, field = mistake.path
    one = str(field).removesuffix("s")
    if (
        isinstance(mistake.error["input"], int)
        and str(mistake.value).isdecimal()
        and one != field
        and one in known_keys(mistake.kind, tuple(above))
    ):
        return f"; a number is written as `{join_path((*above, one))}`"
    return ""


def _refused(mistake: _Mistake) -> Problem:
    """What a validator of ours refuses, which says reason and fix itself."""
    value, context = mistake.value, mistake.context
    given = None if isinstance(value, dict | list | BaseModel) else value
    return Problem(join_path(mistake.path), given, context["reason"], context["fix"])


def _one_word(mistake: _Mistake) -> Problem:
    """A command whose first word is a whole line."""
    line = mistake.value[0]
    shown = MASK if len(mistake.value) > 1 else Problem(join_path(mistake.path), line, "", "").shown_value
    reason = "is a command whose first word holds a space, and no program is called so"
    return mistake.problem(reason, f"write {_listed(line, shown, of_command=True)}")


def _no_text(mistake: _Mistake) -> Problem:
    if mistake.shown == MASK:
        return mistake.problem("must be text", "put it in quotes")  # the mask is not what to type
    if isinstance(mistake.error["input"], dict | list):
        example = _example(mistake.kind, mistake.path, None)
        like = f", such as {spelled(example)}" if isinstance(example, str) else ""
        return mistake.problem("must be text", f"write one text in its place{like}")
    unfit = _unfit(mistake)
    return _by_table(mistake) if unfit is None else mistake.problem(*unfit)


def _unfit(mistake: _Mistake) -> tuple[str, str] | None:
    """Why quotes would not help: the field takes other texts than the one that stands there."""
    if mistake.of_key:
        return None
    wanted, nothing = annotation_at(mistake.kind, mistake.path), mistake.value is None
    text = "" if nothing else str(mistake.value)
    failed = [_meaning(pattern) for pattern in patterns(wanted) if not matches(pattern, text)]
    if failed:
        return ("is missing", failed[0][1]) if nothing else failed[0]
    return ("is missing", "fill it in") if nothing and not may_be_empty(wanted) else None


def _meaning(pattern: str) -> tuple[str, str]:
    return MEANING.get(pattern, (f"does not match {pattern}", "change it to match"))


def _text_instead(mistake: _Mistake) -> Problem:
    """A text where a number or the like is wanted: shown in quotes, since they are what is wrong with it."""
    given = mistake.error["input"]
    if not isinstance(given, str | float) or mistake.shown == MASK:
        return _by_table(mistake)
    quoted = json.dumps(given, ensure_ascii=False) if isinstance(given, str) else mistake.value
    problem = _by_table(structs.replace(mistake, value=quoted))
    number = _number_meant(mistake.error["type"], str(given))
    return problem if number is None else dataclasses.replace(problem, fix=f"write {number}")


def _no_date(mistake: _Mistake) -> Problem:
    given = mistake.error["input"]
    day = day_meant(str(given)) if isinstance(given, str | datetime.date) and mistake.shown != MASK else None
    problem = _text_instead(mistake)
    return problem if day is None else dataclasses.replace(problem, fix=f"write {day}, without quotes")


def _number_meant(wanted: str, text: str) -> str | None:
    """The number that a text spells otherwise: `1e3` in YAML, `08`, one in quotes, a share in percent."""
    percent = _PERCENT.fullmatch(text)
    if percent is not None and wanted == "float_type":
        return f"{Decimal(percent.group(1)) / 100:f}"
    if wanted not in ("int_type", "float_type") or _NUMBER.fullmatch(text) is None:
        return None
    number = Decimal(text)
    whole = number == number.to_integral_value()
    if abs(number) >= 2**63 or (wanted == "int_type" and not whole):
        return None
    return f"{number.to_integral_value():f}" if whole else f"{number:f}"


def _by_table(mistake: _Mistake) -> Problem:
    error, value = mistake.error, mistake.value
    example = _example(mistake.kind, mistake.path, value)
    mapping = LINES if example is None else f"it like {spelled(example)}"
    listed = _listed(value, mistake.shown, of_command=mistake.path[-1:] == ("command",))
    context = {**mistake.context, "list": listed, "mapping": mapping}
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
    LINE_AS_WORD: _one_word,
    "date_type": _no_date,
    **dict.fromkeys(("int_type", "float_type", "bool_type"), _text_instead),
}


def _listed(value: Any, shown: str | None, *, of_command: bool) -> str:
    """The value as the list that was meant: of a text its words, as a shell takes them apart, or a shell where only one understands it."""
    if shown == MASK:  # the mask is not what to type
        return WORDS
    if not isinstance(value, str):
        return f"[{shown}]"
    if shown != value:  # it is long, and only its beginning is shown
        return WORDS
    if of_command and _OF_SHELL.search(_REFERENCE.sub("", value)) is not None:
        return as_list(["sh", "-c", value])
    try:
        words = shlex.split(value)
    except ValueError:  # a quotation mark without its other half
        return WORDS
    return as_list(words) if words else WORDS


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
        fields = fields_named(models, part)
        if fields:
            models, example = [model for field in fields for model in models_of(field.annotation)], _first(fields)
        elif isinstance(example, dict | list):  # a key of a dict field or an index of a list field
            example = next(iter(example.values() if isinstance(example, dict) else example), None)
    inner = _first(fields_named(models, value)) if isinstance(value, str) else None
    return example if inner is None else {value: inner}


def _first(fields: Iterable[FieldInfo]) -> Any:
    return next((example for field in fields if field.examples for example in field.examples), None)


def _describe(kind: type[BaseModel], path: Path) -> str:
    text = known_keys(kind, path[:-1]).get(str(path[-1]), "")
    return text.split(". ")[0].rstrip(".")
