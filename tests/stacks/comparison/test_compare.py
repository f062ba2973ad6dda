"""Versions of an experiment beside each other, by the paths of the experiment."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from msgspec import structs

from tests.support.leaks import OTHER_HUB_TOKEN as TOKEN
from trainform.console import terminal
from trainform.console.lines import CHANGED_MASK, MASK
from trainform.plan.record import Record
from trainform.stacks.comparison.compare import Comparison, Version, compare
from trainform.stacks.comparison.text import as_data, sections

EXPERIMENT: dict[str, Any] = {
    "name": "resnet",
    "image": "registry.example.com/ai/pytorch-training:2.4",
    "launcher": {"torchrun": {"script": "/app/resnet.py", "args": ["--epochs", "90"]}},
    "roles": {"node": {"replicas": 2, "accelerators": {"a800": 8}, "cpu": 96, "memory": "800Gi"}},
    "storage": {"checkpoints": {"size": "200Gi", "class": "fast", "mount": "/checkpoints", "keep": True}},
}
EVALUATION = {"replicas": 1, "ranked": False, "command": ["python", "/app/evaluate.py"]}


def version(name: str, environment: dict[str, Any] | None = None, **changed: Any) -> Version:
    experiment = {**copy.deepcopy(EXPERIMENT), **changed}
    return Version(name, Record("", "", 1, experiment, {} if environment is None else environment))


def rows(comparison: Comparison) -> dict[str, tuple[Any, ...]]:
    return {row.path: row.values for row in comparison.experiment}


def role(**changed: Any) -> dict[str, Any]:
    return {"node": {**EXPERIMENT["roles"]["node"], **changed}}


def test_the_same_experiment_has_no_rows() -> None:
    found = compare(version("resnet.dev"), version("resnet.prod"))
    assert (found.same, found.experiment, found.environment) == (True, (), ())


def test_two_spellings_of_one_value_are_the_same() -> None:
    found = compare(version("file", roles=role(memory="819200Mi"), ttl="60m"), version("release", ttl="1h"))
    assert found.same


def test_each_field_that_differs_is_a_row_with_its_path() -> None:
    found = compare(version("resnet.dev", shared_memory="64Gi"), version("resnet.prod", roles=role(replicas=16)))
    assert rows(found) == {"shared_memory": ("64Gi", None), "roles.node.replicas": (2, 16)}


def test_a_role_that_one_version_lacks_is_one_row_of_what_it_has() -> None:
    one, other = version("resnet.dev"), version("resnet.prod", roles={**role(), "eval": EVALUATION})
    assert rows(compare(one, other)) == {"roles.eval": (None, EVALUATION)}
    assert rows(compare(other, one)) == {"roles.eval": (EVALUATION, None)}


def test_secrets_are_masked_and_their_changes_are_said() -> None:
    before = version("a", env={"HF_TOKEN": TOKEN})
    assert rows(compare(before, version("c"))) == {"env.HF_TOKEN": (MASK, None)}
    assert rows(compare(before, version("b", env={"HF_TOKEN": "hf_other"}))) == {"env.HF_TOKEN": (MASK, CHANGED_MASK)}


def test_what_the_environments_give_is_told_apart() -> None:
    dev = {"name": "dev", "accelerators": {"a800": {"resource": "nvidia.com/gpu"}}}
    prod = {"name": "prod", "accelerators": {"a800": {"resource": "baidu.com/a800_80g_cgpu"}}}
    found = compare(version("resnet.dev", dev), version("resnet.prod", prod))
    assert found.same
    assert {row.path: row.values for row in found.environment} == {
        "name": ("dev", "prod"),
        "accelerators.a800.resource": ("nvidia.com/gpu", "baidu.com/a800_80g_cgpu"),
    }
    assert compare(version("resnet.dev", dev), version("stacks/experiments/resnet.yaml")).environment == ()


def test_overlays_of_versions_without_an_environment_are_compared_as_written() -> None:
    one = Version("a", version("a").record, overlays={"prod": {"queue": "research"}})
    other = Version("b", version("b").record, overlays={"prod": {"queue": "default", "ttl": "1h"}})
    found = compare(one, other)
    assert rows(found) == {"environments.prod.queue": ("research", "default"), "environments.prod.ttl": (None, "1h")}


@pytest.mark.parametrize("broken", [{"roles": 3}, {"from_a_later_version": {"x": 1}}])
def test_what_this_version_cannot_read_is_compared_as_written(broken: dict[str, Any]) -> None:
    found = rows(compare(version("a", **broken), version("b")))
    (key,) = broken
    assert any(path == key or path.startswith(f"{key}.") for path in found)


DEV = structs.replace(version("resnet.dev", {"name": "dev"}), facts={"revision": "1f3a9c", "release": ""})
PROD = structs.replace(version("resnet.prod", {"name": "prod"}, roles=role(replicas=16)), facts={"revision": "77ab01"})


def test_a_terminal_gets_a_table() -> None:
    assert [line.text for line in terminal.lines_of([sections(compare(DEV, PROD))], 80)] == [
        "Comparison of resnet.dev and resnet.prod",
        "  1 field of the experiment differs.",
        "  resnet.dev: revision 1f3a9c.",
        "  resnet.prod: revision 77ab01.",
        "",
        "What differs in the experiment",
        "  field                resnet.dev  resnet.prod",
        "  roles.node.replicas  2           16",
        "",
        "What differs in what the environments give",
        "  field  resnet.dev  resnet.prod",
        '  name   "dev"       "prod"',
    ]


def test_machines_get_every_value() -> None:
    found = as_data(compare(DEV, PROD))
    assert found == {
        "same": False,
        "versions": [{"name": "resnet.dev", "revision": "1f3a9c", "release": ""},
            {"name": "resnet.prod", "revision": "77ab01"}],
        "experiment": ({"path": "roles.node.replicas", "values": (2, 16)},),
        "environment": ({"path": "name", "values": ("dev", "prod")},),
    }  # fmt: skip
