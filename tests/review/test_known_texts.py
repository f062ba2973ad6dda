"""A text that is a secret in one place of a preview is masked in every other, as a whole."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.support import previews
from tests.support.previews import CONFIG_MAP, SECRET, secret, state, step_event, urn
from trainform.console.lines import MASK
from trainform.review.read import read_preview

PLAIN = "Zq9-winter-otter-77"
ENCODED = base64.b64encode(PLAIN.encode()).decode()
OTHER = urn(CONFIG_MAP, "notes")


def shown(type_: str, old: Any, new: Any, told: str = PLAIN) -> str:
    """All that is kept of a preview with such a step, an object in which the text stands, and an error that quotes
    it."""
    events = [
        step_event("update", urn(type_, "it"), state(old), state(new)),
        step_event("create", OTHER, None, state({"data": {"note": f"see {told}.", "other": "a seal"}})),
        previews.diagnostic("error", f"cannot use {told}!\nask the team"),
        previews.policy("TF-ENV-1", f"{told} is not allowed", OTHER),
    ]
    return repr(read_preview(previews.stream(*events)))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"cfg": PLAIN}, {"cfg": secret()}),
        ({"cfg": ["x", {"a": [PLAIN]}]}, {"cfg": secret()}),
        ({}, {"cfg": secret(PLAIN)}),
        ({}, {"cfg": secret({"a": [{"b": PLAIN}]})}),
        ({}, {"stringData": secret({"a": PLAIN})}),
    ],
)
def test_a_marked_secret_is_masked_everywhere(old: Any, new: Any) -> None:
    kept = shown(CONFIG_MAP, old, new)
    assert PLAIN not in kept
    assert "a seal" in kept
    assert "ask the team" in kept


@pytest.mark.parametrize("told", [PLAIN, ENCODED])
@pytest.mark.parametrize(
    "inputs", [{"data": {"p": ENCODED}}, {"stringData": {"p": PLAIN}}, {"kind": "Secret", "data": {"p": ENCODED}}]
)
def test_what_a_secret_holds_is_known_in_base64_and_out_of_it(inputs: Any, told: str) -> None:
    type_ = CONFIG_MAP if "kind" in inputs else SECRET
    assert told not in shown(type_, inputs, inputs, told)
    assert told not in shown(type_, {}, inputs, told)


@pytest.mark.parametrize(
    ("plain", "told"),
    [
        ("first of all\n  k9Fq-orchard-lantern-44\nlast", "k9Fq-orchard-lantern-44"),
        ('a "quoted" öffnung', json.dumps('a "quoted" öffnung', ensure_ascii=False)[1:-1]),
        ("otter-77-up\n", "otter-77-up"),
        ("b3R0ZXItNzctdXAK", "otter-77-up"),
    ],
)
def test_the_forms_of_a_secret_are_known(plain: str, told: str) -> None:
    assert told not in shown(CONFIG_MAP, {}, {"a": secret(plain)}, told)


@pytest.mark.parametrize("value", ["k7-q2", "4711"])
def test_a_short_secret_is_masked_where_it_is_the_whole_value(value: str) -> None:
    events = [
        step_event("update", urn(CONFIG_MAP, "it"), state({"a": value}), state({"a": secret()})),
        step_event("create", OTHER, None, state({"data": {"a": value, "b": f"bert-{value}"}})),
    ]
    preview = read_preview(previews.stream(*events))
    assert preview.steps[1].new is not None
    assert preview.steps[1].new.inputs == {"data": {"a": MASK, "b": f"bert-{value}"}}


MANIFEST = f"apiVersion: v1\nkind: Secret\nstringData:\n  p: {PLAIN}\n"


@pytest.mark.parametrize(
    ("type_", "inputs"),
    [
        ("kubernetes:core/v1:SecretList", {"items": [{"metadata": {"name": "a"}, "stringData": {"p": PLAIN}}]}),
        ("kubernetes:core/v1:SecretPatch", {"data": {"p": ENCODED}}),
        ("kubernetes:yaml/v2:ConfigGroup", {"yaml": MANIFEST}),
        ("kubernetes:yaml/v2:ConfigGroup", {"yaml": [f"{{kind: 'Secret', stringData: {{p: {PLAIN}}}}}"]}),
    ],
)
def test_a_secret_of_any_type_is_masked(type_: str, inputs: Any) -> None:
    kept = repr(read_preview(previews.stream(step_event("update", urn(type_, "it"), state(inputs), state(inputs)))))
    assert PLAIN not in kept
    assert ENCODED not in kept


@pytest.mark.parametrize("hidden", ["\u200b", "\x1b]8;;https://example.com\x1b\\"])
def test_a_secret_that_something_unseen_splits_is_known(hidden: str) -> None:
    told = f"cannot use\t{PLAIN[:9]}{hidden}{PLAIN[9:]}\nfor it"
    made = step_event("create", urn(SECRET, "it"), None, state({"stringData": {"p": PLAIN}}))
    (message,) = read_preview(previews.stream(made, previews.diagnostic("error", told))).messages
    assert message.text == f"{MASK}\nfor it"


NAMED = {"metadata": {"name": "bert-settings", "namespace": "ai-namespace"}, "data": {"a": "ai-namespace is there"}}


@pytest.mark.parametrize("told", ["ai-namespace", "bert-settings", "bert.dev", "trainform", "ConfigMap"])
@pytest.mark.parametrize("form", [previews.stream, previews.digest])
def test_a_secret_that_is_a_name_is_masked_in_its_own_place_alone(told: str, form: Any) -> None:
    encoded = base64.b64encode(told.encode()).decode()
    held = {"metadata": {"name": "bert-login"}, "stringData": {"a": told}, "data": {"b": encoded}}
    object_ = step_event("update", urn(CONFIG_MAP, "it"), state(NAMED), state(NAMED))
    made = read_preview(form(step_event("create", urn(SECRET, "login"), None, state(held)), object_))
    secret_step, settings = made.steps
    assert secret_step.new is not None
    assert secret_step.new.inputs["stringData"] == {"a": MASK}
    assert secret_step.new.inputs["data"] == {"b": MASK}
    assert settings.new is not None
    assert settings.new.inputs == NAMED
    assert settings.urn == urn(CONFIG_MAP, "it")
    assert encoded not in repr(made)


@pytest.mark.parametrize("side", ["old", "new"])
@pytest.mark.parametrize("key", ["name", "namespace"])
def test_a_name_that_a_side_says_to_be_secret_is_masked_everywhere(side: str, key: str) -> None:
    sides = {
        "old": state({"metadata": {key: "winter-otter"}}),
        "new": state({"metadata": {key: "winter-otter"}}),
        side: state({"metadata": {key: secret("winter-otter")}}),
    }
    events = [
        step_event("update", urn(CONFIG_MAP, "it"), sides["old"], sides["new"]),
        step_event("create", urn(CONFIG_MAP, "other"), None, state({"data": {"a": "it is winter-otter"}})),
        step_event("create", urn(CONFIG_MAP, "third"), None, state({"metadata": {"namespace": "winter-otter"}})),
        previews.diagnostic("error", "winter-otter is not there"),
    ]
    assert "winter-otter" not in repr(read_preview(previews.stream(*events)))
