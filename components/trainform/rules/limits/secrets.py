"""Secrets as plain text, in any field: previews would show them, and the state would keep them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

from msgspec import structs

from trainform import defaults
from trainform.console.secrets import has_shape, is_secret, name_of, secret_in, secret_words
from trainform.errors import MASK, shorten
from trainform.manifests.manifest import decoded
from trainform.rules.limits.rule import Finding, Judged
from trainform.spec.environment import Environment

REASON = "the value looks like a secret, and would be shown in previews and kept in state"
KEY_REASON = "the key looks like a secret, and would be shown in previews and kept in state"
ELSEWHERE = "remove it; let the pods read it from a Secret"
OTHER_NAME = "; if it is no secret, write `$(OTHER)`, a variable of another name that holds it"

# Fields of a Secret that may hold secrets; its labels and annotations are as open as those of other objects.
SECRET_CONTENT = ("data", "stringData")
# Fields of trainform that hold one word of a command.
WORDS_OF_COMMANDS = ("script", "repository")
# A field of a ConfigMap whose values are in base64.
ENCODED = "binaryData"

SECRET_KEY_REF = "valueFrom: {secretKeyRef: {name: SECRET, key: KEY}}"  # noqa: S105 - no secret
PATCHES = frozenset(["pod_overrides", "manifest_overrides"])


def plain_secrets(judged: Judged, environment: Environment) -> Iterator[Finding]:
    """Yield texts that look like secrets, in the user's file, or in the pods and objects of a program."""
    if judged.written:
        yield from (finding for _, finding in _search(judged.written, _index_path))
        return
    texts = set()
    for template in judged.templates:
        for text, finding in _search(template.body, _named_path):
            texts.add(text)
            yield structs.replace(finding, template=template)
    searched = {id(template.body) for template in judged.templates}  # most objects hold the same mappings
    for key, body in judged.objects.items():
        for text, finding in _search(_without_content(body), _named_path, searched):
            if text not in texts:
                yield structs.replace(finding, key=key)


def _without_content(body: Any) -> Any:
    """Return the object without the data of a Secret; a list of objects without those of each."""
    if not isinstance(body, dict):
        return body
    # other groups have kinds of this name too
    if body.get("kind") == "Secret" and body.get("apiVersion") in (None, "v1"):
        return {key: value for key, value in body.items() if key not in SECRET_CONTENT}
    if isinstance(body.get("items"), list):
        return {**body, "items": [_without_content(item) for item in body["items"]]}
    return body


ItemPath = Callable[[str, int, Any], str]
"""Returns the path of an item of a list from the path of the list, the index and the item."""


def _index_path(path: str, index: int, item: Any) -> str:
    return f"{path}[{index}]"


def _named_path(path: str, index: int, item: Any) -> str:
    """Return the path of an item of an object's list, by its name if it has one."""
    name = item.get("name") if isinstance(item, dict) else None
    if not isinstance(name, str):
        return f"{path}[{index}]"
    return f"{path}.{name if secret_in(name) is None else MASK}"


def _search(
    data: Any, item_path: ItemPath, searched: Set[int] = frozenset(), path: str = "", name: str = ""
) -> Iterator[tuple[str, Finding]]:
    """Yield each text in plain data that holds a secret, with its finding, which does not contain the secret.

    searched: the identities of mappings to leave out. path: of the data. name: of the field or variable that holds it.
    """
    if isinstance(data, dict):
        for key, value in data.items() if id(data) not in searched else ():
            is_plain = secret_in(str(key)) is None
            shown = str(key) if is_plain else MASK
            where = f"{path}.{shown}" if path else shown
            if not is_plain:
                yield str(key), Finding(where, MASK, KEY_REASON, ELSEWHERE)
            if key == ENCODED and isinstance(value, dict):
                value = {file: decoded(text) for file, text in value.items()}
            inner = name_of(key, data, name) if key == "value" else str(key)
            yield from _search(value, item_path, searched, where, inner)
    elif isinstance(data, list) and {*map(type, data)} == {str}:
        for index, variable in secret_words(data).items():
            fix = _fix_command(path, variable, data[index])
            yield data[index], Finding(f"{path}[{index}]", MASK, REASON, fix)
    elif isinstance(data, list):
        for index, item in enumerate(data):
            yield from _search(item, item_path, searched, item_path(path, index, item), name)
    elif data is not None and is_secret(name, data):
        text = data if isinstance(data, str) else shorten(data)
        yield text, Finding(path, MASK, f"{REASON}{_line(text)}", _fix(path, name, text))


def _line(text: str) -> str:
    """Return the first line of a longer text that holds a secret, in words; "" if no line alone does."""
    lines = text.splitlines()
    found = (number for number, each in enumerate(lines, 1) if len(lines) > 1 and secret_in(each) is not None)
    return next((f" (line {number} of the text)" for number in found), "")


def _fix(path: str, name: str, text: str) -> str:
    """Return the fix: variables of the experiment and of pods can refer to an entry of a Secret."""
    parts = path.split(".")
    if parts[-1] in WORDS_OF_COMMANDS:
        return _fix_command(path, secret_in(text) or "TOKEN", text)
    if "env" not in parts and not any(part.startswith("env[") for part in parts):
        return ELSEWHERE
    if parts[-1] == "value":
        return f"write `{SECRET_KEY_REF}` for {name}{_other_name(text)}"
    reference = SECRET_KEY_REF if _is_in_patch(parts) else "secret: {name: SECRET, key: KEY}"
    return f"write `{name}: {{{reference}}}`{_other_name(text)}"


def _fix_command(path: str, variable: str, text: str) -> str:
    """Return the fix for a command: a variable, which Kubernetes replaces by its value."""
    entry = f"{{{variable}: {{secret: {{name: SECRET, key: KEY}}}}}}"
    if _is_in_patch(path.split(".")):
        # The plan's variables stand in the main container, and a list would replace them. Another container has none.
        has_variables = f".containers.{defaults.MAIN_CONTAINER}." in path
        entry = (
            f"{{{variable}: {{{SECRET_KEY_REF}}}}}" if has_variables else f"[{{name: {variable}, {SECRET_KEY_REF}}}]"
        )
    return f"write `$({variable})` in its place, and `env: {entry}`{_other_name(text)}"


def _is_in_patch(parts: Sequence[str]) -> bool:
    """Return True if the path leads into a merge patch, where fields are those of Kubernetes."""
    return not PATCHES.isdisjoint(parts)


def _other_name(text: str) -> str:
    """Return the fix if the text is not a secret; "" if it has the shape of one, which is found under any name."""
    return "" if has_shape(text) else OTHER_NAME
