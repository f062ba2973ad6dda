"""From the text of a preview to what it says, without secrets: engine events, a JSON object per line, or the digest,
one JSON object.

Whatever a newer engine or a broken file has in it: a preview comes out, which says what could not be read, or an
`InputError`. Debug messages carry secrets in clear; they are dropped here.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

from msgspec import structs

from trainform.console.lines import MASK
from trainform.errors import InputError, Problem
from trainform.manifests.manifest import mapping
from trainform.review.engine_events import (
    DIGEST,
    READERS,
    REFRESH,
    Raw,
    RawStep,
    name_of,
    of_digest,
    of_stream,
    same,
    text_of,
)
from trainform.review.marks import SIGNATURE
from trainform.review.masking import Masks, States
from trainform.review.policies import refusal
from trainform.review.preview import Message, PolicyResult, Preview, State, Step

STDIN = "<stdin>"
LARGEST = 256 << 20
"""Characters of a preview that is read."""
STREAM_COMMAND = "PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true pulumi preview --json --non-interactive -s STACK > FILE"

COMPONENT = "trainform:index:TrainingJob"
# Parts of one replacement; which comes first depends on what the provider can do.
REPLACEMENT = ("replace", "create-replacement", "delete-replaced")
NO_REASON = "preview failed"

DIGEST_LACKS = (
    "A digest has no policy results, failed operations and internal errors of the engine.",
    "A digest has no unchanged resources: a claim that is no longer kept and a failed `pulumi up` are not seen.",
)
DIGEST_OF_REFRESH = "A digest omits refresh results of resources without another step."
INCOMPLETE = (
    "The preview is incomplete: it ends before the engine's summary, so steps, findings of policies and errors may "
    "be missing."
)
# A digest begins a line, unless text stands before it that does not end its own; so may a few lines of other text.
MOST_BEGINNINGS = 64
OF_DIGEST = frozenset({"steps", "changeSummary", "diagnostics"})

Looked = tuple[States, tuple[str, ...]]
_BEGINNING = re.compile(r'^\{|\{(?=\r?\n    ")', re.MULTILINE)
_EVENT = "Event"
_SEQUENCE = '{"sequence"'


def _finite(text: str) -> float | str:
    """Return the number; as text if JSON has no such number (NaN, 1e999)."""
    number = float(text)
    return number if math.isfinite(number) else text


DECODER = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


def read_preview(text: str, source: str = STDIN) -> Preview:
    """Return the preview in the text. source: the name of its file. InputError if it is none."""
    text = text.removeprefix("\ufeff")
    if len(text) > LARGEST:
        _refuse(source, f"it has more than {LARGEST >> 20} MiB", "give the preview of one stack alone")
    events, unreadable = _events(text)
    if events:
        raw = of_stream(events)
        raw.unreadable += unreadable
    else:
        raw = of_digest(_digest(text, source))
    return _preview(raw, Masks(SIGNATURE in text or MASK in text))


def _refuse(source: str, reason: str, fix: str) -> NoReturn:
    raise InputError([Problem(source, None, reason, fix)])


# --- the two forms


def _events(text: str) -> tuple[list[dict[str, Any]], int]:
    """Return the engine's events, and how many cannot be read. Programs may write before them."""
    events: list[dict[str, Any]] = []
    unreadable = 0
    for line in text.split("\n") if f'{_EVENT}"' in text else ():
        start = line.find('{"')
        try:
            found = DECODER.raw_decode(line, start)[0] if start >= 0 else {}
        except (ValueError, RecursionError):
            unreadable += f'{_EVENT}"' in line or _SEQUENCE in line
            continue
        if _is_event(found):
            events.append(found)
    return events, unreadable


def _is_event(found: Mapping[str, Any]) -> bool:
    return any(key in READERS for key in found) or ("sequence" in found and any(key.endswith(_EVENT) for key in found))


def _digest(text: str, source: str) -> dict[str, Any]:
    """Return the digest. InputError if the text has none."""
    for beginning in itertools.islice(_BEGINNING.finditer(text), MOST_BEGINNINGS):
        try:
            found, _ = DECODER.raw_decode(text, beginning.end() - 1)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and found.keys() & OF_DIGEST and "result" not in found:
            return found
    reason = "it has no preview of Pulumi in JSON that can be read to its end" if text.strip() else "it is empty"
    _refuse(source, reason, f"make it again with: {STREAM_COMMAND}")


# --- to a preview without secrets


def _preview(raw: Raw, masks: Masks) -> Preview:
    whole = list(_collapsed(raw.steps))
    not_checked = [*(DIGEST_LACKS if raw.form == DIGEST else ()), *(() if raw.ended else (INCOMPLETE,))]
    if raw.form == DIGEST and any(step.operation == REFRESH for step in whole):
        not_checked.append(DIGEST_OF_REFRESH)
    if raw.unreadable:
        unreadable = f"{raw.unreadable} event{'s or steps' if raw.unreadable > 1 else ' or step'} cannot be read"
        not_checked.append(f"The preview is incomplete: {unreadable}.")
    looked, found = ([(step, _looked(step, masks)) for step in given] for given in (whole, _refreshed(raw.steps)))
    masks.end_looks()
    steps, refreshed = (tuple(_shown_step(*each, masks) for each in given) for given in (looked, found))
    shown = (_shown_message(message, masks) for message in raw.messages)
    messages = tuple(message for message in shown if message.text)
    return Preview(
        raw.form,
        steps,
        tuple(_shown_policy(result, masks) for result in raw.policies),
        messages,
        _failure(raw, messages, masks),
        tuple(not_checked),
        masks.count,
        bool(raw.unreadable),
        None if raw.packs is None else {masks.name(name): masks.name(tag) for name, tag in raw.packs.items()},
        refreshed,
    )


def _shown_message(message: Message, masks: Masks) -> Message:
    """Return the message without the word of its severity, which a digest and some programs put before it."""
    text, word = masks.text(message.text), f"{message.severity}:"
    while text.startswith(word):
        text = text.removeprefix(word).lstrip()
    return Message(message.severity, text, masks.name(message.urn))


def _failure(raw: Raw, messages: Iterable[Message], masks: Masks) -> str:
    """Return why the preview failed: its first error, or else the policy that refuses the change."""
    errors = [message.text for message in messages if message.severity == "error" and message.text != NO_REASON]
    failures = [*errors, *map(masks.text, raw.failures)]
    if failures:
        return failures[0].strip()
    if not raw.ended:
        return INCOMPLETE
    if raw.result == "canceled":
        return "The preview was cancelled."
    if raw.result != "failed":
        return ""
    refused = refusal(_shown_policy(result, masks) for result in raw.policies)
    return refused or "The engine reports that the preview failed, and not why."


def _collapsed(steps: Iterable[RawStep]) -> Iterator[RawStep]:
    """Yield the steps, those of a replacement as one. A replaced object that an earlier `up` has left is deleted alone.
    A refresh before another step does not count as a step: the other begins with what was found."""
    whole: list[RawStep] = []
    replaced: dict[str, RawStep] = {}
    steps = list(steps)
    planned = {step.urn for step in steps if step.operation != REFRESH}
    # An alias gives a resource another type (a job on another operator): its old side is deleted under the old URN.
    urns = {text_of(mapping(step.old).get("urn")): step.urn for step in steps if step.operation in REPLACEMENT[:2]}
    for step in steps:
        if step.operation == REFRESH and step.urn in planned:
            continue
        if step.operation not in REPLACEMENT:
            whole.append(step)
            continue
        urn = urns.get(step.urn, step.urn)
        if urn in replaced:
            replaced[urn].add(step)
        else:
            replaced[urn] = step
            whole.append(step)
    for step in whole:
        if step.parts & {"replace", "create-replacement"}:
            step.operation = "replace"
        yield step


def _refreshed(steps: list[RawStep]) -> list[RawStep]:
    """Return the refreshes that found another state. In a digest it is the one with which the next step begins."""
    # an object that an earlier `up` has left has the URN of the one in its place
    others = (step for step in reversed(steps) if mapping(step.old).get("delete") is not True)
    after = {step.urn: step for step in others if step.operation != REFRESH}
    found = []
    for step in steps:
        if step.operation != REFRESH or step.old is None:
            continue
        new = after[step.urn].old if step.urn in after and same(step.old, step.new) else step.new
        if new is None or not same(mapping(step.old.get("inputs")), mapping(new.get("inputs"))):
            found.append(structs.replace(step, new=new))
    return found


def _looked(step: RawStep, masks: Masks) -> Looked:
    old, new = mapping(step.old), mapping(step.new)
    inputs, outputs = ([mapping(state.get(key)) for state in (old, new)] for key in ("inputs", "outputs"))
    return masks.look(step.type, step.urn, inputs, outputs)


def _shown_step(step: RawStep, looked: Looked, masks: Masks) -> Step:
    states, plain = looked
    old, new = map(masks.hide, states)
    return Step(
        masks.name(step.operation),
        masks.name(step.urn),
        masks.name(step.type),
        masks.name(name_of(step.urn)),
        _state(step.old, step, old, masks),
        _state(step.new, step, new, masks),
        tuple(map(masks.name, step.keys)),
        None if step.detail is None else {masks.name(path): masks.name(kind) for path, kind in step.detail.items()},
        tuple(map(masks.name, plain)),
    )


def _state(state: Mapping[str, Any] | None, step: RawStep, inputs: Mapping[str, Any], masks: Masks) -> State | None:
    if state is None:
        return None
    id_, outputs = text_of(state.get("id")), mapping(state.get("outputs"))
    identity = outputs.get("revision") if step.type == COMPONENT else mapping(outputs.get("metadata")).get("uid")
    return State(
        inputs,
        masks.name(id_) if id_ else None,
        masks.name(text_of(state.get("parent"))),
        state.get("retainOnDelete") is True,
        state.get("protect") is True,
        masks.name(text_of(state.get("provider")) or step.provider),
        masks.name(text_of(identity)),
        lambda: mapping(state.get("inputs")),
    )


def _shown_policy(result: PolicyResult, masks: Masks) -> PolicyResult:
    policy, level, urn, pack = map(masks.name, (result.policy, result.level, result.urn, result.pack))
    return PolicyResult(policy, level, urn, masks.text(result.text), pack)
