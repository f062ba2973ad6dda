"""Values of an experiment that are tried without being written: `roles.node.replicas=2`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args, get_origin

from msgspec import Struct

from trainform.defaults import DEEPEST
from trainform.errors import InputError, Problem, list_names
from trainform.spec.experiment import Experiment
from trainform.spec.merge_patch import named_items
from trainform.spec.model import models_of
from trainform.spec.nodes import QUOTE
from trainform.spec.numbers import misread
from trainform.spec.read import parse_mapping
from trainform.spec.source import join_path

OPTION = "--set "
"""What stands before the path of a value that is tried, in messages."""
# One key of a path: plain, or in quotes where it has dots of its own.
_KEY = re.compile(r"""(?:"(?P<double>[^"]+)"|'(?P<single>[^']+)'|(?P<plain>[^."'=\[\]\s]+))(?P<end>[.=]|\[|$)""")
_NAMED = (dict, list)  # what has names of the user's: mappings, and lists of items with a name
PATH_FIX = (
    'write PATH=VALUE, such as roles.worker.replicas=2; a key with dots in quotes: labels."example.com/team"=vision'
)
# Fields that are not tried, each with the reason and the fix.
NOT_TRIED = {
    "name": ("another name is another experiment, with objects of its own", "copy the file under the other name"),
    "environments": (
        "the value is tried in the environment that is asked for, after its overlay",
        "set the value itself, such as queue=research",
    ),
}
LIST_FIX = "set the whole list, such as prepare=[…], or an item that has a name by it: prepare.NAME.image=IMAGE"


class Assignment(Struct, frozen=True):
    """A value and the keys that lead to it."""

    keys: tuple[str, ...]
    value: Any

    @property
    def path(self) -> str:
        """Where it stands in the experiment."""
        return join_path(self.keys)

    @property
    def shown(self) -> str:
        """The assignment as it may be shown, without secrets."""
        value = Problem(self.path, self.value, "", "").shown_value
        return f"{self.path}={'null' if value is None else value}"


def read_assignments(given: Sequence[str]) -> tuple[Assignment, ...]:
    """The assignments. InputError with every one that is none, or that says again what another one says."""
    problems: list[Problem] = []
    found: list[Assignment] = []
    for text in given:
        try:
            found.append(_assignment(text))
        except InputError as error:
            problems += error.problems
    for index, one in enumerate(found):
        for other in found[:index]:
            if one.keys[: len(other.keys)] == other.keys or other.keys[: len(one.keys)] == one.keys:
                reason = f"the value is set by {OPTION}{other.path} too"
                problems.append(Problem(f"{OPTION}{one.path}", None, reason, "set it once"))
    if problems:
        raise InputError(problems)
    return tuple(found)


def patch_of(tried: Sequence[Assignment]) -> dict[str, Any]:
    """The assignments as one merge patch."""
    patch: dict[str, Any] = {}
    for assignment in tried:
        inside = patch
        *above, last = assignment.keys
        for key in above:
            inside = inside.setdefault(key, {})
        inside[last] = assignment.value
    return patch


def nowhere(tried: Sequence[Assignment], data: Mapping[str, Any]) -> Iterator[Problem]:
    """A problem for each path that leads through something which the experiment does not have. Its last key may be a new one."""
    for assignment in tried:
        if assignment.keys[0] in NOT_TRIED:
            yield Problem(f"{OPTION}{assignment.path}", None, *NOT_TRIED[assignment.keys[0]])
            continue
        current: Any = data
        for index, key in enumerate(assignment.keys[:-1]):
            here = assignment.keys[:index]
            if isinstance(current, list) and not named_items(current):
                yield Problem(
                    f"{OPTION}{assignment.path}", None, f"`{join_path(here)}` is a list without names", LIST_FIX
                )
                break
            entries = _entries(current)
            known = [*entries, *_fields(here)]
            if key not in known:
                where = f"`{join_path(here)}` has no `{key}`" if here else f"there is no `{key}`"
                yield Problem(f"{OPTION}{assignment.path}", None, where, _nearest(key, known, here))
                break
            current = entries.get(key, {})


def _nearest(key: str, known: Sequence[str], here: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(key, known, 1)
    whole = f"set it as a whole: {join_path(here)}=VALUE"
    return f"did you mean {near[0]}?" if near else f"known here: {list_names(known)}" if known else whole


def _fields(here: tuple[str, ...]) -> list[str]:
    """The fields that the mapping at the keys may have; none where its keys are names of the user's."""
    annotation: Any = Experiment
    for key in here:
        annotation = _below(annotation, key)
    models = [] if get_origin(annotation) in _NAMED else models_of(annotation)
    return [
        name if field.alias is None else field.alias for model in models for name, field in model.model_fields.items()
    ]


def _below(annotation: Any, key: str) -> Any:
    """The annotation of what the key leads to; None if it is no field."""
    if get_origin(annotation) in _NAMED:
        return get_args(annotation)[-1]
    fields = [(name, field) for model in models_of(annotation) for name, field in model.model_fields.items()]
    return next((field.annotation for name, field in fields if key in (name, field.alias)), None)


def _entries(current: Any) -> Mapping[str, Any]:
    if isinstance(current, Mapping):
        return current
    return {item["name"]: item for item in current} if named_items(current) else {}


def _assignment(text: str) -> Assignment:
    keys, rest = _path(text)
    path = f"{OPTION}{join_path(keys)}"
    if not rest.strip():
        raise InputError(
            [Problem(path, None, "the value is empty", 'write null to remove it, or "" for an empty text')]
        )
    try:
        content = parse_mapping(f"value: {rest}", "")
        problems = [*content.problems]
    except InputError as error:
        content, problems = None, error.problems
    if problems or content is None or content.data.keys() != {"value"}:
        reason = problems[0].reason.replace("the file", "the value") if problems else "the value is not one value"
        fix = "write one value as YAML has it on one line: 2, text, [a, b], {a: 1}; text with other signs in quotes"
        raise InputError([Problem(path, None, reason, fix)])
    # a field of text would be told to have the number that was read
    misread_here = [*misread(content.data, content.source.written)]
    if misread_here:
        raise InputError([Problem(path, None, problem.reason, f"{problem.fix}; {QUOTE}") for problem in misread_here])
    return Assignment(keys, content.data["value"])


def _path(text: str) -> tuple[tuple[str, ...], str]:
    """The keys before the equals sign, and what follows it."""
    keys: list[str] = []
    at = 0
    while (match := _KEY.match(text, at)) is not None and len(keys) < DEEPEST:
        keys.append(next(filter(None, match.group("double", "single", "plain"))))
        at = match.end()
        if match["end"] == "=":
            return tuple(keys), text[at:]
        if match["end"] == "[":
            reason = f"an item of the list `{join_path(tuple(keys))}` is named by its number, which says nothing of what it is"
            raise InputError([Problem(f"{OPTION}{join_path(tuple(keys))}", None, reason, LIST_FIX)])
        if not match["end"]:
            break
    raise InputError([Problem("--set", text if "=" not in text else None, "the text is not PATH=VALUE", PATH_FIX)])
