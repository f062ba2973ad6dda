"""Steps of `prepare`: their containers, variables and volumes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.rendering import job_problems
from tests.support.samples import container, environment, experiment, plan, pod, reasons
from trainform.manifests.env import expanded
from trainform.plan.launch.scripts import script

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
        "registry.example.com/ai/pytorch-training:2.8", "registry.example.com/ai/git:2", *["registry.example.com/ai/pytorch-training:2.8"] * 2,
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


def test_an_extra_may_have_a_checkout_too() -> None:
    made = plan(roles=ROLES, prepare=[{**PREPARE[0], "roles": ["watcher"]}])
    assert mounts(container(made, "watcher")) == {"checkout-code": "/code/", "launch": "/etc/trainform"}
    assert container(made, "watcher")["command"] == ["python", "watch.py"]
    assert "checkout-code" not in mounts(container(made, "worker"))


def test_names_of_volumes_never_meet() -> None:
    """The key's volume of `code` must not be called like the checkout of `code-key`."""
    steps = [{"name": "code", "git": SSH_GIT}, {"name": "code-key", "git": GIT}]
    spec = pod(plan(prepare=steps), "worker")["spec"]
    names = [volume["name"] for volume in spec["volumes"]]
    assert len(set(names)) == len(names)
    longest = [{"name": "c" * 40, "git": SSH_GIT}]
    assert max(len(volume["name"]) for volume in pod(plan(prepare=longest), "worker")["spec"]["volumes"]) <= 63


@pytest.mark.parametrize(
    ("parts", "found"),
    [
        ({"prepare": PREPARE}, {}),
        ({"prepare": [PREPARE[0], {**PREPARE[2], "name": "code"}]}, {"prepare[1].name": "the name is that of another container of the pod"}),
        ({"prepare": [{**PREPARE[2], "name": "main"}]}, {"prepare[0].name": "the name is that of another container of the pod"}),
        ({"prepare": [{**PREPARE[2], "name": "warm-up"}]}, {"roles.worker.init[0].name": "the name is that of another container of the pod"}),
        ({"prepare": [{**PREPARE[2], "roles": ["worker", "wroker"]}]}, {"prepare[0].roles[1]": "the experiment has no role of this name"}),
        ({"prepare": [PREPARE[0], {"name": "tools", "git": {**SSH_GIT, "path": "/code"}}]},
         {"prepare[1].git.path": "the path is the mount of the step code too (role worker)"}),
        ({"prepare": PREPARE[:1], "storage": {"models": {"claim": "models", "mount": "/code"}}},
         {"storage.models.mount": "the path is the mount of the step code too (role worker)"}),
        ({"prepare": [{"name": "code", "git": {**GIT, "path": "/etc/trainform"}}]}, {"prepare[0].git.path": "the path is the mount of the launch script too (role worker)"}),
        ({"prepare": [{"name": "code", "git": {**GIT, "path": "/root/.ssh"}}], "ssh": {}},
         {"prepare[0].git.path": "the path is the mount of the SSH identity too (role worker)"}),
        ({"prepare": [{"name": "code", "git": {**GIT, "path": "/etc/"}}]}, {"prepare[0].git.path": "the mount would hide a folder of the system that every process needs"}),
        ({"prepare": PREPARE, "storage": {"checkout-code": {"claim": "a", "mount": "/a"}}}, {"storage.checkout-code": "the name is one that trainform uses itself"}),
        ({"prepare": PREPARE, "storage": {"key-checkout-tools": {"claim": "a", "mount": "/a"}}},
         {"storage.key-checkout-tools": "the name is one that trainform uses itself"}),
        ({"storage": {"ssh": {"claim": "a", "mount": "/a"}, "hostfile": {"claim": "b", "mount": "/b"}}},
         {"storage.ssh": "the name is one that trainform uses itself", "storage.hostfile": "the name is one that trainform uses itself"}),
        ({"prepare": [{**PREPARE[2], "env": {"TRAINFORM_GIT_PATH": "/"}}]},
         {"prepare[0].env.TRAINFORM_GIT_PATH": "the name starts with TRAINFORM_, which trainform uses itself"}),
    ],
)  # fmt: skip
def test_rules(parts: dict[str, Any], found: dict[str, str]) -> None:
    assert reasons(**{"roles": ROLES, **parts}) == found


def test_a_password_in_the_address_is_a_problem() -> None:
    made = experiment(
        prepare=[{"name": "code", "git": {**GIT, "repository": "https://trainer:hunter2@git.example.com/sdxl.git"}}]
    )
    (problem,) = job_problems(made, environment())
    assert problem.path == "prepare[0].git.repository"
    assert "hunter2" not in str(problem)
    assert problem.fix == "write `$(ADDRESS)` in its place, and `env: {ADDRESS: {secret: {name: SECRET, key: KEY}}}`"
