"""Values of an experiment from the command line (`--set roles.node.replicas=2`), tried without changing files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from msgspec import Struct

from trainform.defaults import DEEPEST
from trainform.errors import InputError, Problem, each_result, list_names
from trainform.spec.experiment import NOT_PATCHED, Experiment
from trainform.spec.layers import named_items
from trainform.spec.names import did_you_mean
from trainform.spec.places import fields_named, models_of
from trainform.spec.read import join_path, parse_mapping

OPTION = "--set "
"""Prefix of the path of such a value in messages."""
# One key of a path: plain, or in quotes if it has dots.
_KEY = re.compile(r"""(?:"(?P<double>[^"]+)"|'(?P<single>[^']+)'|(?P<plain>[^."'=\[\]\s]+))(?P<end>[.=])""")
_NAMED = (dict, list)  # mappings with names of the user as keys, and lists of items with a name
PATH_FIX = (
    'write PATH=VALUE, such as roles.worker.replicas=2; a key with dots in quotes: labels."example.com/team"=vision; '
    "an item of a list by its name: prepare.NAME.image=IMAGE"
)
VALUE_FIX = "write one value as YAML has it on one line: 2, text, [a, b], {a: 1}; text with other signs in quotes"
LIST_FIX = "set the whole list, such as prepare=[…], or an item that has a name by it: prepare.NAME.image=IMAGE"


class Assignment(Struct, frozen=True):
    """A value and the keys that lead to it."""

    keys: tuple[str, ...]
    value: Any

    @property
    def path(self) -> str:
        """Return the path in the experiment."""
        return join_path(self.keys)

    @property
    def shown(self) -> str:
        """Return the assignment for messages, without secrets."""
        value = Problem(self.path, self.value, "", "").shown_value
        return f"{self.path}={'null' if value is None else value}"


def read_assignments(given: Sequence[str]) -> tuple[Assignment, ...]:
    """Return the assignments. Raises `InputError` with each one that is wrong or sets a value again."""
    found = each_result(_assignment, given)
    problems = [
        _problem(one.keys, f"the value is set by {OPTION}{other.path} too", "set it once")
        for index, one in enumerate(found)
        for other in found[:index]
        if all(key == other_key for key, other_key in zip(one.keys, other.keys, strict=False))
    ]
    if problems:
        raise InputError(problems)
    return tuple(found)


def merge_assignments(tried: Sequence[Assignment]) -> dict[str, Any]:
    """Return the assignments as one merge patch."""
    patch: dict[str, Any] = {}
    for assignment in tried:
        inside = patch
        *above, last = assignment.keys
        for key in above:
            inside = inside.setdefault(key, {})
        inside[last] = assignment.value
    return patch


def unknown_places(tried: Sequence[Assignment], data: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a problem for each path whose parent the experiment does not have. The last key may be new."""
    for assignment in tried:
        wrong = NOT_PATCHED.get(assignment.keys[0], _wrong_place(assignment.keys, data))
        if wrong is not None:
            yield _problem(assignment.keys, *wrong)


def _wrong_place(keys: tuple[str, ...], data: Any) -> tuple[str, str] | None:
    annotation: Any = Experiment
    for index, key in enumerate(keys[:-1]):
        here = join_path(keys[:index])
        if isinstance(data, list) and data and not named_items(data):
            return f"`{here}` is a list without names", LIST_FIX
        entries = {item["name"]: item for item in data} if named_items(data) else data if data else {}
        is_named = get_origin(annotation) in _NAMED
        models = [] if is_named else models_of(annotation)
        fields = [field.alias or name for model in models for name, field in model.model_fields.items()]
        known = [*entries, *fields]
        if key not in known:
            whole = f"known here: {list_names(known)}" if known else f"set it as a whole: {here}=VALUE"
            reason = f"`{here}` has no `{key}`" if here else f"there is no `{key}`"
            return reason, did_you_mean(key, known) or whole
        data = entries.get(key, {})
        inner = get_args(annotation)[-1:] if is_named else [field.annotation for field in fields_named(models, key)]
        annotation = inner[0] if inner else None
    return None


def _problem(keys: tuple[str, ...], reason: str, fix: str) -> Problem:
    return Problem(f"{OPTION}{join_path(keys)}", None, reason, fix)


def _assignment(text: str) -> Assignment:
    keys, rest = _path(text)
    if not rest.strip():
        fix = 'write null to remove it, or "" for an empty text'
        raise InputError([_problem(keys, "the value is empty", fix)])
    try:
        content = parse_mapping(f"value: {rest}", "")
        wrong = [*content.problems]
    except InputError as error:
        wrong = error.problems
    if wrong or content.data.keys() != {"value"}:
        reason = wrong[0].reason.replace("the file", "the value") if wrong else "the value is not one value"
        raise InputError([_problem(keys, reason, VALUE_FIX)])
    return Assignment(keys, content.data["value"])


def _path(text: str) -> tuple[tuple[str, ...], str]:
    """Return the keys before the equals sign, and the text after it."""
    keys: list[str] = []
    at = 0
    while (match := _KEY.match(text, at)) is not None and len(keys) < DEEPEST:
        keys.append(next(filter(None, match.group("double", "single", "plain"))))
        at = match.end()
        if match["end"] == "=":
            return tuple(keys), text[at:]
    raise InputError([Problem("--set", text if "=" not in text else None, "the text is not PATH=VALUE", PATH_FIX)])
