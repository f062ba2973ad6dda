"""Secrets as plain text: in any field of the experiment, in merge patches, and in any text of an object."""

from __future__ import annotations

import base64
import copy
import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.rules.limits.cases import TOKEN, secrets
from tests.support.rendering import job_problems
from tests.support.samples import environment, experiment, reasons
from trainform.backends.backend import BACKENDS
from trainform.errors import MASK, Problem

REASON = "the value looks like a secret, and would be shown in previews and kept in state"


@pytest.mark.parametrize(
    ("words", "index"),
    [
        (["--hf-token", "hf_wJalrXUtnFEMI"], 1),
        (["-c", "HF_TOKEN=hf_wJalrXUtnFEMI python /app/train.py"], 1),
        (["postgres://trainer:hunter2@db.example.com/runs"], 0),
    ],
)
def test_words_of_commands(words: list[str], index: int) -> None:
    script = {"script": "/app/train.py"}
    assert reasons(launcher={"torchrun": {**script, "args": words}}) == {f"launcher.torchrun.args[{index}]": REASON}
    assert reasons(launcher={"torchrun": {**script, "launcher_args": words}}) == {
        f"launcher.torchrun.launcher_args[{index}]": REASON
    }
    assert reasons(launcher={"command": ["sh", *words]}) == {f"launcher.command[{index + 1}]": REASON}
    init = [{"name": "fetch", "command": ["fetch", *words]}]
    assert reasons(roles={"worker": {"init": init}}) == {f"roles.worker.init[0].command[{index + 1}]": REASON}
    assert reasons(roles={"worker": {"command": ["serve", *words]}}) == {f"roles.worker.command[{index + 1}]": REASON}
    side = {"image": "registry.example.com/ai/side:1", "args": words}
    assert reasons(roles={"worker": {"pod_overrides": {"spec": {"containers": {"side": side}}}}}) == {
        f"roles.worker.pod_overrides.spec.containers.side.args[{index}]": REASON
    }


def test_annotations() -> None:
    given: dict[str, Any] = {"example.com/hf-token": "hf_wJalrXUtnFEMI", "example.com/tokenizer": "bert"}
    assert reasons(annotations=given) == {"annotations.example.com/hf-token": REASON}
    assert reasons(roles={"worker": {"annotations": given}}) == {
        "roles.worker.annotations.example.com/hf-token": REASON
    }
    patch = {"metadata": {"annotations": given}}
    found = reasons(roles={"worker": {"pod_overrides": patch}})
    assert found == {"roles.worker.pod_overrides.metadata.annotations.example.com/hf-token": REASON}
    for key in ("job", "service"):
        found = reasons(manifest_overrides={key: patch})
        assert found == {f"manifest_overrides.{key}.metadata.annotations.example.com/hf-token": REASON}


def test_the_fix_names_a_variable_and_hides_the_value() -> None:
    made = experiment(launcher={"command": ["train", "--hf-token", "hf_wJalrXUtnFEMI"]})
    (problem,) = job_problems(made, environment())
    assert (problem.shown_value, problem.fix) == (
        "[secret]",
        "write `$(HF_TOKEN)` in its place, and `env: {HF_TOKEN: {secret: {name: SECRET, key: KEY}}}`"
        "; if it is no secret, write `$(OTHER)`, a variable of another name that holds it",
    )


ENV = "roles.worker.pod_overrides.spec.containers.main.env"


def patched(spec: dict[str, Any], **parts: Any) -> dict[str, str]:
    return reasons(**parts, roles={"worker": {"pod_overrides": {"spec": spec}}})


def patched_problems(spec: dict[str, Any]) -> list[Problem]:
    return job_problems(experiment(roles={"worker": {"pod_overrides": {"spec": spec}}}), environment())


def test_what_is_no_secret_has_a_way_out() -> None:
    """A variable of another name holds it: what the message says works, and no secret of a known shape comes through
    there."""
    found = job_problems(experiment(env={"SPEAKER_TOKEN": "ada-lovelace"}), environment())
    assert [problem.fix.rpartition("; ")[2] for problem in found] == [
        "if it is no secret, write `$(OTHER)`, a variable of another name that holds it"
    ]
    words = {"command": ["train", "--speaker_token", "$(SPEAKER)"]}
    assert reasons(env={"SPEAKER": "ada-lovelace", "SPEAKER_TOKEN": "$(SPEAKER)"}, launcher=words) == {}
    assert reasons(env={"SPEAKER": TOKEN, "SPEAKER_TOKEN": "$(SPEAKER)"}) == {"env.SPEAKER": REASON}


IN_PATCHES = "valueFrom: {secretKeyRef: {name: SECRET, key: KEY}}"


@pytest.mark.parametrize(
    ("container", "told"),
    [
        ({"env": {"HF_TOKEN": TOKEN}}, f"write `HF_TOKEN: {{{IN_PATCHES}}}`"),
        ({"env": [{"name": "HF_TOKEN", "value": TOKEN}]}, f"write `{IN_PATCHES}` for HF_TOKEN"),
        ({"args": ["--token", TOKEN]}, f"write `$(TOKEN)` in its place, and `env: [{{name: TOKEN, {IN_PATCHES}}}]`"),
    ],
    ids=str,
)
def test_the_fix_in_a_patch_has_the_fields_of_kubernetes(container: dict[str, Any], told: str) -> None:
    aside = {"image": "registry.example.com/ai/aside:1", **container}
    roles = {"worker": {"pod_overrides": {"spec": {"containers": {"aside": aside}}}}}
    (found,) = (each for each in job_problems(experiment(roles=roles), environment()) if each.code == "TF-SEC-1")
    assert found.fix.partition(";")[0] == told


def test_the_fix_in_a_patch_of_the_main_container_is_accepted() -> None:
    probe = {"livenessProbe": {"exec": {"command": ["curl", "-H", f"Authorization: Bearer {TOKEN}", "localhost"]}}}
    (found,) = patched_problems({"containers": {"main": probe}})
    told = re.fullmatch(r"write `(\$\(\w+\))` in its place, and `env: ({.*})`(;.*)?", found.fix)
    assert told is not None, found.fix
    command = ["curl", "-H", told[1], "localhost"]
    right = {"livenessProbe": {"exec": {"command": command}}, "env": yaml.safe_load(told[2].replace("SECRET", "login"))}
    assert patched_problems({"containers": {"main": right}}) == []


@pytest.mark.parametrize("parts", [{"env": {"HF_TOKEN": TOKEN}}, {"launcher": {"command": ["a", "--token", TOKEN]}}])
def test_a_known_shape_has_no_other_way_out(parts: dict[str, Any]) -> None:
    (problem,) = job_problems(experiment(**parts), environment())
    assert "no secret" not in problem.fix


def test_variables_in_patches() -> None:
    spec = {"containers": {"main": {"env": {"HF_TOKEN": {"value": "hf_wJalrXUtnFEMI"}}}}}
    assert patched(spec) == {f"{ENV}.HF_TOKEN.value": REASON}
    right = {"valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}}
    assert patched({"containers": {"main": {"env": {"HF_TOKEN": right}}}}) == {}


SECRET_PATCHES: dict[str, dict[str, Any]] = {
    "metadata.annotations.hf-token": {"metadata": {"annotations": {"hf-token": "hf_wJalrXUtnFEMI"}}},
    "spec.containers.main.env[0].value": {
        "spec": {"containers": {"main": {"env": [{"name": "HF_TOKEN", "value": "hf_wJalrXUtnFEMI"}]}}}
    },
}


@pytest.mark.parametrize(("where", "patch"), SECRET_PATCHES.items(), ids=SECRET_PATCHES)
def test_a_secret_in_a_patch_is_refused_where_no_object_holds_it(where: str, patch: dict[str, Any]) -> None:
    """Inputs of components and the record hold the patch as it is written."""
    worker = {"replicas": 2, "pod_overrides": patch}
    undone = {"metadata": {"annotations": None}, "spec": {"containers": {"main": {"env": None}}}}
    overrides = {"job": {"spec": {"tasks": {"worker": {"template": undone}}}}}
    problems = job_problems(experiment(roles={"worker": worker}, manifest_overrides=overrides), environment())
    assert {problem.path for problem in problems if problem.code} == {f"roles.worker.pod_overrides.{where}"}
    extra = {"ranked": False, "command": ["watch"], "replicas": 0, "pod_overrides": patch}
    for backend in BACKENDS:
        parts: dict[str, Any] = {"backend": backend, "roles": {"worker": {"replicas": 2}, "extra": extra}}
        assert f"roles.extra.pod_overrides.{where}" in reasons(**parts), backend


def test_a_patch_cannot_put_a_literal_in_the_place_of_a_secret() -> None:
    env = {"WANDB_API_KEY": {"secret": {"name": "wandb", "key": "api-key"}}}
    literal = {"containers": {"main": {"env": {"WANDB_API_KEY": {"value": "8d1f0c6b2e", "valueFrom": None}}}}}
    assert f"{ENV}.WANDB_API_KEY.value" in patched(literal, env=env)
    listed = {"containers": {"main": {"env": [{"name": "WANDB_API_KEY", "value": "8d1f0c6b2e"}]}}}
    assert f"{ENV}[0].value" in patched(listed, env=env)
    assert patched({"terminationGracePeriodSeconds": 60}, env=env) == {}
    written = {"WANDB_API_KEY": "8d1f0c6b2e"}
    found = patched({"terminationGracePeriodSeconds": 60}, env=written)
    assert found.keys() == {"env.WANDB_API_KEY"}, "once"


def of_main(container: dict[str, Any]) -> dict[str, Any]:
    return {"roles": {"worker": {"pod_overrides": {"spec": {"containers": {"main": container}}}}}}


def of_object(key: str, patch: dict[str, Any]) -> dict[str, Any]:
    return {"manifest_overrides": {key: patch}}


GIT = {"repository": f"https://{TOKEN}@github.com/a", "commit": "0" * 40, "path": "/a"}
HEADERS = [{"name": "Authorization", "value": "abc123"}]
MAIN = "roles.worker.pod_overrides.spec.containers.main"
SCRIPT = "manifest_overrides.launch-script"
# A field of the experiment, and the path at which a secret in it is reported.
FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"env": {"VALUE": TOKEN}}, "env.VALUE"),
    ({"env": {"DB_PASS": "hunter2"}}, "env.DB_PASS"),
    ({"env": {TOKEN: "1"}}, f"env.{MASK}"),
    ({"labels": {"example.com/a": TOKEN}}, "labels.example.com/a"),
    ({"annotations": {"example.com/a": f"see {TOKEN}"}}, "annotations.example.com/a"),
    ({"launcher": {"command": ["curl", "-H", "X-API-Key: hunter2", "https://h"]}}, "launcher.command[2]"),
    ({"prepare": [{"name": "a", "command": ["a"], "env": {"V": TOKEN}}]}, "prepare[0].env.V"),
    ({"prepare": [{"name": "a", "git": GIT}]}, "prepare[0].git.repository"),
    ({"files": {"/train.py": {"text": f"import os\nos.environ['HF_TOKEN'] = '{TOKEN}'\n"}}}, "files./train.py.text"),
    (of_main({"livenessProbe": {"exec": {"command": ["check", TOKEN]}}}), f"{MAIN}.livenessProbe.exec.command[1]"),
    (
        of_main({"livenessProbe": {"httpGet": {"port": 80, "httpHeaders": HEADERS}}}),
        f"{MAIN}.livenessProbe.httpGet.httpHeaders[0].value",
    ),
    (of_object("service", {"spec": {"externalName": TOKEN}}), "manifest_overrides.service.spec.externalName"),
    (of_object("launch-script", {"data": {"a.env": f"A=1\nDB_PASS=hunter2\n{TOKEN}"}}), f"{SCRIPT}.data.a.env"),
    (
        of_object("launch-script", {"binaryData": {"a": base64.b64encode(f"a: {TOKEN}".encode()).decode()}}),
        f"{SCRIPT}.binaryData.a",
    ),
]


@pytest.mark.parametrize(("parts", "where"), FIELDS, ids=[where for _, where in FIELDS])
def test_a_secret_in_every_field(parts: dict[str, Any], where: str) -> None:
    """It is found once, at the user's field; nothing that is printed holds it."""
    problems = [problem for problem in job_problems(experiment(**parts), environment()) if problem.code == "TF-SEC-1"]
    assert {problem.as_dict()["path"] for problem in problems} == {where}
    shown = "".join(f"{problem}{problem.as_dict()}" for problem in job_problems(experiment(**parts), environment()))
    assert TOKEN not in shown
    assert not {"hunter2", "abc123"} & set(shown.replace("'", " ").split())


def test_the_line_of_a_longer_text_is_named() -> None:
    files = {"/train.py": {"text": f"import os\nos.environ['HF_TOKEN'] = '{TOKEN}'\n"}}
    found = reasons(files=files, env={"VALUE": TOKEN})
    assert found["files./train.py.text"] == f"{REASON} (line 2 of the text)"
    assert found["env.VALUE"] == REASON


@pytest.mark.parametrize(
    ("side", "secret"),
    [
        ({"env": [{"name": "--db-password=hunter2Zq6", "value": [1]}]}, "hunter2Zq6"),
        ({"env": {"--db-password=hunter2Zq6": {"value": 1}}}, "hunter2Zq6"),
        ({"volumeMounts": [{"name": "--token=hunter2Zq8", "mountPath": 3}]}, "hunter2Zq8"),
        ({"env": [{"name": "A", "value": "password=", "password=hunter2Zq7": 1}]}, "hunter2Zq7"),
    ],
)
def test_the_name_of_an_item_that_holds_a_secret_is_in_no_path(side: dict[str, Any], secret: str) -> None:
    image = "registry.example.com/ai/side:1"
    found = patched_problems({"containers": {"side": {"image": image, **side}}})
    assert "TF-SEC-1" in {problem.code for problem in found}
    assert not any(secret in f"{problem}{problem.as_dict()}" for problem in found)


def test_the_environment_cannot_make_it_a_warning() -> None:
    open_ = environment(limits={"severity": {"TF-SEC-1": "off"}, "host_network": True})
    assert reasons(open_, env={"HF_TOKEN": "hf_wJalrXUtnFEMI"}) == {"env.HF_TOKEN": REASON}


def test_a_name_of_a_secret_is_none() -> None:
    """`ssh.secret` and references of every kind."""
    assert reasons(ssh={"secret": "trainer-ssh"}) == {}
    key = {"name": "hf", "key": "token"}
    assert reasons(env={"HF_TOKEN": {"secret": key}}) == {}
    volumes = {
        "a": {"secret": {"secretName": "hf-token"}},
        "b": {"csi": {"driver": "d", "nodePublishSecretRef": {"name": "token"}}},
    }
    sources = [{"secret": {"name": "token"}}, {"serviceAccountToken": {"path": "token", "audience": "vault"}}]
    spec = {
        "volumes": {**volumes, "c": {"projected": {"sources": sources}}},
        "imagePullSecrets": [{"name": "registry"}],
    }
    cluster = environment(limits={"volume_types": ["configMap", "csi", "projected", "secret"]})
    assert reasons(cluster, roles={"worker": {"pod_overrides": {"spec": spec}}}) == {}


def test_objects_of_somebody_else() -> None:
    pod = {"spec": {"containers": [{"name": "main", "env": [{"name": "DB_PASS", "value": "hunter2"}]}]}}
    job = {"kind": "Job", "metadata": {"annotations": {"a": TOKEN}}, "spec": {"tasks": [{"template": pod}]}}
    found = secrets(job, pods=(pod,))
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
    of_one_piece, of_a_copy = secrets(job, pods=(pod,)), secrets(copy.deepcopy(job), pods=(pod,))
    assert of_one_piece == of_a_copy
    assert len(of_one_piece) == 3


def test_what_is_no_text_in_base64_is_searched_as_it_is() -> None:
    for value in ("", "%%%", "/+8=", base64.b64encode(bytes(range(256))).decode(), None, 1, ["a"]):
        assert secrets({"kind": "ConfigMap", "binaryData": {"a": value}}) == []
    assert secrets({"kind": "ConfigMap", "binaryData": {"a": TOKEN}}) != []
    assert secrets({"kind": "ConfigMap", "binaryData": TOKEN}) != []


def test_the_content_of_a_secret_is_where_it_belongs() -> None:
    secret = {"kind": "Secret", "data": {"password": "aHVudGVyMg=="}, "stringData": {"token": TOKEN}}
    assert secrets(secret) == []
    assert secrets({"kind": "List", "items": [secret]}) == []
    assert secrets({"kind": "ConfigMap", "data": {"password": "hunter2"}}) != []
    labelled = {**secret, "metadata": {"labels": {"a": TOKEN}}}
    assert [finding.where for finding in secrets(labelled)] == ["metadata.labels.a"]


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
    found = secrets({"spec": {"a": [data, {"b": [{"c": text}]}]}, TOKEN: 1})
    assert {finding.where for finding in found} >= {"spec.a[1].b[0].c", MASK}
    assert TOKEN not in repr(found)


def test_no_golden_manifest_holds_a_secret() -> None:
    """Whatever the examples render, judged as objects of somebody else: no text of ours is taken for a secret."""
    files = sorted((ROOT / "tests" / "golden").rglob("*.yaml"))
    bodies = [body for file in files for body in yaml.load_all(file.read_text(), yaml.CSafeLoader) if body]
    assert len(bodies) > 100
    assert secrets(*bodies) == []
