"""Secrets as text in any field that ends up in the cluster's objects."""

from __future__ import annotations

from typing import Any

import pytest

from tests.samples import environment, experiment, reasons
from trainform.backends.job import job_problems

REASON = "looks like a secret, and would be shown in previews and kept in state"


@pytest.mark.parametrize(
    ("words", "index"),
    [
        (["--hf-token", "hf_wJalrXUtnFEMI"], 1),
        (["--hf_token=hf_wJalrXUtnFEMI"], 0),
        (["--hfToken", "hf_wJalrXUtnFEMI"], 1),
        (["--api-key=wJalrXUtnFEMI"], 0),
        (["--password", "20260101"], 1),
        (["-password=hunter2"], 0),
        (["logger.wandb.api_key=wJalrXUtnFEMI"], 0),
        (["++wandb.api_key=wJalrXUtnFEMI"], 0),
        (["-c", "HF_TOKEN=hf_wJalrXUtnFEMI python /app/train.py"], 1),
        (["-c", "python /app/train.py --hf-token 'hf_wJalrXUtnFEMI' --lr 1"], 1),
        (["--database", "postgres://trainer:hunter2@db.example.com/runs"], 1),
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
    patch = {"spec": {"containers": {"main": {"args": words}}}}
    assert reasons(roles={"worker": {"pod_overrides": patch}}) == {"roles.worker.pod_overrides": REASON}


@pytest.mark.parametrize(
    "words",
    [
        ["--tokenizer", "bert-base-uncased"], ["--max-tokens", "4096"], ["--max-token=4096"], ["--pad-token", "<pad>"], ["--pad_token=[PAD]"],
        ["--eos-token", "!"], ["--placeholder_token", "sks"], ["--hf-token", "$(HF_TOKEN)"], ["--hf-token=$(HF_TOKEN)"], ["--token-file", "a"],
        ["--password", "/run/secrets/password"], ["--use-auth-token", "--lr", "0.1"], ["--use-auth-token", "True"], ["--token"],
        ["-c", "train --hf-token \"$HF_TOKEN\" --password ${PASSWORD}"], ["-c", "HF_TOKEN=$(cat /run/secrets/token) train"],
        ["--database", "postgres://trainer:$(PGPASSWORD)@db.example.com/runs"],
    ],
)  # fmt: skip
def test_words_that_are_no_secrets(words: list[str]) -> None:
    assert reasons(launcher={"torchrun": {"script": "/app/train.py", "args": words}}) == {}
    assert reasons(roles={"worker": {"command": ["serve", *words]}}) == {}


@pytest.mark.parametrize(
    "value", ["4096", "0", "1e-5", "<pad>", "</s>", "<|endoftext|>", "[PAD]", "", "true", "False", "$(OTHER)", "/var/run/secrets/token"]
)  # fmt: skip
def test_values_of_variables_that_are_no_secrets(value: str) -> None:
    assert reasons(env={"MAX_TOKEN": value, "HF_TOKEN": value}) == {}
    assert list(reasons(env={"HF_TOKEN": f"hf_{value}x"})) == ["env.HF_TOKEN"]


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
        "write `$(HF_TOKEN)` here, and `env: {HF_TOKEN: {secret: {name: SECRET, key: KEY}}}`",
    )
