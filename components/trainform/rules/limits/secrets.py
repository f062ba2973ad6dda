"""Secrets as plain text, wherever they stand: previews would show them, and the state would keep them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from msgspec import Struct

from trainform import defaults
from trainform.errors import MASK, shorten
from trainform.manifests.shapes import decoded, mappings
from trainform.manifests.templates import Template
from trainform.plan.references import expanded, references
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding
from trainform.secret_text.search import gives_away, secret_in, secret_lines, secret_words
from trainform.spec.environment import Environment

REASON = "the value looks like a secret, and would be shown in previews and kept in state"
KEY_REASON = "the key looks like a secret, and would be shown in previews and kept in state"
WITH_VARIABLES = "with its variables in it, {} looks like a secret, and would be shown in previews and kept in state"
WHOLE = "keep the whole of it in a Secret, and let {} come from there"
ELSEWHERE = "remove it; let the pods read it from a Secret"
OTHER_NAME = "; if it is no secret, write `$(OTHER)`, a variable of another name that holds it"

LONGEST_WITH_VARIABLES = 2**14  # characters; variables that hold each other can make any number of a few lines
LONG_ENOUGH = 8  # characters of a text that no other contains by chance

# What a Secret holds; its labels and annotations are as open as those of other objects.
SECRET_CONTENT = ("data", "stringData")
# Fields of ours that are called `secret` and have the name of a Secret.
REFERENCES = ("ssh.secret",)
# Fields of ours that hold one word of a command.
WORDS_OF_COMMANDS = ("script", "repository")
# A field of a ConfigMap whose values are in base64.
ENCODED = "binaryData"

OF_KUBERNETES = "valueFrom: {secretKeyRef: {name: SECRET, key: KEY}}"
PATCHES = frozenset(["pod_overrides", "manifest_overrides"])

ItemPath = Callable[[str, int, Any], str]
"""The path of an item of a list from that of the list, its index and the item."""


@dataclasses.dataclass(frozen=True)
class PlainSecret:
    """A secret as plain text. where: its path, without the secret. name: what the value is called. text: the text that holds it, for comparisons
    alone: it is never shown. line: its line in a text of several, else 0. shown: what is shown in its place."""

    where: str
    name: str
    text: str = dataclasses.field(repr=False)
    fix: str
    line: int = 0
    reason: str = REASON
    shown: str = MASK


def plain_secrets(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Texts that look like secrets: first in what the user wrote, at the user's fields; then in pods and objects what comes from elsewhere."""
    written = [*secrets_in(judged.written, _by_index)]
    yield from (_finding(secret) for secret in written)
    in_pods = [(template, _others(_in_pods(template), written)) for template in judged.templates]
    for template, found in in_pods:
        yield from (_finding(secret, template=template) for secret in found)
    seen = [*written, *(secret for _, found in in_pods for secret in found)]
    searched = {id(template.body) for template in judged.templates}  # most objects have them in one piece
    for key, body in judged.objects.items():
        found = _others(secrets_in(without_content(body), by_name, searched), seen)
        yield from (_finding(secret, key=key) for secret in found)


def _finding(secret: PlainSecret, template: Template | None = None, key: str | None = None) -> Finding:
    reason = f"{secret.reason} (line {secret.line})" if secret.line else secret.reason
    return Finding(secret.where, secret.shown, reason, secret.fix, template, key)


def _in_pods(template: Template) -> Iterator[PlainSecret]:
    yield from secrets_in(template.body, by_name)
    for where, container in template.named_containers():
        yield from _in_variables(container, where)


def _others(found: Iterable[PlainSecret], seen: Iterable[PlainSecret]) -> list[PlainSecret]:
    """Those of which no text was seen before. A script or a manifest may contain what was seen; a short text is in many others by chance."""
    seen = list(seen)
    long = {other.text for other in seen if len(other.text) >= LONG_ENOUGH}
    short = {(other.name, other.text) for other in seen}
    # most are the same text, and need no search
    new = (secret for secret in found if secret.text not in long and (secret.name, secret.text) not in short)
    return [secret for secret in new if not any(map(secret.text.__contains__, long))]


def without_content(body: Any) -> Any:
    """The object without the data of a Secret; a list of objects without those of each."""
    if not isinstance(body, dict):
        return body
    if body.get("kind") == "Secret" and body.get("apiVersion") in (
        None,
        "v1",
    ):  # other groups have kinds of this name too
        return {key: value for key, value in body.items() if key not in SECRET_CONTENT}
    if isinstance(body.get("items"), list):
        return {**body, "items": [without_content(item) for item in body["items"]]}
    return body


def secrets_in(data: Any, item_path: ItemPath, searched: Set[int] = frozenset()) -> Iterator[PlainSecret]:
    """Every secret in plain data: in keys, values, the words of commands, the lines of files, and JSON inside a text. searched: the identities of
    mappings that need no search."""
    return _Search(item_path, searched).walk(data, "", "")


def _by_index(path: str, index: int, item: Any) -> str:
    return f"{path}[{index}]"


def by_name(path: str, index: int, item: Any) -> str:
    """The path of an item of an object's list: by its name if it has one."""
    name = item.get("name") if isinstance(item, dict) else None
    return f"{path}.{_shown(name)}" if isinstance(name, str) else _by_index(path, index, item)


class _Search(Struct, frozen=True):
    """A search through plain data. path: where the data stands. name: what it is called."""

    item_path: ItemPath
    searched: Set[int]

    def walk(self, data: Any, path: str, name: str) -> Iterator[PlainSecret]:
        if isinstance(data, str):
            yield from self.text(data, path, name)
        elif isinstance(data, dict):
            if id(data) not in self.searched:
                for key, value in data.items():
                    yield from self.entry(str(key), value, data, path, name)
        elif isinstance(data, list) and data and all(isinstance(item, str) for item in data):
            yield from _in_words(data, path)
        elif isinstance(data, list):
            for index, item in enumerate(data):
                yield from self.walk(item, self.item_path(path, index, item), name)
        elif isinstance(data, int) and not isinstance(data, bool) and gives_away(name, shorten(data)):
            yield PlainSecret(path, name, shorten(data), ELSEWHERE)

    def entry(self, key: str, value: Any, mapping: dict[Any, Any], path: str, name: str) -> Iterator[PlainSecret]:
        """The secrets of one entry of a mapping. A field `value` is called by the name beside it, or else as the mapping is."""
        shown = _shown(key)
        where = f"{path}.{shown}" if path else shown
        if shown != key:
            yield PlainSecret(where, "", key, ELSEWHERE, reason=KEY_REASON)
        if key == ENCODED and isinstance(value, dict):
            value = {file: decoded(text) for file, text in value.items()}
        beside = mapping.get("name")
        named = (beside if isinstance(beside, str) else name) if key == "value" else key
        yield from self.walk(value, where, named)

    def text(self, text: str, path: str, name: str) -> Iterator[PlainSecret]:
        if f".{path}".endswith(_OF_REFERENCES):
            name = ""
        inside = self.in_json(text, path, name)
        if inside is not None:
            yield from inside
            return
        lines = secret_lines(text, name) if "\n" in text else ()
        if lines:
            yield from (PlainSecret(path, name, line, _fix(path, name, line), number) for number, line in lines)
        elif (variable := secret_in(text, name)) is not None and path.endswith(WORDS_OF_COMMANDS):
            yield PlainSecret(path, name, text, _fix_of_words(path, variable, text))
        elif variable is not None or gives_away(name, text):
            yield PlainSecret(path, name, text, _fix(path, name, text))

    def in_json(self, text: str, path: str, name: str) -> list[PlainSecret] | None:
        """The secrets in the object or list that the text is in JSON; None if it is none, or one that is nested too deep."""
        if not text.startswith(("{", "[")):
            return None
        try:
            return [*self.walk(json.loads(text), path, name)]
        except (ValueError, RecursionError):
            return None


def _in_variables(container: dict[str, Any], path: str) -> Iterator[PlainSecret]:
    """The secrets that Kubernetes puts together: a text that is one with the values of other variables in it, of which none is one by itself."""
    variables: dict[str, str] = {}
    for variable in mappings(container.get("env")):
        name, value = str(variable.get("name")), "" if variable.get("value") is None else variable["value"]
        if variable.get("valueFrom") or not isinstance(value, str):  # nobody knows it here
            variables.pop(name, None)
            continue
        whole = _with_variables(value, variables)
        if _is_put_together(value, whole, variables):
            where, shown = f"{path}.env.{_shown(name)}.value", _references_alone(value)
            reason, fix = WITH_VARIABLES.format(_shown(name)), WHOLE.format(_shown(name))
            yield PlainSecret(where, name, whole, fix, reason=reason, shown=shown)
        variables[name] = whole
    for field in ("command", "args"):
        words = container.get(field)
        for index, word in enumerate(words if isinstance(words, list) else ()):
            whole = _with_variables(word, variables) if isinstance(word, str) else word
            if _is_put_together(word, whole, variables):
                fix, reason = _fix_of_words(path, "TOKEN", whole), WITH_VARIABLES.format("a word of the command")
                yield PlainSecret(f"{path}.{field}[{index}]", "TOKEN", whole, fix, reason=reason)


def _with_variables(text: str, variables: Mapping[str, str]) -> str:
    """The text as Kubernetes makes it; as it stands where that would be too long."""
    if "$(" not in text:
        return text
    length = len(text) + sum(len(variables.get(name, "")) for name in references(text))
    return expanded(text, variables) if length <= LONGEST_WITH_VARIABLES else text


def _is_put_together(text: str, whole: str, variables: Mapping[str, str]) -> bool:
    """True if the whole is a secret by its shape alone, and no part of it is: the name of a variable says nothing of the others in it."""
    if whole == text or not gives_away("", whole):
        return False
    return not any(gives_away("", part) for part in (text, *(variables.get(name, "") for name in references(text))))


def _references_alone(text: str) -> str:
    """The text, if it shows nothing but names."""
    return text if not expanded(text, dict.fromkeys(references(text), "")) else MASK


_OF_REFERENCES = tuple(f".{field}" for field in REFERENCES)


def _in_words(words: list[str], path: str) -> Iterator[PlainSecret]:
    """The secrets among the words of a command."""
    for index, variable in secret_words(words).items():
        yield PlainSecret(f"{path}[{index}]", variable, words[index], _fix_of_words(path, variable, words[index]))


def _shown(key: str) -> str:
    """The key as it may stand in a path."""
    return MASK if gives_away("", key) or secret_in(key) is not None else key


def _fix(path: str, name: str, text: str) -> str:
    """What to write in the place of the text: variables of the experiment and of pods can name an entry of a Secret."""
    parts = path.split(".")
    if "env" not in parts and not any(part.startswith("env[") for part in parts):
        return ELSEWHERE
    if parts[-1] == "value":
        return f"write `{OF_KUBERNETES}` for {name}{_way_out(text)}"
    reference = OF_KUBERNETES if _is_in_patch(parts) else "secret: {name: SECRET, key: KEY}"
    return f"write `{name}: {{{reference}}}`{_way_out(text)}"


def _fix_of_words(path: str, variable: str, text: str) -> str:
    """What to write in a command instead; Kubernetes puts the variable's value in."""
    entry = f"{{{variable}: {{secret: {{name: SECRET, key: KEY}}}}}}"
    if _is_in_patch(path.split(".")):
        # The plan's variables stand in the main container, and a list would take their place; another container has none that a mapping could change.
        has_variables = f".containers.{defaults.MAIN_CONTAINER}." in path
        entry = f"{{{variable}: {{{OF_KUBERNETES}}}}}" if has_variables else f"[{{name: {variable}, {OF_KUBERNETES}}}]"
    return f"write `$({variable})` in its place, and `env: {entry}`{_way_out(text)}"


def _is_in_patch(parts: Sequence[str]) -> bool:
    """Whether the words of a path lead into a merge patch, where fields are those of Kubernetes."""
    return not PATCHES.isdisjoint(parts)


def _way_out(text: str) -> str:
    """What to write if the text is no secret: one whose shape is a secret's would be found under each name."""
    return "" if gives_away("", text) else OTHER_NAME
