"""Previews as the engine writes them, made of plain data: event streams, digests, and the states and marks in them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

STACK = "bert.dev"
PROJECT = "trainform"
ROOT_TYPE = "pulumi:pulumi:Stack"
TRAINING_JOB = "trainform:index:TrainingJob"
ROLE_GROUP = "trainform:index:RoleGroup"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
SECRET = "kubernetes:core/v1:Secret"  # noqa: S105 - a type
CLAIM = "kubernetes:core/v1:PersistentVolumeClaim"
VOLCANO_JOB = "kubernetes:batch.volcano.sh/v1alpha1:Job"
UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

Data = dict[str, Any]


def urn(type_: str, name: str, *above: str) -> str:
    """Return the URN of a resource. above: the types of the components that it is in, the outermost first."""
    types = "$".join((*above, type_))
    return f"urn:pulumi:{STACK}::{PROJECT}::{types}::{name}"


def root() -> str:
    """Return the URN of the stack itself."""
    return urn(ROOT_TYPE, f"{PROJECT}-{STACK}")


def secret(plain: object = None) -> Data:
    """Return a secret as the engine marks it in a stream. plain: its value, where the engine tells it."""
    mark = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
    return {**mark, "ciphertext": "[secret]"} if plain is None else {**mark, "plaintext": json.dumps(plain)}


def state(inputs: Mapping[str, Any], outputs: Mapping[str, Any] | None = None, **more: Any) -> Data:
    """One state of a resource, in both forms."""
    made = {"inputs": dict(inputs), "outputs": {} if outputs is None else dict(outputs), "id": "", "parent": root()}
    return {**made, "custom": True, "provider": "", **more}


def step_event(
    op: str,
    where: str,
    old: Mapping[str, Any] | None = None,
    new: Mapping[str, Any] | None = None,
    detail: Mapping[str, str] | None = None,
    **more: Any,
) -> Data:
    """Return the event of a step. detail: the engine's kinds of difference by path; None: the provider gave none."""
    differences = (
        None if detail is None else {path: {"diffKind": kind, "inputDiff": True} for path, kind in detail.items()}
    )
    type_ = where.split("::")[2].rpartition("$")[2]
    states = {"old": _located(old, where, type_), "new": _located(new, where, type_)}
    metadata = {"op": op, "urn": where, "type": type_, **states, "detailedDiff": differences, "provider": "", **more}
    return {"resourcePreEvent": {"metadata": metadata, "planning": True}}


def diagnostic(severity: str, message: str, where: str = "", **more: Any) -> Data:
    """Return a message of the engine."""
    return {"diagnosticEvent": {"urn": where, "message": message, "color": "never", "severity": severity, **more}}


def policy(name: str, message: str, where: str, level: str = "mandatory") -> Data:
    """Return what a policy says of a resource."""
    body = {
        "resourceUrn": where,
        "message": message,
        "color": "never",
        "policyName": name,
        "policyPackName": "trainform",
    }
    return {
        "policyEvent": {
            **body,
            "policyPackVersion": "1.0.0",
            "policyPackVersionTag": "1.0.0",
            "enforcementLevel": level,
        }
    }


def summary(**more: Any) -> Data:
    """Return the event at the end of a preview."""
    body = {"maybeCorrupt": False, "durationSeconds": 2, "resourceChanges": {}, "PolicyPacks": {}, "isPreview": True}
    return {"summaryEvent": {**body, "result": "succeeded", **more}}


def stream(*events: Mapping[str, Any], ended: bool = True) -> str:
    """Return the text of a stream. ended: with the events that end it."""
    prelude: Data = {"preludeEvent": {"config": {"trainform:environment": "dev"}}}
    whole = [prelude, *events, *([summary(), {"cancelEvent": {}}] if ended else [])]
    return lines({"sequence": number, "timestamp": 1763858400, **event} for number, event in enumerate(whole))


def lines(events: Iterable[Mapping[str, Any]]) -> str:
    """Events as the engine writes them."""
    return "".join(f"{json.dumps(event, separators=(',', ':'), ensure_ascii=False)}\n" for event in events)


def digest(*events: Mapping[str, Any]) -> str:
    """Return the text of the digest with the same steps and messages; what a digest does not have is left out."""
    steps = [_digest_step(event["resourcePreEvent"]["metadata"]) for event in events if "resourcePreEvent" in event]
    told = [event["diagnosticEvent"] for event in events if "diagnosticEvent" in event]
    diagnostics = [
        {key: item[key] for key in ("urn", "message", "severity")} for item in told if item["severity"] != "debug"
    ]
    whole = {"config": {"trainform:environment": "dev"}, "steps": steps, "diagnostics": diagnostics}
    return json.dumps({**whole, "duration": 2138904112, "changeSummary": {"same": 1}}, indent=4) + "\n"


def _located(given: Mapping[str, Any] | None, where: str, type_: str) -> Data | None:
    return None if given is None else {"type": type_, "urn": where, **given}


def _digest_step(metadata: Mapping[str, Any]) -> Data:
    states = {
        name: _plain(metadata[side]) for name, side in (("oldState", "old"), ("newState", "new")) if metadata[side]
    }
    step = {"op": metadata["op"], "urn": metadata["urn"], "provider": metadata["provider"], **states}
    step |= {
        name: metadata[key] for name, key in (("diffReasons", "diffs"), ("replaceReasons", "keys")) if key in metadata
    }
    if metadata["detailedDiff"] is None:
        return step
    differences = metadata["detailedDiff"].items()
    return {**step, "detailedDiff": {path: {"kind": item["diffKind"], "inputDiff": True} for path, item in differences}}


def _plain(value: Any) -> Any:
    """Return the value with the digest's mark in the place of each secret."""
    if isinstance(value, dict):
        return (
            "[secret]"
            if "4dabf18193072939515e22adb298388d" in value
            else {key: _plain(item) for key, item in value.items()}
        )
    return [_plain(item) for item in value] if isinstance(value, list) else value


def cleaned(text: str, namespace: str) -> str:
    """Return a recorded preview without what no reader needs, what differs from run to run, and the messages for
    debugging, which hold secrets."""
    text = _TIME.sub("2026-01-01T00:00:00Z", _IDENTITY.sub("7d6c3b1e-0000-4000-8000-000000000000", text))
    text = re.sub(rf"(?<![\w-]){namespace}(?![\w-])", "ai-namespace", text)
    if not text.lstrip().startswith('{"'):
        return json.dumps(_needed(json.loads(text[text.index("{") :])), indent=1) + "\n"
    events = [json.loads(line) for line in text.splitlines() if line.startswith('{"')]
    needed = [{**_needed(event), "timestamp": 0} for event in events if _is_needed(event)]
    return lines({**event, "sequence": number} for number, event in enumerate(needed))


_TIME = re.compile(r"20\d\d-\d\d-\d\dT[0-9:.]+(Z|[+-][0-9:]+)")
_IDENTITY = re.compile(rf"(?!{UNKNOWN_TEXT})[0-9a-f]{{8}}(-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}}")
_NOT_NEEDED = ("managedFields", "propertyDependencies", "dependencies", "sourcePosition", "stackTrace", "config")


def _is_needed(event: Mapping[str, Any]) -> bool:
    is_told = event.get("diagnosticEvent", {}).get("severity") != "debug"
    outputs = event.get("resOutputsEvent", {}).get("metadata", {})
    return bool(is_told and (outputs.get("op") == "refresh" or outputs.get("type", TRAINING_JOB) == TRAINING_JOB))


def _needed(value: Any) -> Any:
    """Return the value without these fields. Of an object's outputs, only the metadata is read."""
    if isinstance(value, list):
        return [_needed(item) for item in value]
    if not isinstance(value, dict):
        return value
    needed = {key: _needed(item) for key, item in value.items() if key not in _NOT_NEEDED}
    metadata = needed.get("outputs", {}).get("metadata") if isinstance(needed.get("outputs"), dict) else None
    return needed if metadata is None else {**needed, "outputs": {"metadata": metadata}}
