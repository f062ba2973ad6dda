"""The search for secrets in a text, in a value with a name, in the words of a command and in the lines of a file."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from trainform.secret_text import commands, names, shapes
from trainform.secret_text.names import NameRow, named
from trainform.secret_text.patterns import Marks, Pattern
from trainform.secret_text.shapes import REMEMBERED, has_shape, in_base64, of_shape

# Characters of the shortest token that anybody issues.
SHORTEST_TOKEN = 4
MOST_SECRETS = 100
"""Secrets that are masked one by one in a text: each is looked for in all of it."""

_MARKS = tuple(dict.fromkeys([*(row.mark for row in names.NAMES), *shapes.MARKS, *commands.MARKS]))
_MARK = Marks(_MARKS)

_QUOTES = "\"';&|()"  # what a shell's text has around its words
# What a name of a secret may stand before without giving one away: nothing, a switch, a token of a tokenizer (<pad>, [PAD]), a
# reference that Kubernetes, a shell or a template resolves, the path of a file, what stands for a secret in a text.
_HARMLESS = Pattern(
    r"|true|false|yes|no|on|off|none|null|<[^<>]*>|\[[A-Z_]+\]|((Bearer|Basic|Token) +)?(\$\([^)]*\)?|\$\w+|\$\{[^}]*\}?|\{+[^{}]*\}+|%\(?\w*\)?s)"
    r"|`.*|(~|\.{0,2})/\S*|[.*]+|(os\.)?(environ|getenv)\b[^,]*,?",
    re.IGNORECASE,
)
# What stands before a token that somebody issues, and is none: a number, a sign, and what is written for servers that need no token.
_NO_TOKEN = Pattern(
    r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?|\W+|EMPTY|dummy|fake|unused|unset|disabled|ignored?|n/?a|anonymous|placeholder|ollama|lm-studio"
    r"|not?[-_ ]?(needed|used|required|set|provided|available)|(sk-)?no[-_ ]?(api[-_ ]?key|key|token|auth)([-_ ]?(needed|required))?"
    r"|(hf_|sk-|ghp_)?(x{3,}|dummy|fake|empty)|(dummy|fake)[-_ ](api[-_ ]?)?(key|token)|replace[-_ ]?me|your[-_ ][a-z_ -]+",
    re.IGNORECASE,
)
_IDENTIFIER = Pattern(r"([A-Za-z_][\w.]*\.)?[A-Za-z_]+[,)\]}]*")  # of letters: hf_secret123 is a secret

_OPTION = Pattern(r"--?(?P<name>[A-Za-z][\w.-]*)(=(?P<value>\S*))?")  # --hf-token hf_abc, --password=hunter2
_ASSIGNMENT = Pattern(r"\+{0,2}(?P<name>[A-Za-z_][\w.]*)=(?P<value>\S*)")  # wandb.api_key=…, as Hydra takes it
_SPACES = Pattern(r"(\s+)")
_HEADER = Pattern(r"(-H ?|--header[ =])(?P<name>[A-Za-z][\w-]*):[ \t]*(?P<value>[^\n]*)")
# `"password": "hunter2"` and login(token="…") in a program or a file; -H 'X-API-Key: …' in a command; without quotes only a line whose value has
# a digit. `a ? token : 'x'` says nothing of the token.
_PAIR = Pattern(
    r"(?<![\w$.-])(?<!\?)(?<!\? )-*[\"']?(?P<name>[A-Za-z_][\w.-]*)[\"']?\s*[:=]\s*(?P<quote>[\"'])(?P<value>[^\"'\n]{1,512})(?P=quote)"
    r"|(?<!\w)(-H|--header)[ \t=]*(?P<around>[\"'])(?P<header>[A-Za-z][\w-]*):[ \t]*(?P<sent>[^\"'\n]{1,512})(?P=around)"
    r"|^[ \t-]*(?P<key>[A-Za-z_][\w.-]*)([ \t]*=[ \t]*|:[ \t]+)(?=\S*[0-9])(?P<plain>[A-Za-z0-9_+/=~!@#%^*-]{6,512})[ \t\r]*$",
    re.MULTILINE,
)
_PARTS_OF_PAIRS = (("name", "value"), ("header", "sent"), ("key", "plain"))
# Files that hold settings alone: whatever stands behind a name is its value.
_SETTINGS_FILE = Pattern(r"(?i)(^|\.)(ini|cfg|conf|cnf|properties|env)$|^\.?(npmrc|pypirc|my\.cnf|credentials)$")
_SECTION = Pattern(r"^\[[\w.:/@ -]+\][ \t\r]*$", re.MULTILINE)
_SETTING = Pattern(r"^[ \t]*(export[ \t]+)?(?P<name>[A-Za-z_][\w.-]*)[ \t]*[=:](?P<value>[^\n]+)$", re.MULTILINE)


def looks_secret(name: str, value: object) -> bool:
    """True if a value must not be shown: by its name it is a secret, or a secret is in it."""
    spelled, rows = named(name)
    return bool(rows) or (isinstance(value, str) and has_shape(value, spelled))


@functools.lru_cache(REMEMBERED)
def gives_away(name: str, text: str) -> bool:
    """True if the text itself is a secret. A switch, a reference and the like are not, nor is a number, unless the name is that of
    a password."""
    spelled, rows = named(name)
    return has_shape(text, spelled) or (bool(rows) and _is_value(text, name, rows))


def _is_value(text: str, name: str, rows: Sequence[NameRow]) -> bool:
    """True if the text under this name is a secret, and nothing that stands for one."""
    chosen = any(row.chosen for row in rows)
    if _HARMLESS.compiled.fullmatch(text) is not None or _is_variable(text, name, chosen):
        return False
    return chosen or (len(text) >= SHORTEST_TOKEN and _NO_TOKEN.compiled.fullmatch(text) is None)


def _is_variable(text: str, name: str, chosen: bool) -> bool:
    """True if the text is what a program calls such a secret: `token=args.hf_token`. A password that people choose may look like that."""
    if _IDENTIFIER.compiled.fullmatch(text) is None:
        return False
    identifier = text.rstrip(",)]}")
    is_name = bool(named(identifier)[1])
    return is_name if "." in identifier else not chosen and (identifier == name or (is_name and "_" in identifier))


def secret_words(words: Sequence[str]) -> dict[int, str]:
    """Index of each word that holds a secret, and what a variable for it may be called."""
    if not _may_hold(" ".join(words)):
        return {}
    found = _given_words(words)
    for index in _passwords(words):
        found.setdefault(index, "PASSWORD")
    for index, word in enumerate(words):
        alone = secret_in(word) if _given(word, "") is None else _shaped(word)
        if alone is not None:
            found.setdefault(index, alone)
    return found


@functools.lru_cache(REMEMBERED)
def secret_in(text: str, file: str = "") -> str | None:
    """What a variable may be called for the first secret in a text, which may be a command or a file; None if the text holds no secret. file: what
    the text is called."""
    return _found(text, _holds_settings(text, file)) if _may_hold(text) else None


@functools.lru_cache(REMEMBERED)
def secret_lines(text: str, file: str = "") -> tuple[tuple[int, str], ...]:
    """Number and text of each line that holds a secret. file: what the text is called."""
    if not _may_hold(text):
        return ()
    settings = _holds_settings(text, file)
    lines = enumerate(text.split("\n"), 1)
    return tuple((number, line) for number, line in lines if _may_hold(line) and _found(line, settings) is not None)


def masked(text: str, mask: str) -> str:
    """The text with the mask in the place of each secret that is known by its shape; the mask alone where it has more of them than anybody reads."""
    secrets = dict.fromkeys(of_shape(text))
    if len(secrets) > MOST_SECRETS:
        return mask
    for secret in secrets:
        text = text.replace(secret, mask)
    return text


def masked_everywhere(data: Any, mask: str, text: Callable[[str, str], str] = masked) -> Any:
    """The data with `masked`, or with another function, for each of its texts: in lists, mappings and structs, however deep."""

    def of(part: Any) -> Any:
        return masked_everywhere(part, mask, text)

    if isinstance(data, str):
        return text(data, mask)
    if isinstance(data, Mapping):
        return {of(key): of(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return type(data)(map(of, data))
    if isinstance(data, Struct):
        return structs.replace(data, **{name: of(getattr(data, name)) for name in data.__struct_fields__})
    return data


def masked_line(line: str, mask: str) -> str:
    """A line with the mask in the place of each secret: those of a shape, and words as of a command. The mask alone where nobody can tell
    where a secret ends."""
    shown = masked(line, mask)
    if secret_in(shown) is None:
        return shown
    parts = _SPACES.compiled.split(shown)
    for index in secret_words(_unquoted(parts[::2])):
        parts[2 * index] = mask
    shown = "".join(parts)
    return shown if secret_in(shown) is None else mask


def _may_hold(text: str) -> bool:
    """False if no row can find anything in the text. In a text of other characters some may be invisible."""
    return not text.isascii() or _MARK.compiled.search(text.lower()) is not None or bool(in_base64(text))


def _found(text: str, settings: bool) -> str | None:
    """What a variable may be called for the first secret in the text."""
    shaped = _shaped(text)
    if shaped is not None:
        return shaped
    name = next((name for name, value in _pairs(text, settings) if gives_away(name, value)), None)
    if name is not None:
        return _variable(name)
    return next(iter(_given_words(_unquoted(text.split())).values()), None) or _in_commands(text)


def _shaped(text: str) -> str | None:
    """What a variable may be called for a secret that the text shows by its shape."""
    if not has_shape(text):
        return None
    return "ADDRESS" if "://" in text else "TOKEN"


def _holds_settings(text: str, file: str) -> bool:
    """True if each line of the text is a setting, by the name of the file or by the sections in it."""
    return _SETTINGS_FILE.compiled.search(file) is not None or _SECTION.compiled.search(text) is not None


def _pairs(text: str, settings: bool) -> Iterator[tuple[str, str]]:
    """Each name with its value."""
    for pair in _PAIR.compiled.finditer(text):
        yield from ((pair[name], pair[value]) for name, value in _PARTS_OF_PAIRS if pair[name] is not None)
    if settings:
        yield from (
            (setting["name"], setting["value"].strip(" \t\r\"'")) for setting in _SETTING.compiled.finditer(text)
        )


def _given_words(words: Sequence[str]) -> dict[int, str]:
    """Those of `secret_words` that a name before them tells, in the same word or in the one before."""
    found: dict[int, str] = {}
    for index, (word, following) in enumerate(itertools.pairwise([*words, ""])):
        given = _given(word, following)
        if given is not None and gives_away(given[0], given[1]):
            name, _, own = given
            found.setdefault(index if own else index + 1, _variable(name))
    return found


def _given(word: str, following: str) -> tuple[str, str, bool] | None:
    """Name and value that the word begins, and whether the value is in the word itself."""
    if not word.startswith("-") and "=" not in word:  # most words
        return None
    if word.startswith(("-H", "--header")):
        header = _HEADER.compiled.fullmatch(word) or _HEADER.compiled.fullmatch(f"{word} {following}")
        if header is not None:
            return header["name"], header["value"], header.start("name") < len(word)
    match = _OPTION.compiled.fullmatch(word) or _ASSIGNMENT.compiled.fullmatch(word)
    if match is None:
        return None
    name, value = match["name"], match["value"]
    if value is None:
        return name, "" if following.startswith("-") else following, False
    inner = _ASSIGNMENT.compiled.fullmatch(value)  # --from-literal=password=hunter2
    if inner is not None:
        name, value = inner["name"], inner["value"]
    return name, value.partition(";")[0].strip(_QUOTES), True  # of a connection string, or of a shell's line


def _in_commands(text: str) -> str | None:
    """What a variable may be called for the first password in the commands of a shell's text."""
    if not commands.may_be_in(text):
        return None
    return next(("PASSWORD" for words in commands.commands(text) for _ in _passwords(_unquoted(words))), None)


def _passwords(words: Sequence[str]) -> Iterator[int]:
    """The index of each word of one command that holds a password by its place."""
    if not commands.may_be_in(" ".join(words)):
        return
    for index, password in commands.passwords(words):
        if _HARMLESS.compiled.fullmatch(password.strip(_QUOTES)) is None:
            yield index


def _unquoted(words: Sequence[str]) -> list[str]:
    return [word.strip(_QUOTES) for word in words]


def _variable(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", name).upper()
