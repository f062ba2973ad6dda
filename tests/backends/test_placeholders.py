"""`$(NAME)` in commands and values: what Kubernetes puts in, and what it would leave as it stands."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.samples import env, plan, reasons
from trainform.backends.backend import BACKENDS
from trainform.job.render import job_manifests
from trainform.manifests.env import Variable, in_order

ROLES = {"master": {"replicas": 1}, "worker": {"replicas": 2}}
PROGRAM = ["python", "/app/train.py"]


# --- variables are ordered


def test_a_value_refers_to_a_variable_wherever_it_is_defined() -> None:
    """The plan's variables come first, then the experiment's, then the role's: nobody can order them in a file."""
    made = plan(
        env={"OUT": "$(ROOT)/$(TRAINFORM_REPLICA_INDEX)", "MASTER_ADDR": "$(MEETS)", "MEETS": "10.0.0.7"},
        roles={"worker": {"replicas": 2, "env": {"ROOT": "/mnt"}}},
    )
    names = [*env(made, "worker")]
    assert names.index("ROOT") < names.index("OUT") > names.index("TRAINFORM_REPLICA_INDEX")
    assert names.index("MEETS") < names.index("MASTER_ADDR")


def test_an_init_container_brings_a_variable_to_which_another_refers() -> None:
    init = [{"name": "fetch", "command": ["fetch"], "env": {"DATA": "/fast"}}]
    made = plan(env={"DATA": "/slow", "INDEX": "$(DATA)/index"}, roles={"worker": {"init": init}})
    container = BACKENDS["volcano"].templates(made, job_manifests(made))[0].containers[0][1]
    assert [entry["name"] for entry in container["env"]].index("DATA") < [
        entry["name"] for entry in container["env"]
    ].index("INDEX")


NAMES = [f"V{number}" for number in range(8)]


@given(st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=3)))
def test_the_order(variables: dict[str, list[str]]) -> None:
    """Each stands behind those that it refers to, but in a circle; without references nothing moves."""
    entries: list[Variable] = [
        {"name": name, "value": "".join(f"$({other})" for other in others)} for name, others in variables.items()
    ]
    found = in_order(entries)
    assert sorted(map(str, found)) == sorted(map(str, entries))
    if not any(variables.values()):
        assert found == entries
    places = {entry["name"]: place for place, entry in enumerate(found)}
    reached = _reached(variables)
    for name, others in variables.items():
        for other in others:
            if other in places and name not in reached[other]:
                assert places[other] < places[name]


def _reached(variables: dict[str, list[str]]) -> dict[str, set[str]]:
    found = {name: set(variables.get(name, ())) for name in NAMES}
    for _ in NAMES:
        for name in NAMES:
            found[name] |= {far for near in found[name] for far in found[near]}
    return found


# --- what would stay as it stands

SCRIPTED = "set by the launch script"
TORCHRUN: dict[str, Any] = {"script": "/a.py"}
FLOW: dict[str, Any] = {"tensorflow": {"command": [*PROGRAM, "$(TF_CONFIG)"]}}


@pytest.mark.parametrize(
    ("parts", "path"),
    [
        ({"env": {"OUT": "/mnt/$(RANK)"}}, "env.OUT"),
        ({"launcher": {"command": [*PROGRAM, "$(RANK)"]}}, "launcher.command[2]"),
        ({"launcher": {"command": ["sh", "-c", "run $(RANK)"]}}, "launcher.command[2]"),
        ({"launcher": {"torchrun": {**TORCHRUN, "args": ["--out", "$(RANK)"]}}}, "launcher.torchrun.args[1]"),
        (
            {"launcher": {"torchrun": {**TORCHRUN, "launcher_args": ["--log-dir=$(RANK)"]}}},
            "launcher.torchrun.launcher_args[0]",
        ),
        ({"roles": {"worker": {"command": [*PROGRAM, "$(RANK)"]}}}, "roles.worker.command[2]"),
        ({"launcher": FLOW, "roles": {"chief": {}, "worker": {}}}, "launcher.tensorflow.command[2]"),
    ],
)
def test_a_variable_that_the_launch_script_sets_is_refused(parts: dict[str, Any], path: str) -> None:
    found = reasons(**parts)
    assert list(found) == [path]
    assert SCRIPTED in found[path]


@pytest.mark.parametrize(
    "parts",
    [
        {"launcher": {"command": ["sh", "-c", "echo $(hostname) $(date +%F) $$(RANK) $RANK"]}},
        {"launcher": {"command": [*PROGRAM, "$$(RANK)", "$(MASTER_ADDR):$(MASTER_PORT)", "$(WORLD_SIZE)"]}},
        {"launcher": {"command": [*PROGRAM, "$(VC_WORKER_HOSTS)", "$(KUBERNETES_SERVICE_HOST)"]}},
        {"env": {"RANK": "7"}, "launcher": {"command": [*PROGRAM, "$(RANK)"]}},
        {"roles": {"worker": {}, "watcher": {"ranked": False, "command": ["watch", "$(RANK)"]}}},
        {"backend": "kubeflow", "roles": ROLES, "launcher": {"command": [*PROGRAM, "$(RANK)"]}},
    ],
)
def test_what_is_known_before_or_somebody_elses_passes(parts: dict[str, Any]) -> None:
    assert reasons(**parts) == {}
