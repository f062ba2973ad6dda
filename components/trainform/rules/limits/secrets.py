"""Secrets as plain text, wherever they stand: previews would show them, and the state would keep them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from trainform.errors import MASK, shorten
from trainform.manifests.templates import Template
from trainform.rules.limits.judged import Judged
from trainform.rules.limits.rule import Finding
from trainform.secret_text import gives_away, secret_in, secret_words
from trainform.spec.environment import Environment

REASON = "the value looks like a secret, and would be shown in previews and kept in state"
KEY_REASON = "the key looks like a secret, and would be shown in previews and kept in state"
ELSEWHERE = "remove it; let the pods read it from a Secret"

LONG_ENOUGH = 8  # characters of a text that no other contains by chance

# What a Secret holds; its labels and annotations are as open as those of other objects.
SECRET_CONTENT = ("data", "stringData")
# Fields of ours that are called `secret` and have the name of a Secret.
REFERENCES = ("ssh.secret",)
# Fields of ours that hold one word of a command.
WORDS_OF_COMMANDS = ("script", "repository")


@dataclasses.dataclass(frozen=True)
class PlainSecret:
    """A secret as plain text. where: its path, without the secret. name: what the value is called. text: the text that holds it, for comparisons
    alone: it is never shown. line: its line in a text of several, else 0."""

    where: str
    name: str
    text: str = dataclasses.field(repr=False)
    fix: str
    line: int = 0
    reason: str = REASON


def plain_secrets(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Texts that look like secrets: first in what the user wrote, at the user's fields; then in pods and objects what comes from elsewhere."""
    written = [*secrets_in(judged.written, _by_index)]
    yield from (_finding(secret) for secret in written)
    in_pods = [(template, _others(secrets_in(template.body, by_name), written)) for template in judged.templates]
    for template, found in in_pods:
        yield from (_finding(secret, template=template) for secret in found)
    seen = [*written, *(secret for _, found in in_pods for secret in found)]
    for key, body in judged.objects.items():
        yield from (_finding(secret, key=key) for secret in _others(secrets_in(without_content(body), by_name), seen))


def _finding(secret: PlainSecret, template: Template | None = None, key: str | None = None) -> Finding:
    reason = f"{secret.reason} (line {secret.line})" if secret.line else secret.reason
    return Finding(secret.where, MASK, reason, secret.fix, template, key)


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


def secrets_in(data: Any, item_path: Callable[[str, int, Any], str]) -> Iterator[PlainSecret]:
    """Every secret in plain data: in keys, values, the words of commands, the lines of files, and JSON inside a text. item_path: the path of an
    item of a list from that of the list, its index and the item."""
    return _walk(data, "", "", item_path)


def _by_index(path: str, index: int, item: Any) -> str:
    return f"{path}[{index}]"


def by_name(path: str, index: int, item: Any) -> str:
    """The path of an item of an object's list: by its name if it has one."""
    name = item.get("name") if isinstance(item, dict) else None
    return f"{path}.{_shown(name)}" if isinstance(name, str) else _by_index(path, index, item)


def _walk(data: Any, path: str, name: str, item_path: Callable[[str, int, Any], str]) -> Iterator[PlainSecret]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _entry(str(key), value, data, path, name, item_path)
    elif isinstance(data, list) and data and all(isinstance(item, str) for item in data):
        for index, variable in secret_words(data).items():
            yield PlainSecret(f"{path}[{index}]", variable, data[index], _in_words(variable))
    elif isinstance(data, list):
        for index, item in enumerate(data):
            yield from _walk(item, item_path(path, index, item), name, item_path)
    elif isinstance(data, str):
        yield from _text(data, path, name, item_path)
    elif isinstance(data, int) and not isinstance(data, bool) and gives_away(name, shorten(data)):
        yield PlainSecret(path, name, shorten(data), ELSEWHERE)


def _entry(
    key: str, value: Any, mapping: dict[Any, Any], path: str, name: str, item_path: Callable[[str, int, Any], str]
) -> Iterator[PlainSecret]:
    """The secrets of one entry of a mapping. name: what the mapping is called; a field `value` has the name beside it, or else that of the mapping."""
    where = f"{path}.{_shown(key)}" if path else _shown(key)
    if _shown(key) != key:
        yield PlainSecret(where, "", key, ELSEWHERE, reason=KEY_REASON)
    beside = mapping.get("name")
    named = (beside if isinstance(beside, str) else name) if key == "value" else key
    yield from _walk(value, where, named, item_path)


def _text(text: str, path: str, name: str, item_path: Callable[[str, int, Any], str]) -> Iterator[PlainSecret]:
    if f".{path}".endswith(tuple(f".{field}" for field in REFERENCES)):
        name = ""
    inside = _in_json(text, path, name, item_path)
    if inside is not None:
        yield from inside
        return
    found = [(number, line) for number, line in enumerate(text.split("\n"), 1) if secret_in(line) is not None]
    if found and "\n" in text:
        yield from (PlainSecret(path, name, line, _fix(path, name), number) for number, line in found)
    elif (variable := secret_in(text)) is not None and path.endswith(WORDS_OF_COMMANDS):
        yield PlainSecret(path, name, text, _in_words(variable))
    elif variable is not None or gives_away(name, text):
        yield PlainSecret(path, name, text, _fix(path, name))


def _in_json(text: str, path: str, name: str, item_path: Callable[[str, int, Any], str]) -> list[PlainSecret] | None:
    """The secrets in the object or list that the text is in JSON; None if it is none, or one that is nested too deep."""
    if not text.startswith(("{", "[")):
        return None
    try:
        return [*_walk(json.loads(text), path, name, item_path)]
    except (ValueError, RecursionError):
        return None


def _shown(key: str) -> str:
    """The key as it may stand in a path."""
    return MASK if gives_away("", key) else key


def _fix(path: str, name: str) -> str:
    """What to write in the place of the value: variables of the experiment and of pods can name an entry of a Secret."""
    parts = path.split(".")
    if "env" in parts or any(part.startswith("env[") for part in parts):
        if parts[-1] == "value":
            return f"write `valueFrom: {{secretKeyRef: {{name: SECRET, key: KEY}}}}` for {name}"
        return f"write `{name}: {{secret: {{name: SECRET, key: KEY}}}}`"
    return ELSEWHERE


def _in_words(variable: str) -> str:
    """What to write in a command instead; Kubernetes puts the variable's value in."""
    return f"write `$({variable})` in its place, and `env: {{{variable}: {{secret: {{name: SECRET, key: KEY}}}}}}`"
