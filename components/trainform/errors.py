"""All errors of trainform, as one tree.

TrainformError              what happened and what to do; exit code 1
├── InputError              a file or an option is wrong: every problem of it at once; exit code 2
├── CommandLineError        the words of a command are wrong; exit code 2
├── ToolchainError          pulumi, a plugin or a control-plane binary cannot be had
├── SandboxError            the local control plane did not start, stop or answer
└── ClusterError            the live cluster cannot be reached or does not allow what the plan needs

Each edge translates once: pydantic and YAML errors become `InputError` in `spec.load`, all of the tree becomes
`pulumi.RunError` in `resources.program`, and an exit code in `cli.main`. A model that Python code builds raises
`InputError` from `spec.explain`.
"""

from __future__ import annotations

import dataclasses
import itertools
import operator
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import ClassVar, TypeVar

from trainform.console import lines
from trainform.console.lines import escaped

Given = TypeVar("Given")
Result = TypeVar("Result")

LONGEST_VALUE = 60
LONGEST_SENTENCE = 2000
# Where the name of a Secret stands, or of a key in it: what is not a name may be the secret itself.
_OF_SECRET = re.compile(
    r"(?:^|\.)(?:(?:secret|secretKeyRef|git\.key)\.(?:name|key)|secret\.secretName|\w*[sS]ecretRef\.name|git\.key|"
    r"ssh\.secret"
    r"|(?:image_pull_secrets|imagePullSecrets)\b.*)\Z",
    re.DOTALL,
)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,63}")
MOST_NAMES = 20
MOST_PROBLEMS = 50  # as text; a file may have tens of thousands, and more than this is not read
MASK = lines.MASK
WORDS_BEFORE = 64  # of a command, up to the one that is judged

# Fields that hold an address. A malformed one is masked if a login may be in it: not for a user alone, a variable or a
# digest.
_ADDRESSES = frozenset({"repository", "image"})
_SECRET_ADDRESS = re.compile(r":(?!//[^/:@]*@|\$\(\w+\)@)[^:@]*@(?!sha[0-9]+:)|\?[^?=]*=")
# What stands before the host of an address, and all that follows the name of a way to log in.
_CREDENTIALS = re.compile(r"(?<=://)[^/ \t\r\n]+(?=@)|(?<=\bBearer ).+|(?<=\bBasic ).+", re.DOTALL)


def without_credentials(text: str) -> str:
    """Return a text from elsewhere (an error of a connection, an address) without the credentials in it."""
    return _CREDENTIALS.sub(MASK, text)


@dataclasses.dataclass(frozen=True, order=True)
class Problem:
    """One thing that is wrong: where, what was given, why it is wrong, and what to write instead.

    `source` is the file as the user named it, empty for input that came from Python; `line` counts from 1, 0 where
    unknown. `value` is None where nothing was given. `code` and `fingerprint`: the rule of an environment's limits that
    found it, and what a waiver names; both are empty where something is wrong in itself.
    """

    path: str
    value: object = dataclasses.field(compare=False)
    reason: str
    fix: str
    source: str = ""
    line: int = 0
    code: str = ""
    fingerprint: str = ""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> list[str]:
        """Return the problem as it is printed: three lines, and one more for the finding of a rule."""
        place = self.shown_path if self.path else "(whole file)"
        if self.source:
            source = _masked(self.source)
            place = f"{source}:{self.line}: {place}" if self.line else f"{source}: {place}"
        shown = self.shown_value
        is_blank = (shown is not None and shown.strip() != shown) or shown == ""
        given = "" if shown is None else f' = "{shown}"' if is_blank else f" = {shown}"
        finding = f", finding {self.fingerprint}" if self.fingerprint else ""
        rule = [f"  rule: {self.code}{finding}"] if self.code else []
        reason, fix = _sentence(self.reason), _sentence(self.fix)
        return [*map(escaped, (f"{place}{given}", f"  why: {reason}", f"  fix: {fix}", *rule))]

    @property
    def shown_path(self) -> str:
        """Return the path as it may be shown: up to a key that holds a secret (`DB_PASSWORD=hunter2`)."""
        from trainform.console.secrets import masked_path

        return masked_path(self.path)

    @property
    def shown_value(self) -> str | None:
        """Return the value as it may be shown: short, or masked as a whole."""
        if self.value is None:
            return None
        return MASK if self._is_secret() else shorten(self.value)

    def _is_secret(self) -> bool:
        from trainform.console.secrets import is_secret, names_secret

        parts = self.path.split(".")
        if isinstance(self.value, str):
            if parts[-1] in _ADDRESSES and _SECRET_ADDRESS.search(self.value) is not None:
                return True
            if _OF_SECRET.search(self.path) is not None and _NAME.fullmatch(self.value) is None:
                return True
        names = [parts[-1], *(name for above, name in itertools.pairwise(parts) if above == "env")]
        return any(map(names_secret, names)) or is_secret("", self.value)

    def as_dict(self) -> dict[str, object]:
        """Return the same for machines: the keys of `check --output json`. Nothing is escaped here; JSON does it."""
        return {
            "source": self.source, "line": self.line, "path": self.shown_path,
            "value": self.shown_value, "reason": _sentence(self.reason), "fix": _sentence(self.fix),
            "code": self.code, "fingerprint": self.fingerprint,
        }  # fmt: skip


def _sentence(text: str) -> str:
    """Return a reason or a fix as it may be shown: what it names from a file may be of any length."""
    shown = _masked(text)
    return shown if len(shown) <= LONGEST_SENTENCE else shown[: LONGEST_SENTENCE - 1] + "…"


def _masked(line: str) -> str:
    """Return the line as it may be shown. The first error imports the rules for secrets, this module does not."""
    from trainform.console.secrets import has_shape

    return MASK if has_shape(line) else line


def shorten(value: object) -> str:
    """Return the value as it stands in a message: at most `LONGEST_VALUE` characters, and never a whole file."""
    if isinstance(value, dict | list):  # never its content: secrets may be in there, and it is long
        return "{…}" if isinstance(value, dict) else "[…]"
    try:
        text = str(value).lower() if isinstance(value, bool) else str(value)
    except ValueError:  # Python does not spell whole numbers of thousands of digits
        return "a whole number of thousands of digits"
    return text if len(text) <= LONGEST_VALUE else text[: LONGEST_VALUE - 1] + "…"


def is_secret_item(items: Sequence[object], index: int) -> bool:
    """Return whether the item of a list is a secret by itself or by the option before it: [--password, 123]."""
    from trainform.console.secrets import secret_words

    first = max(index + 1 - WORDS_BEFORE, 0)  # each of many mistakes in a long list is looked at by itself
    words = [item if isinstance(item, str) else shorten(item) for item in items[first : index + 1]]
    return len(words) - 1 in secret_words(words)


def list_names(names: Collection[str], most: int = MOST_NAMES) -> str:
    """Return the names as they stand in a message: the first ones, and how many are left."""
    shown, left = ", ".join(itertools.islice(names, most)), len(names) - most
    return shown if left <= 0 else f"{shown} and {left} more"


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Return each problem once, by file and line."""
    places = ("source", "line", "path", "reason", "fingerprint")
    return sorted(set(problems), key=operator.attrgetter(*places))


def joined(problems: Iterable[Problem]) -> list[Problem]:
    """Return the problems as people read them: those that differ in the finding alone, such as one of each role, are
    one."""
    findings: dict[Problem, list[str]] = {}
    for problem in problems:
        findings.setdefault(dataclasses.replace(problem, fingerprint=""), []).append(problem.fingerprint)
    return [dataclasses.replace(each, fingerprint=", ".join(found)) for each, found in findings.items()]


def _printed(lines: Iterable[str]) -> list[str]:
    return [escaped(_masked(line)) for line in lines]


class TrainformError(Exception):
    """What happened, and in `fix` what to do about it (a command where there is one). `details` are lines of somebody
    else's, such as the end of a log. Each of these is one line when it is printed: what they quote cannot begin one
    that looks like ours, and a secret in it is masked."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, fix: str = "", details: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.details = tuple(details)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    @property
    def first_reason(self) -> str:
        """Return the first thing that is wrong, with its place, for the middle of a sentence."""
        return self.message

    def lines(self) -> list[str]:
        """Return the error as it is printed."""
        fix = [f"  fix: {self.fix}"] if self.fix else []
        return _printed([self.message, *(f"  | {detail}" for detail in self.details), *fix])

    def as_dict(self) -> dict[str, object]:
        """Return what JSON has under `error`, always with these keys. Nothing is escaped here; JSON does it."""
        return {
            "message": _masked(self.message.removesuffix(":")),
            "fix": _masked(self.fix),
            "details": [*map(_masked, self.details)],
            "findings": [],
            "problems": [],
        }


class CommandLineError(TrainformError):
    """A command with a verb, an argument or an option that is wrong or missing."""

    exit_code: ClassVar[int] = 2


class InputError(TrainformError):
    """Every problem of what the user wrote, sorted by file and line."""

    exit_code: ClassVar[int] = 2

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = in_order(problems)
        count = len(joined(self.problems))
        super().__init__(f"{count} problem{'s' if count != 1 else ''}:")

    @property
    def first_reason(self) -> str:
        """Return the place and the reason of the first problem."""
        first = self.problems[0]
        return ": ".join(filter(None, [first.path or first.source, first.reason]))

    def lines(self) -> list[str]:
        """Return how many there are, then the first of them."""
        problems = joined(self.problems)
        shown, left = problems[:MOST_PROBLEMS], len(problems) - MOST_PROBLEMS
        more = [] if left <= 0 else [f"and {left} more, which `trainform check --output json` has all"]
        return [*super().lines(), *(line for problem in shown for line in problem.lines()), *more]

    def as_dict(self) -> dict[str, object]:
        """Return the same with each problem under `problems`, however many there are."""
        return super().as_dict() | {"problems": [problem.as_dict() for problem in self.problems]}


def each_result(work: Callable[[Given], Result], items: Iterable[Given]) -> list[Result]:
    """Return the result for each item. InputError with the problems of all of them."""
    results, problems = list[Result](), list[Problem]()
    for item in items:
        try:
            results.append(work(item))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return results


class ToolchainError(TrainformError):
    """A binary is missing, too old, or could not be built."""


class SandboxError(TrainformError):
    """A component of the sandbox failed; the details are the last lines of its log."""


class ClusterError(TrainformError):
    """The cluster cannot be reached, or lacks something the plan needs; found before anything is registered.
    `findings`: several of these, each with its own fix."""

    def __init__(self, message: str, fix: str = "", findings: Iterable[tuple[str, str]] = ()) -> None:
        super().__init__(message, fix)
        self.findings = tuple(findings)

    def lines(self) -> list[str]:
        """Return the error as it is printed."""
        found = (line for text, fix in self.findings for line in (text, f"  fix: {fix}"))
        return [*super().lines(), *_printed(found)]

    def as_dict(self) -> dict[str, object]:
        """Return the same with each of the findings, its fix beside it."""
        return super().as_dict() | {
            "findings": [{"message": _masked(text), "fix": _masked(fix)} for text, fix in self.findings]
        }
