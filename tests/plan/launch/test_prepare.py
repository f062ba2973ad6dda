"""Steps of `prepare`: their containers, variables and volumes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.plan.launch.starting import run
from tests.support.samples import container, experiment, plan, pod, reasons
from trainform.errors import InputError
from trainform.plan.launch.scripts import script
from trainform.plan.variables import expanded

GIT: dict[str, Any] = {
    "repository": "https://git.example.com/vision/sdxl.git",
    "commit": "0123456789" * 4,
    "path": "/code/",
}
HOST = "git.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE"
KEY = {"key": {"name": "deploy.keys", "key": "id_ed25519"}, "known_hosts": [HOST]}
SSH_GIT = {**GIT, **KEY, "repository": "git@git.example.com:vision/sdxl.git", "path": "/opt/tools"}
ROLES: dict[str, Any] = {
    "worker": {"replicas": 2, "init": [{"name": "warm-up", "command": ["warm"]}]},
    "watcher": {"ranked": False, "command": ["python", "watch.py"]},
}
PREPARE: list[dict[str, Any]] = [
    {"name": "code", "git": GIT},
    {"name": "tools", "git": SSH_GIT, "image": "registry.example.com/ai/git:2", "env": {"GIT_TRACE": "1"}},
    {"name": "data", "command": ["fetch", "/mnt/data"], "roles": ["watcher", "worker"]},
]


def mounts(found: dict[str, Any]) -> dict[str, str]:
    return {mount["name"]: mount["mountPath"] for mount in found["volumeMounts"]}


def test_steps_come_before_the_roles_own_containers() -> None:
    made = plan(roles=ROLES, prepare=PREPARE)
    spec = pod(made, "worker")["spec"]
    assert [init["name"] for init in spec["initContainers"]] == ["code", "tools", "data", "warm-up"]
    assert [init["image"] for init in spec["initContainers"]] == [
        "registry.example.com/ai/pytorch-training:2.8", "registry.example.com/ai/git:2",
        *["registry.example.com/ai/pytorch-training:2.8"] * 2,
    ]  # fmt: skip
    assert [init["name"] for init in pod(made, "watcher")["spec"]["initContainers"]] == ["data"], (
        "by default ranked roles"
    )
    code, _, data, _ = spec["initContainers"]
    assert code["command"] == ["/bin/sh", "/etc/trainform/checkout.sh"]
    assert data["command"] == ["fetch", "/mnt/data"]
    assert made.files["checkout.sh"] == script("checkout.sh")
    assert "checkout.sh" not in plan(roles=ROLES, prepare=PREPARE[2:]).files


def test_variables_of_a_checkout() -> None:
    made = plan(roles=ROLES, prepare=PREPARE)
    code, tools, data, _ = pod(made, "worker")["spec"]["initContainers"]
    found = {entry["name"]: entry.get("value") for entry in tools["env"]}
    assert (
        found.items()
        >= {
            "TRAINFORM_GIT_REPOSITORY": "git@git.example.com:vision/sdxl.git",
            "TRAINFORM_GIT_COMMIT": "0123456789" * 4,
            "TRAINFORM_GIT_PATH": "/opt/tools",
            "TRAINFORM_GIT_KEY": "/etc/trainform-git/tools/id_ed25519",
            "TRAINFORM_GIT_KNOWN_HOSTS": HOST,
            "GIT_TRACE": "1",
            "WORLD_SIZE": "2",
        }.items()
    )
    assert {"name": "TRAINFORM_GIT_PATH", "value": "/code"} in code["env"]
    assert "TRAINFORM_GIT_KEY" not in {entry["name"] for entry in code["env"]}
    assert not [entry for entry in data["env"] if entry["name"].startswith("TRAINFORM_GIT_")]


def test_the_address_may_contain_variables_of_the_step() -> None:
    """Kubernetes expands only variables that stand before."""
    token = {"TOKEN": {"secret": {"name": "git", "key": "token"}}}
    git = {**GIT, "repository": "https://trainer:$(TOKEN)@git.example.com/sdxl.git"}
    made = plan(prepare=[{"name": "code", "git": git, "env": token}])
    names = [entry["name"] for entry in pod(made, "worker")["spec"]["initContainers"][0]["env"]]
    assert names.index("TOKEN") < names.index("TRAINFORM_GIT_REPOSITORY")


@pytest.mark.parametrize("path", ["/code$(RANK)", "/$$", "/$", "/a$$$(RANK)$b", "/${RANK}"])
def test_the_path_is_where_the_volume_is(path: str) -> None:
    """Kubernetes puts variables into those of a container, but not into the path of a mount."""
    made = plan(prepare=[{"name": "code", "git": {**GIT, "path": path}}])
    (step,) = pod(made, "worker")["spec"]["initContainers"]
    (given,) = [entry["value"] for entry in step["env"] if entry["name"] == "TRAINFORM_GIT_PATH"]
    assert expanded(given, {"RANK": "1"}) == mounts(step)["checkout-code"] == path


def test_volumes_of_a_checkout() -> None:
    """Every container of the pod sees the code; the key only the one that needs it."""
    made = plan(roles=ROLES, prepare=PREPARE)
    spec = pod(made, "worker")["spec"]
    code, tools, data, warm = spec["initContainers"]
    for found in (code, tools, data, warm, container(made, "worker")):
        assert (
            mounts(found).items()
            >= {"checkout-code": "/code/", "checkout-tools": "/opt/tools", "launch": "/etc/trainform"}.items()
        )
    holders = [
        found["name"]
        for found in (*spec["initContainers"], *spec["containers"])
        if "/etc/trainform-git/tools" in mounts(found).values()
    ]
    assert holders == ["tools"]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    assert volumes["checkout-code"]["emptyDir"] == {}
    (key,) = [volume["secret"] for volume in spec["volumes"] if "secret" in volume]
    assert key == {"secretName": "deploy.keys", "defaultMode": 0o400}
    assert "volumeMounts" not in pod(made, "watcher")["spec"]["initContainers"][0], "a command needs no files of ours"


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({"prepare": PREPARE}, {}),
        (
            {"prepare": [PREPARE[0], {"name": "tools", "git": {**SSH_GIT, "path": "/code"}}]},
            {"prepare[1].git.path": "the path is the mount of the step code too (role worker)"},
        ),
        (
            {"prepare": [{"name": "code", "git": {**GIT, "path": "/etc/trainform"}}]},
            {"prepare[0].git.path": "the path is the mount of the launch script too (role worker)"},
        ),
        (
            {"prepare": [{"name": "code", "git": {**GIT, "path": "/root/.ssh"}}], "ssh": {}},
            {"prepare[0].git.path": "the path is the mount of the SSH identity too (role worker)"},
        ),
        (
            {"prepare": PREPARE, "storage": {"checkout-code": {"claim": "a", "mount": "/a"}}},
            {"storage.checkout-code": "the name is one that trainform uses itself"},
        ),
        (
            {"prepare": PREPARE, "storage": {"key-checkout-tools": {"claim": "a", "mount": "/a"}}},
            {"storage.key-checkout-tools": "the name is one that trainform uses itself"},
        ),
    ],
)
def test_rules(parts: dict[str, Any], found: dict[str, str]) -> None:
    """tests/spec/bad/prepare-names has the others."""
    assert reasons(**{"roles": ROLES, **parts}) == found


FETCH: dict[str, Any] = {"name": "data", "command": ["fetch", "/mnt/data"]}
FIRST: dict[str, Any] = {**FETCH, "on": "first-pod"}
GUARDED = ["/bin/sh", "/etc/trainform/first_pod.sh", "fetch", "/mnt/data"]
TWO: dict[str, Any] = {"master": {}, "worker": {"replicas": 3}}
APART: dict[str, Any] = {"worker": {"replicas": 3}, "launcher": {"ranked": False}}
OVER_SSH: dict[str, Any] = {"mpi": {"command": ["/app/train"], "role": "launcher"}}
ELASTIC: dict[str, Any] = {"torchrun": {"script": "/app/train.py", "elastic": {"min_nodes": 1, "max_nodes": 4}}}


def fetches(step: dict[str, Any], **parts: Any) -> dict[str, list[str]]:
    """The commands of the step by role."""
    made = plan(prepare=[step], **parts)
    return {
        role.name: init["command"]
        for role in made.roles
        for init in pod(made, role.name)["spec"].get("initContainers", [])
        if init["name"] == "data"
    }


@pytest.mark.parametrize(
    ("step", "parts", "told"),
    [
        (FETCH, {"roles": TWO}, {"master": FETCH["command"], "worker": FETCH["command"]}),
        ({**FETCH, "on": "each-pod"}, {"roles": TWO}, {"master": FETCH["command"], "worker": FETCH["command"]}),
        (FIRST, {"roles": TWO}, {"master": FETCH["command"]}),
        ({**FIRST, "roles": ["worker"]}, {"roles": TWO}, {"worker": GUARDED}),
        (FIRST, {"roles": {"worker": {"replicas": 3}}}, {"worker": GUARDED}),
        (FIRST, {"roles": {"worker": {}}}, {"worker": FETCH["command"]}),
        (FIRST, {"roles": {"worker": {}}, "launcher": ELASTIC}, {"worker": GUARDED}),
        (FIRST, {"roles": APART, "launcher": OVER_SSH}, {"launcher": FETCH["command"]}),
        (
            {**FIRST, "roles": ["worker", "launcher"]},
            {"roles": APART, "launcher": OVER_SSH},
            {"launcher": FETCH["command"]},
        ),
        ({**FIRST, "roles": ["worker"]}, {"roles": APART, "launcher": OVER_SSH}, {"worker": GUARDED}),
        ({**FIRST, "roles": ["watcher"]}, {"roles": ROLES}, {"watcher": GUARDED}),
        ({**FIRST, "roles": []}, {"roles": TWO}, {}),
    ],
)
def test_the_pod_that_runs_a_step(step: dict[str, Any], parts: dict[str, Any], told: dict[str, list[str]]) -> None:
    """A role whose replicas change in place has the script whatever their number is: its template must stay the
    same."""
    assert fetches(step, **parts) == told
    assert ("first_pod.sh" in plan(prepare=[step], **parts).files) is (GUARDED in told.values())


def test_an_extra_with_the_script_has_its_index_and_the_launch_files() -> None:
    made = plan(roles=ROLES, prepare=[{**FIRST, "roles": ["watcher"]}])
    (step,) = pod(made, "watcher")["spec"]["initContainers"]
    assert "TRAINFORM_REPLICA_INDEX" in [entry["name"] for entry in step["env"]]
    assert mounts(step) == {"launch": "/etc/trainform"}
    found = reasons(
        roles=ROLES,
        prepare=[{**FIRST, "roles": ["watcher"]}],
        storage={"mine": {"claim": "c", "mount": "/etc/trainform", "roles": ["watcher"]}},
    )
    assert found == {"storage.mine.mount": "the path is the mount of the launch script too (role watcher)"}


@pytest.mark.parametrize(("index", "output"), [("0", "[fetch][two words]"), ("1", ""), ("10", "")])
def test_the_script_runs_the_step_in_the_first_pod_alone(index: str, output: str, shell: Path) -> None:
    words = ("printf", "[%s]", "fetch", "two words")
    done = run(shell, script("first_pod.sh"), *words, env={"TRAINFORM_REPLICA_INDEX": index})
    assert (done.returncode, done.stdout) == (0, output)


def test_the_script_hands_on_a_failure_and_asks_for_the_index(shell: Path) -> None:
    assert (
        run(shell, script("first_pod.sh"), "sh", "-c", "exit 3", env={"TRAINFORM_REPLICA_INDEX": "0"}).returncode == 3
    )
    assert run(shell, script("first_pod.sh"), "true", env={}).returncode != 0


def test_a_checkout_is_made_in_each_pod() -> None:
    with pytest.raises(InputError, match="a checkout is in a volume of its own pod, so each pod makes it"):
        experiment(prepare=[{"name": "code", "git": GIT, "on": "first-pod"}])
    assert experiment(prepare=[{"name": "code", "git": GIT, "on": "each-pod"}])
