"""Words and variables that let no program start: Linux has a limit, and each field that breaks it is named."""

from __future__ import annotations

import errno
import subprocess
from typing import Any

import pytest

from tests.support.samples import reasons
from trainform.defaults import LONGEST_WORD

WORKER: dict[str, Any] = {"replicas": 2}


def test_the_limit_is_that_of_linux() -> None:
    name = "PART="
    fits = {"PART": "x" * (LONGEST_WORD - len(name))}
    assert subprocess.run(["true"], env=fits).returncode == 0
    assert subprocess.run(["true", "x" * LONGEST_WORD]).returncode == 0
    for words, env in ((["true"], {"PART": fits["PART"] + "x"}), (["true", "x" * (LONGEST_WORD + 1)], {})):
        with pytest.raises(OSError) as caught:
            subprocess.run(words, env=env)
        assert caught.value.errno == errno.E2BIG


WORD = "x" * (LONGEST_WORD + 1)


def long(name: str) -> str:
    return "x" * (LONGEST_WORD - len(f"{name}=") + 1)


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ({"env": {"PART": long("PART")}}, "env.PART"),
        ({"roles": {"worker": {**WORKER, "env": {"PART": long("PART")}}}}, "roles.worker.env.PART"),
        (
            {"env": {"PART": "a"}, "roles": {"worker": {**WORKER, "env": {"PART": long("PART")}}}},
            "roles.worker.env.PART",
        ),
        ({"launcher": {"command": ["python", "-c", WORD]}}, "launcher"),
        ({"launcher": {"torchrun": {"script": "/app/train.py", "args": [WORD]}}}, "launcher"),
        ({"roles": {"worker": WORKER, "log": {"ranked": False, "command": ["sh", "-c", WORD]}}}, "roles.log.command"),
        (
            {"roles": {"worker": {**WORKER, "init": [{"name": "data", "command": [WORD]}]}}},
            "roles.worker.init[0].command",
        ),
        ({"prepare": [{"name": "data", "command": ["sh", "-c", WORD]}]}, "prepare[0].command"),
        ({"prepare": [{"name": "data", "command": ["fetch"], "env": {"PART": long("PART")}}]}, "prepare[0].env.PART"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_one_byte_too_long(parts: dict[str, Any], path: str) -> None:
    found = reasons(**parts)
    assert found.keys() == {path}
    assert f"more than {LONGEST_WORD}" in found[path]


def test_one_byte_less_is_taken() -> None:
    assert reasons(env={"PART": long("PART")[1:]}, launcher={"command": [WORD[1:]]}) == {}


def test_tf_config_has_all_replicas() -> None:
    tensorflow: dict[str, Any] = {
        "launcher": {"tensorflow": {"command": ["python", "/app/mnist.py"]}},
        "backend": "kubeflow",
    }
    assert reasons(**tensorflow, roles={"worker": {"replicas": 2_000}}) == {}
    found = reasons(**tensorflow, roles={"worker": {"replicas": 4_000}})
    assert found.keys() == {"roles"}
    assert found["roles"].startswith("TF_CONFIG has the addresses of all replicas, which are 1")


def test_the_variables_of_volcanos_plugin() -> None:
    """Every container gets the hosts of every role; other operators have no such list."""
    assert reasons(roles={"worker": {"replicas": 3_000}}) == {}
    found = reasons(roles={"worker": {"replicas": 4_000}})
    assert found.keys() == {"roles.worker.replicas"}
    assert "in VC_WORKER_HOSTS, which are 1" in found["roles.worker.replicas"]
    assert reasons(roles={"worker": {"replicas": 4_000}}, backend="jobset") == {}


def test_the_config_map_of_volcanos_plugin() -> None:
    """It has the hosts of all roles twice: each list fits into a variable, and together they are too many."""
    launcher = {"command": ["python", "/app/train.py"]}
    extras = {
        name: {"replicas": 3_000, "ranked": False, "command": ["python", "watch.py"]}
        for name in ("extra-a", "extra-b", "extra-c", "extra-d")
    }
    found = reasons(roles={"worker": {"replicas": 3_000}, **extras}, launcher=launcher)
    assert found.keys() == {"roles"}
    assert "addresses of all pods twice into one ConfigMap, which are 1" in found["roles"]
