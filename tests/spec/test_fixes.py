"""What a message says to write: it is right when it is pasted."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from pydantic import BaseModel, create_model

from tests.support.samples import CLUSTER, JOB
from trainform.errors import Problem
from trainform.spec.base_model import Model
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.explain import spelled
from trainform.spec.load import parse
from trainform.spec.places import models_of
from trainform.spec.quantities import amount, quantity_hint
from trainform.spec.read import parse_mapping

WORDS = 'write each word as an item of a list, numbers in quotes: [--epochs, "90"]'


def problem_of(kind: type[BaseModel], text: str) -> Problem:
    """Return the one problem of a text in addition to the required fields."""
    sample = JOB if kind is Experiment else CLUSTER
    content = parse_mapping(text, "")
    (problem,) = parse(kind, {**sample, **content.data}, content.source.written).problems
    return problem


def torchrun(args: str) -> str:
    return f"launcher: {{torchrun: {{script: /app/train.py, args: {args}}}}}"


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        (torchrun("--epochs 90"), 'write [--epochs, "90"]'),
        (torchrun("90"), 'write ["90"]'),
        (torchrun("true"), 'write ["true"]'),
        (torchrun("\"--name 'my run' -e\""), 'write [--name, "my run", -e]'),
        (torchrun('"--layers [1,2] a:b #5"'), 'write [--layers, "[1,2]", "a:b", "#5"]'),
        (torchrun('"it\'s"'), WORDS),
        (torchrun(f'"{"--epochs 90 " * 9}"'), WORDS),
        ("launcher: {command: python train.py --epochs 90}", 'write [python, train.py, --epochs, "90"]'),
        ("launcher: {command: [python train.py]}", "write [python, train.py]"),
        ("launcher: {command: [python train.py, -v]}", WORDS),
        ("launcher: {command: python train.py && sync}", 'write [sh, -c, "python train.py && sync"]'),
        ("launcher: {command: python train.py --lr $LR}", 'write [sh, -c, "python train.py --lr $LR"]'),
        ("launcher: {command: python train.py --lr $(LR)}", 'write [python, train.py, --lr, "$(LR)"]'),
        (
            "launcher: {command: OMP_NUM_THREADS=1 python train.py}",
            'write [sh, -c, "OMP_NUM_THREADS=1 python train.py"]',
        ),
        (torchrun("--lr $LR"), 'write [--lr, "$LR"]'),
        ("tolerations: {key: gpu, operator: Exists}", "write [{…}]"),
    ],
)
def test_a_list_in_one_line(text: str, fix: str) -> None:
    assert problem_of(Experiment, text).fix == fix


@pytest.mark.parametrize(
    ("limits", "fix"),
    [
        ("tolerations: [{key: x}]", "write one text in its place, such as spot"),
        ("tolerations: [[x]]", "write one text in its place, such as spot"),
        ("tolerations: [7]", 'put it in quotes: "7"'),
        ("registries: [{host: a}]", "write one text in its place"),
        ("shared_memory_share: half", "write a number, without quotes"),
        ("max_accelerators: 8.5", "write a whole number, without quotes"),
        ("max_accelerators: [8]", "write a whole number, without quotes"),
        ("max_accelerators: 1e99", "write a whole number, without quotes"),
        ("max_accelerators: eight", "write a whole number, without quotes"),
        ("volume_types: [configMaps]", "did you mean configMap?"),
    ],
)
def test_what_to_write_in_limits(limits: str, fix: str) -> None:
    assert problem_of(Environment, f"limits: {{{limits}}}").fix == fix


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("launcher: {command: python --token=hf_secret123}", WORDS),
        ("launcher: {command: 'HF_TOKEN=hf_secret123 python train.py'}", WORDS),
        ("launcher: {command: 'curl -o x https://trainer:hf_secret123@h/x'}", WORDS),
        ("launcher: python --token hf_secret123", "write it like {torchrun: {script: /app/train.py}}"),
        ("launcher: {torchrun: train.py --token=hf_secret123}", "write it like {script: /app/train.py}"),
        (torchrun("--token hf_secret123"), WORDS),
        (torchrun("--token=hf_secret123"), WORDS),
        (torchrun("\"--token 'hf_secret123'\""), WORDS),
        (torchrun("[--password, 99887766]"), "put it in quotes"),
        (torchrun("[--lr, '1', --password, 99887766, --epochs, '90']"), "put it in quotes"),
        (torchrun('[--token, "hf_secret123\\0"]'), "remove it"),
        ("roles: {worker: {replicas: --token=hf_secret123}}", "write a whole number, without quotes"),
        (r'roles: {worker: {replicas: "--token\nhf_secret123"}}', "write a whole number, without quotes"),
        ("queue: [a, --password hf_secret123]", "write one text in its place"),
        ("restart: --token hf_secret123", None),
        ("lr: --token hf_secret123", None),
    ],
)  # fmt: skip
def test_a_secret_among_words_is_not_shown(text: str, fix: str | None) -> None:
    problem = problem_of(Experiment, text)
    shown = f"{problem} {problem.as_dict()}"
    assert "secret123" not in shown
    assert "99887766" not in shown
    assert fix is None or problem.fix == fix


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ("--hf-token $(HF_TOKEN) --lr 0.1", "--hf-token $(HF_TOKEN) --lr 0.1"),
        ("[--epochs, 90]", "90"),
        ("[--password, x, --epochs, 90]", "90"),
        ("[90, --password, x]", "90"),
        ("[docker, run, -p, 8080]", "8080"),
    ],
)
def test_words_without_a_secret_are_shown(args: str, shown: str) -> None:
    assert problem_of(Experiment, torchrun(args)).shown_value == shown


def fields(kind: type[BaseModel]) -> list[Any]:
    return [field for name, field in kind.model_fields.items()] + [
        inner
        for field in kind.model_fields.values()
        for model in models_of(field.annotation)
        for inner in fields(model)
    ]


@pytest.mark.parametrize("kind", [Experiment, Environment])
def test_every_example_is_a_value_of_its_field(kind: type[BaseModel]) -> None:
    examples = [(field, example) for field in fields(kind) for example in field.examples or ()]
    assert examples
    for field, example in examples:
        create_model("One", __base__=Model, value=(field.rebuild_annotation(), ...)).model_validate({"value": example})
        assert yaml.safe_load(spelled(example)) == example


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("800GB", "did you mean 800Gi (2^30 bytes each) or 800G (10^9)?"),
        ("16gb", "did you mean 16Gi (2^30 bytes each) or 16G (10^9)?"),
        ("64 GB", "did you mean 64Gi (2^30 bytes each) or 64G (10^9)?"),
        ("1.5 tb", "did you mean 1.5Ti (2^40 bytes each) or 1.5T (10^12)?"),
        ("16g", "did you mean 16Gi (2^30 bytes each) or 16G (10^9)?"),
        ("64 G", "did you mean 64G?"),
        ("64GiB", "did you mean 64Gi?"),
        ("64 gib", "did you mean 64Gi?"),
        ("512KB", "did you mean 512Ki (2^10 bytes each) or 512k (10^3)?"),
        ("100 B", "did you mean 100?"),
        ("8 cores", "write a number with an optional suffix: 500m, 8, 20G, 64Gi"),
        ("lots", "write a number with an optional suffix: 500m, 8, 20G, 64Gi"),
        ("-5GB", "write a number with an optional suffix: 500m, 8, 20G, 64Gi"),
    ],
)
def test_units_that_kubernetes_spells_otherwise(text: str, fix: str) -> None:
    assert quantity_hint(text) == fix
    assert problem_of(Experiment, f"shared_memory: {text}").fix == fix
    for word in fix.removeprefix("did you mean ").removesuffix("?").split() if fix.startswith("did") else ():
        if word[0].isdigit():
            amount(word)
