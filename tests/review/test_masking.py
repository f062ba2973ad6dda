"""No secret of a preview is in what is kept of it, wherever it stands."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import previews
from tests.support.leaks import HUB_TOKEN as TOKEN
from tests.support.previews import (
    CONFIG_MAP,
    SECRET,
    TRAINING_JOB,
    VOLCANO_JOB,
    secret,
    state,
    step_event,
    urn,
)
from trainform.console.lines import CHANGED_MASK, MASK
from trainform.review.preview import Preview
from trainform.review.read import read_preview

FORMS = [previews.stream, previews.digest]
PLAIN = "wJalrXUtnFEMI/K7MDENG"
JOB = urn(VOLCANO_JOB, "bert-job", TRAINING_JOB)
SSH = urn(SECRET, "bert-ssh", TRAINING_JOB)
RECORD = urn(CONFIG_MAP, "bert-deployed", TRAINING_JOB)
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def preview_of(old: Any, new: Any, where: str = JOB, form: Any = previews.stream, **more: Any) -> Preview:
    """The preview of an update of the inputs."""
    return read_preview(form(step_event("update", where, state(old), state(new), **more)))


def sides(preview: Preview) -> tuple[Any, Any]:
    (step,) = preview.steps
    assert step.old is not None
    assert step.new is not None
    return step.old.inputs, step.new.inputs


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("old", "new", "masked_old", "masked_new"),
    [
        ({"a": PLAIN}, {"a": secret()}, {"a": MASK}, {"a": MASK}),
        ({"a": secret()}, {"a": PLAIN}, {"a": MASK}, {"a": MASK}),
        ({"a": {"b": PLAIN, "c": 1}}, {"a": secret()}, {"a": MASK}, {"a": MASK}),
        ({"a": [PLAIN]}, {"a": {"b": secret()}}, {"a": MASK}, {"a": MASK}),
        ({}, {"a": secret()}, {}, {"a": MASK}),
        ({"a": None}, {"a": secret()}, {"a": None}, {"a": MASK}),
    ],
)
def test_a_place_is_masked_if_either_side_is_secret(
    form: Any, old: Any, new: Any, masked_old: Any, masked_new: Any
) -> None:
    preview = preview_of(old, new, form=form)
    assert sides(preview) == (masked_old, masked_new)
    assert preview.masked == 1


@pytest.mark.parametrize("form", FORMS)
def test_items_of_lists_are_found_by_their_names(form: Any) -> None:
    level = {"name": "NCCL_DEBUG", "value": "INFO"}
    old = {"env": [{"name": "CREDENTIAL_OF_BUCKET", "value": PLAIN}, level]}
    new = {"env": [{**level, "value": "WARN"}, {"name": "CREDENTIAL_OF_BUCKET", "value": secret()}]}
    masked = {"name": "CREDENTIAL_OF_BUCKET", "value": MASK}
    preview = preview_of(old, new, form=form)
    assert sides(preview) == ({"env": [masked, level]}, {"env": [{**level, "value": "WARN"}, masked]})
    assert preview.masked == 1


def test_what_is_secret_in_outputs_is_secret_in_inputs() -> None:
    old = state({"data": {"key.json": PLAIN}}, {"data": {"key.json": secret()}})
    preview = read_preview(previews.stream(step_event("update", RECORD, old, state({"data": {"key.json": PLAIN}}))))
    assert sides(preview) == ({"data": {"key.json": MASK}}, {"data": {"key.json": MASK}})


@pytest.mark.parametrize("form", FORMS)
def test_the_content_of_a_secret_is_masked_however_it_is_given(form: Any) -> None:
    encoded = base64.b64encode(PLAIN.encode()).decode()
    old = {"kind": "Secret", "data": {"password": encoded}, "stringData": {"user": "research-team"}, "type": "Opaque"}
    new = {**old, "data": {"password": "another"}}
    preview = preview_of(old, new, SSH, form)
    content = {"kind": "Secret", "stringData": {"user": MASK}, "type": "Opaque"}
    assert sides(preview) == (
        {**content, "data": {"password": MASK}},
        {**content, "data": {"password": CHANGED_MASK}},
    )
    assert preview.masked == 2
    assert PLAIN not in repr(preview_of({"data": {"a": PLAIN}}, {"data": PLAIN}, SSH, form))
    listed = {"kind": "List", "items": [{"kind": "Secret", "metadata": {"name": "a"}, "stringData": {"a": PLAIN}}]}
    assert PLAIN not in repr(preview_of(listed, listed, JOB, form))


@pytest.mark.parametrize("form", FORMS)
def test_what_kubectl_applied_last_is_read_too(form: Any) -> None:
    body = {"kind": "Secret", "metadata": {"name": "bert-ssh"}, "stringData": {"password": PLAIN}}
    annotated = {"metadata": {"annotations": {LAST_APPLIED: json.dumps(body)}}}
    preview = preview_of(annotated, annotated, RECORD, form)
    expected = {**body, "stringData": {"password": MASK}}
    assert json.loads(sides(preview)[0]["metadata"]["annotations"][LAST_APPLIED]) == expected
    unclear = {"metadata": {"annotations": {LAST_APPLIED: f'{{"stringData": "{PLAIN}"'}}}
    assert sides(preview_of(unclear, {}, RECORD, form))[0] == {"metadata": {"annotations": {LAST_APPLIED: MASK}}}


def test_a_secret_in_one_side_of_json_in_a_text() -> None:
    old, new = ({"data": {"experiment": json.dumps({"env": {"A": value, "B": "1"}})}} for value in (TOKEN, PLAIN))
    before, after = sides(preview_of(old, new, RECORD))
    assert json.loads(before["data"]["experiment"]) == {"env": {"A": MASK, "B": "1"}}
    assert json.loads(after["data"]["experiment"]) == {"env": {"A": CHANGED_MASK, "B": "1"}}
    cut = {"data": {"experiment": new["data"]["experiment"][:-3]}}
    assert sides(preview_of(old, cut, RECORD))[1] == {"data": {"experiment": CHANGED_MASK}}


@pytest.mark.parametrize(
    "inputs",
    [
        {"env": {"WANDB_API_KEY": "hunter2-hunter2"}},
        {"env": [{"name": "DB_PASSWORD", "value": "4711"}]},
        {"command": ["python", "train.py", "--hf-token", "hunter2-hunter2"]},
        {"text": f"export HF={TOKEN}"},
        {"script": f"set -e\nhuggingface-cli login --token {TOKEN}\npython train.py\n"},
        {"file": "-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2-hunter2\n-----END OPENSSH PRIVATE KEY-----\n"},
        {TOKEN: "a key"},
        {"password": 4711471147},
    ],
)
def test_secrets_that_nobody_has_marked(inputs: dict[str, Any]) -> None:
    preview = preview_of(inputs, {})
    for text in (TOKEN, "hunter2", "4711"):
        assert text not in repr(preview)
    assert preview.masked == 1


@pytest.mark.parametrize(
    "inputs",
    [
        {"env": {"HF_TOKEN": {"secret": {"name": "hugging-face", "key": "token"}}}, "ssh": {"secret": "bert-ssh"}},
        {"env": [{"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hugging-face", "key": "token"}}}]},
        {"command": ["python", "train.py", "--pad-token", "<pad>", "--tokens-per-batch", "4096"]},
    ],
)
def test_what_is_no_secret_stays(inputs: dict[str, Any]) -> None:
    preview = preview_of(inputs, inputs)
    assert sides(preview) == (inputs, inputs)
    assert preview.masked == 0


def test_the_text_of_a_variable_that_comes_from_a_secret_on_the_other_side() -> None:
    """It stands in each pod, also in one that goes."""
    reference = {"valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}}

    def job(variable: dict[str, Any], *roles: str) -> dict[str, Any]:
        return {"spec": {role: {"env": [{"name": "LETTER", **variable}]} for role in roles}}

    text = {"value": "quiet-otter"}
    for old, new in (
        (job(text, "worker", "watch"), job(reference, "worker")),
        (job(reference, "a"), job(text, "a", "b")),
    ):
        assert "quiet-otter" not in repr(preview_of(old, new))


def test_the_configuration_of_a_provider_holds_credentials() -> None:
    provider = urn("pulumi:providers:kubernetes", "bert-cluster")
    inputs = {"kubeconfig": "apiVersion: v1\nusers:\n- user: {client-key-data: c2VjcmV0}\n", "context": "dev"}
    assert sides(preview_of(inputs, inputs, provider)) == ({**inputs, "kubeconfig": MASK},) * 2


def test_secrets_in_names_messages_and_policies() -> None:
    where = urn(VOLCANO_JOB, f"bert-{TOKEN}")
    text = previews.stream(
        step_event("create", where, None, state({}, id=TOKEN, parent=where, provider=TOKEN), keys=[TOKEN],
            detail={TOKEN: "add"}),
        previews.diagnostic("error", f"\x1b[31merror\x1b[0m: {TOKEN}\npassword: hunter2-hunter2", where),
        previews.policy(TOKEN, f"found {TOKEN}", where, TOKEN),
        {"errorEvent": {"error": TOKEN}},
        {"resOpFailedEvent": step_event("create", where)["resourcePreEvent"]},
    )  # fmt: skip
    preview = read_preview(text)
    assert TOKEN not in repr(preview)
    assert preview.messages[0].text == f"{MASK}\n{MASK}"
    assert preview.masked > 0


# --- a secret's value alone


def test_secrets_that_the_engine_tells_are_compared() -> None:
    one, other = {"a": secret("one secret")}, {"a": secret("other secret")}
    assert sides(preview_of(one, other))[1] == {"a": CHANGED_MASK}
    assert sides(preview_of(one, one))[1] == {"a": MASK}


# --- anywhere

NAMES = st.sampled_from(["spec", "env", "value", "data", "name", "args", "labels", "kind", "a.b/c", "x"])
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(["a", "1", "{}", "node\nworker", "Secret", previews.UNKNOWN_TEXT]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, item in items for found in paths(item, (*path, key)))]


def put(value: Any, path: tuple[Any, ...], given: Any) -> Any:
    if not path:
        return given
    copy = value.copy()
    copy[path[0]] = put(value[path[0]], path[1:], given)
    return copy


@given(st.data(), st.sampled_from(FORMS), st.booleans(), st.sampled_from([secret(), secret("told " + PLAIN)]))
def test_a_secret_of_either_state_is_never_kept(data: st.DataObject, form: Any, in_old: bool, mark: Any) -> None:
    base = data.draw(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
    path = data.draw(st.sampled_from([path for path in paths(base) if path]))
    plain = data.draw(st.sampled_from([PLAIN, [PLAIN], {"x": PLAIN}, {"a": [{"name": "y", "value": PLAIN}]}]))
    told, marked = put(base, path, plain), put(base, path, mark)
    one, other = (told, marked) if in_old else (marked, told)
    if form is previews.digest:
        one, other = (json.loads(json.dumps(side)) for side in (one, other))
    preview = preview_of(one, other, form=form)
    assert PLAIN not in repr(preview)
    assert preview.masked >= 1


@given(st.data(), st.sampled_from(FORMS))
def test_a_secret_by_its_shape_is_never_kept(data: st.DataObject, form: Any) -> None:
    base = data.draw(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4))
    path = data.draw(st.sampled_from([path for path in paths(base) if path]))
    wrapped = data.draw(
        st.sampled_from([TOKEN, f"x {TOKEN} y", f"a\n{TOKEN}\nb", json.dumps({"a": [TOKEN]}), {TOKEN: [1]}])
    )
    told = put(base, path, wrapped)
    for old, new in ((told, base), (base, told)):
        preview = preview_of(old, new, form=form)
        assert TOKEN not in repr(preview)
        assert preview.masked >= 1
