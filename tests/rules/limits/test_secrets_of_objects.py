"""Secrets in rendered objects, and in objects of somebody else."""

from __future__ import annotations

import base64
import copy
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.rules.limits.secret_samples import TOKEN, judged
from tests.support.samples import environment, experiment
from trainform.backends.backend import BACKENDS
from trainform.errors import MASK, Problem
from trainform.job.render import render_job


def test_objects_of_somebody_else() -> None:
    pod = {"spec": {"containers": [{"name": "main", "env": [{"name": "DB_PASS", "value": "hunter2"}]}]}}
    job = {"kind": "Job", "metadata": {"annotations": {"a": TOKEN}}, "spec": {"tasks": [{"template": pod}]}}
    found = judged(job, pods=(pod,))
    assert [(finding.where, finding.key) for finding in found] == [
        ("spec.containers.main.env.DB_PASS.value", None), ("metadata.annotations.a", "0"),
    ]  # fmt: skip
    assert {finding.value for finding in found} == {MASK}
    texts = "".join(f"{finding.where} {finding.reason} {finding.fix}" for finding in found)
    assert TOKEN not in texts
    assert "hunter2" not in texts


def test_pods_that_an_object_has_in_one_piece_are_searched_once() -> None:
    """And with the same findings as those that it has as a copy."""
    main = {"name": "main", "env": [{"name": "DB_PASS", "value": "hunter2"}], "args": ["-c", f"a {TOKEN}"]}
    pod = {"spec": {"containers": [main]}}
    annotations = {"a": "see " + "glpat-" + TOKEN[4:28]}
    job = {"kind": "Job", "metadata": {"annotations": annotations}, "spec": {"tasks": [{"template": pod}]}}
    of_one_piece, of_a_copy = judged(job, pods=(pod,)), judged(copy.deepcopy(job), pods=(pod,))
    assert of_one_piece == of_a_copy
    assert len(of_one_piece) == 3


def test_what_is_no_text_in_base64_is_searched_as_it_is() -> None:
    for value in ("", "%%%", "/+8=", base64.b64encode(bytes(range(256))).decode(), None, 1, ["a"]):
        assert judged({"kind": "ConfigMap", "binaryData": {"a": value}}) == []
    assert judged({"kind": "ConfigMap", "binaryData": {"a": TOKEN}}) != []
    assert judged({"kind": "ConfigMap", "binaryData": TOKEN}) != []


def test_the_content_of_a_secret_is_where_it_belongs() -> None:
    secret = {"kind": "Secret", "data": {"password": "aHVudGVyMg=="}, "stringData": {"token": TOKEN}}
    assert judged(secret) == []
    assert judged({"kind": "List", "items": [secret]}) == []
    assert judged({"kind": "ConfigMap", "data": {"password": "hunter2"}}) != []
    labelled = {**secret, "metadata": {"labels": {"a": TOKEN}}}
    assert [finding.where for finding in judged(labelled)] == ["metadata.labels.a"]


PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
DATA = st.recursive(
    PLAIN,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["name", "value", "kind", "items", "data", "env", "spec", "key", "secret", "[", "{"])
            | st.text(max_size=5),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(DATA, st.sampled_from([TOKEN, f"a {TOKEN}", f"x\n{TOKEN}\n"]))
def test_a_secret_is_found_wherever_it_stands(data: Any, text: str) -> None:
    found = judged({"spec": {"a": [data, {"b": [{"c": text}]}]}, TOKEN: 1})
    assert {finding.where for finding in found} >= {"spec.a[1].b[0].c", MASK}
    assert TOKEN not in repr(found)


def test_a_secret_key_is_not_in_any_message() -> None:
    shown = Problem(f"env.{TOKEN}", None, f"the name {TOKEN} is wrong", f"rename {TOKEN}")
    assert TOKEN not in str(shown)
    assert TOKEN not in str(shown.as_dict())
    assert f"env.{MASK}" in str(shown)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_job_with_its_record_holds_no_secrets_of_ours(backend: str) -> None:
    """The rendered objects of a job, with launch scripts and the record, judged as those of somebody else."""
    parts: dict[str, Any] = {} if backend == "kubedl" else {"ssh": {"secret": "trainer-ssh"}}
    env = {"HF_TOKEN": {"secret": {"name": "hf", "key": "token"}}}
    roles = {"master": {"replicas": 1}, "worker": {"replicas": 1}}
    made = render_job(experiment(backend=backend, env=env, roles=roles, **parts), environment())
    assert made.problems == ()
    assert judged(*(manifest.body for manifest in made.manifests)) == []


def test_no_golden_manifest_holds_a_secret() -> None:
    """Whatever the examples render, judged as objects of somebody else: no text of ours is taken for a secret."""
    files = sorted((ROOT / "tests" / "golden").rglob("*.yaml"))
    bodies = [body for file in files for body in yaml.load_all(file.read_text(), yaml.CSafeLoader) if body]
    assert len(bodies) > 100
    assert judged(*bodies) == []
