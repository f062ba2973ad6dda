"""The engine's events and its digest, with secrets. Only `read` uses them, and keeps nothing of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct

from trainform.manifests.manifest import mapping
from trainform.review.preview import Message, PolicyResult

SEVERITIES = {"info": "info", "info#err": "info", "warning": "warning", "error": "error"}
"""Severities of messages that are kept. Those for debugging tell secrets."""
STREAM, DIGEST = "stream", "digest"
OF_PACK = "|"  # between the name of a policy pack and where it is: `trainform|local|policy`
REFRESH = "refresh"


def same(one: Any, other: Any) -> bool:
    """Return whether both are equal. What is nested deeper than Python compares is not."""
    try:
        return bool(one == other)
    except RecursionError:
        return False


class RawStep(Struct):
    """A step as the engine writes it, of which every part may have any type, with secrets."""

    operation: str
    urn: str
    type: str
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None
    keys: tuple[str, ...]
    detail: Mapping[str, str] | None
    provider: str
    parts: set[str] = set()

    def add(self, other: RawStep) -> None:
        """Make it one step with another part of the same replacement."""
        self.parts.add(other.operation)
        if other.new is not None:
            self.urn, self.type = other.urn, other.type
        self.old = other.old if self.old is None else self.old
        self.new = other.new if self.new is None else self.new
        self.keys = tuple(sorted({*self.keys, *other.keys}))
        self.detail = other.detail if self.detail is None else self.detail


class Raw(Struct):
    """A preview as it was read, with secrets; nothing but `_preview` gets it."""

    form: str
    steps: list[RawStep] = []
    policies: list[PolicyResult] = []
    messages: list[Message] = []
    failures: list[str] = []
    made: dict[str, RawStep] = {}  # the last step of each URN that has a new state
    ended: bool = False
    result: str = ""
    unreadable: int = 0
    packs: Mapping[str, str] | None = None
    """The policy packs that ran, by name, with their versions; None if nothing says it."""


def of_stream(events: Iterable[Mapping[str, Any]]) -> Raw:
    """Return the events of `pulumi preview --json` as a stream."""
    raw = Raw(STREAM)
    for event in events:
        for key, body in event.items():
            if key not in READERS:
                continue
            if isinstance(body, dict):
                READERS[key](raw, body)
            else:
                raw.unreadable += 1
    return raw


def of_digest(digest: Mapping[str, Any]) -> Raw:
    """Return the steps of the one object that `pulumi preview --json` prints."""
    raw = Raw(DIGEST, ended="steps" in digest or "changeSummary" in digest)
    for data in _items(digest.get("steps")):
        _add_step(raw, data, DIGEST_NAMES)
    for diagnostic in _items(digest.get("diagnostics")):
        _diagnostic(raw, diagnostic if isinstance(diagnostic, dict) else {})
    return raw


STREAM_NAMES = {"old": "old", "new": "new", "keys": "keys", "diffKind": "diffKind"}
DIGEST_NAMES = {"old": "oldState", "new": "newState", "keys": "replaceReasons", "diffKind": "kind"}
"""What the fields of a step are called in each form."""


def _add_step(raw: Raw, data: Any, names: Mapping[str, str]) -> None:
    step = _step(data, names)
    if step is None:
        raw.unreadable += 1
    else:
        raw.steps.append(step)
        raw.made.pop(step.urn, None)
        if step.new is not None:
            raw.made[step.urn] = step


def _outputs(raw: Raw, body: Mapping[str, Any]) -> None:
    """Add the state that a refresh has found, which comes after its step."""
    metadata = mapping(body.get("metadata"))
    new = metadata.get("new")
    step = raw.made.get(text_of(metadata.get("urn")))
    if step is not None and step.operation == REFRESH:
        step.new = new if isinstance(new, dict) else None


def _failed_operation(raw: Raw, body: Mapping[str, Any]) -> None:
    metadata = mapping(body.get("metadata"))
    operation, urn = text_of(metadata.get("op")), text_of(metadata.get("urn"))
    raw.failures.append(f"The operation {operation} of {name_of(urn)} failed.")


def _diagnostic(raw: Raw, body: Mapping[str, Any]) -> None:
    severity = SEVERITIES.get(text_of(body.get("severity")))
    if severity is None or body.get("ephemeral") is True:
        return
    text = text_of(body.get("message")).strip()  # a prefix only repeats the severity
    if text:
        raw.messages.append(Message(severity, text, text_of(body.get("urn"))))


def _policy(raw: Raw, body: Mapping[str, Any]) -> None:
    names = ("policyName", "enforcementLevel", "resourceUrn", "message", "policyPackName")
    policy, level, urn, text, pack = (text_of(body.get(name)).strip() for name in names)
    raw.policies.append(PolicyResult(policy, level, urn, text, pack))


def _summary(raw: Raw, body: Mapping[str, Any]) -> None:
    raw.ended = True
    raw.result = text_of(body.get("result"))
    packs = body.get("PolicyPacks")
    if isinstance(packs, dict):
        raw.packs = {name.partition(OF_PACK)[0]: text_of(tag) for name, tag in sorted(packs.items())}


READERS: Mapping[str, Callable[[Raw, Mapping[str, Any]], None]] = {
    "resourcePreEvent": lambda raw, body: _add_step(raw, body.get("metadata"), STREAM_NAMES),
    "resOutputsEvent": _outputs,
    "resOpFailedEvent": _failed_operation,
    "diagnosticEvent": _diagnostic,
    "stdoutEvent": lambda raw, body: _diagnostic(raw, {"severity": "info", "message": body.get("message")}),
    "policyEvent": _policy,
    # the step has the fields that the policy changes
    "policyRemediationEvent": lambda raw, body: _policy(
        raw, {**body, "enforcementLevel": "remediate", "message": "The policy changes the resource."}
    ),
    "errorEvent": lambda raw, body: raw.failures.append(
        f"The engine ended with an internal error: {text_of(body.get('error'))}"
    ),
    "summaryEvent": _summary,
}
"""What is read of each event. Of all others, and of those of newer engines, nothing is needed."""


def _step(data: Any, names: Mapping[str, str]) -> RawStep | None:
    """Return the step; None if it does not say of which resource it is. names: those of its fields in this form."""
    data = mapping(data)
    operation, urn = text_of(data.get("op")), text_of(data.get("urn"))
    if not operation or not name_of(urn):
        return None
    old, new = (data.get(names[side]) for side in ("old", "new"))
    detail = data.get("detailedDiff")
    return RawStep(
        operation,
        urn,
        urn.split("::", 3)[2].rpartition("$")[2],
        old if isinstance(old, dict) else None,
        new if isinstance(new, dict) else None,
        _texts(data.get(names["keys"])),
        _detail(detail, names["diffKind"]) if isinstance(detail, dict) else None,
        text_of(data.get("provider")),
        {operation},
    )


def _detail(detail: Mapping[str, Any], kind: str) -> dict[str, str]:
    return {path: text_of(mapping(difference).get(kind)) for path, difference in sorted(detail.items())}


def name_of(urn: str) -> str:
    """Return the name in `urn:pulumi:STACK::PROJECT::TYPES::NAME`; empty if it is none of these."""
    parts = urn.split("::", 3)
    return parts[3] if len(parts) == 4 and urn.startswith("urn:pulumi:") else ""


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """Return the value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(sorted({item for item in _items(value) if isinstance(item, str)}))
