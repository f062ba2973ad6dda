"""Requests to Docker's API, routes of Services, and masks; without Docker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.rehearsal.workloads import NAMESPACE, full_name, pod, workload
from tests.support.unseen import SAMPLES
from trainform.errors import MASK, InputError
from trainform.escaping import escaped
from trainform.rehearsal.docker.engine import repository_and_tag
from trainform.rehearsal.docker.forwarding import forwarders
from trainform.rehearsal.docker.request_bodies import Image, container_body, must_not_be_root, user_of
from trainform.rehearsal.run.masking import Masker
from trainform.rehearsal.run.pod_runner import lines
from trainform.rehearsal.workload import planned_name, short_name

IMAGE = Image("resnet:1", "")


def body(asked: dict[str, Any], **env: str) -> dict[str, Any]:
    return container_body(asked, asked["spec"]["containers"][0], IMAGE, env, [], "5a1d")


def test_command_and_arguments_are_expanded() -> None:
    asked = pod("worker-0", main={"command": ["python"], "args": ["train.py", "--rank=$(RANK)", "$$(RANK)"]})
    made = body(asked, RANK="3")
    assert (made["Entrypoint"], made["Cmd"]) == (["python"], ["train.py", "--rank=3", "$(RANK)"])


def test_the_images_own_command_stays() -> None:
    asked = pod("worker-0", main={"command": [], "args": ["--epochs=1"]})
    made = body(asked)
    assert "Entrypoint" not in made
    assert made["Cmd"] == ["--epochs=1"]


@pytest.mark.parametrize(
    ("of_pod", "of_container", "of_image", "user"),
    [
        ({}, {}, "", ""),
        ({}, {}, "app", ""),
        ({"runAsUser": 1000}, {}, "", "1000"),
        ({"runAsUser": 1000, "runAsGroup": 100}, {}, "", "1000:100"),
        ({"runAsUser": 1000}, {"runAsUser": 0}, "", "0"),
        ({"runAsGroup": 100}, {}, "", "0:100"),
        ({"runAsGroup": 100}, {}, "app:app", "app:100"),
        ({"runAsUser": 0, "runAsGroup": 0}, {}, "app", "0:0"),
    ],
)
def test_the_user_of_a_container(
    of_pod: dict[str, int], of_container: dict[str, int], of_image: str, user: str
) -> None:
    asked = pod("worker-0", securityContext=of_pod, main={"securityContext": of_container})
    assert user_of(asked, asked["spec"]["containers"][0], Image("resnet:1", of_image)) == user


@pytest.mark.parametrize(
    ("security", "of_image", "refused"),
    [
        ({"runAsNonRoot": True}, "", True),
        ({"runAsNonRoot": True}, "app", False),
        ({"runAsNonRoot": True, "runAsUser": 0}, "app", True),
        ({"runAsNonRoot": True, "runAsUser": 1000}, "", False),
        ({}, "", False),
    ],
)
def test_root_is_refused_where_run_as_non_root_is_set(security: dict[str, Any], of_image: str, refused: bool) -> None:
    asked = pod("worker-0", securityContext=security)
    assert must_not_be_root(asked, asked["spec"]["containers"][0], Image("resnet:1", of_image)) is refused


def test_the_security_context() -> None:
    security = {
        "capabilities": {"add": ["IPC_LOCK"], "drop": ["NET_RAW"]},
        "allowPrivilegeEscalation": False,
        "privileged": True,
    }
    host = body(
        pod(
            "worker-0",
            securityContext={"fsGroup": 2000, "supplementalGroups": [44]},
            main={"securityContext": security},
        )
    )["HostConfig"]
    assert (host["CapAdd"], host["CapDrop"], host["GroupAdd"]) == (["IPC_LOCK"], ["NET_RAW"], ["44", "2000"])
    assert host["SecurityOpt"] == ["no-new-privileges"]
    assert "Privileged" not in host
    assert host["NetworkMode"] == "container:5a1d"


def service(name: str, ports: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
    selector = {"app.kubernetes.io/component": "ps"}
    return {"metadata": {"name": name}, "spec": {"selector": selector, "ports": ports, **spec}}


def test_routes_of_a_service() -> None:
    named = pod("ps-0", main={"ports": [{"name": "grpc", "containerPort": 20001}]})
    other = pod("ps-1", main={"ports": [{"name": "grpc", "containerPort": 20002}]})
    ports: list[dict[str, Any]] = [
        {"port": 2222, "targetPort": "grpc"},
        {"port": 80, "targetPort": 8080},
        {"port": 6006},
    ]
    asked = workload(
        named, other, pod("worker-0"),
        services=(service("ps", ports), service("names", [], clusterIP="None"), service("none", [], selector={"a": "b"})),
    )  # fmt: skip
    (made,) = forwarders(asked)
    first, second = (f"{full_name(name)}.pods.trainform" for name in ("ps-0", "ps-1"))
    assert made.routes == (
        (2222, ((first, 20001), (second, 20002))),
        (80, ((first, 8080), (second, 8080))),
        (6006, ((first, 6006), (second, 6006))),
    )
    assert made.aliases == ("ps", f"ps.{NAMESPACE}.svc.cluster.local", f"ps.{NAMESPACE}.svc", f"ps.{NAMESPACE}")


@pytest.mark.parametrize("port", [{"port": 53, "protocol": "UDP"}, {"port": 2222, "targetPort": "grpc"}])
def test_a_service_port_without_a_target_is_an_error(port: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"services\.ps\.ports\[1\]"):
        forwarders(workload(pod("ps-0"), services=(service("ps", [{"port": 1}, port]),)))


def test_secrets_are_masked() -> None:
    key = b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nend\n-----END OPENSSH PRIVATE KEY-----\n"
    masked = Masker(
        {"ssh": {"id": key}, "db": {"long": b"hunter2hunter2", "short": b"hunter2", "tiny": b"on", "empty": b""}}
    )
    assert masked("key b3BlbnNzaC1rZXk end on") == f"key {MASK} end on"
    assert masked("hunter2 hunter2hunter2") == f"{MASK} {MASK}"
    assert masked("plain") == "plain"
    assert Masker({})("hunter2") == "hunter2"


@pytest.mark.parametrize("sample", SAMPLES)
def test_secrets_with_control_characters_are_masked(sample: str) -> None:
    secret = f"the{sample}hunter2"
    masked = Masker({"db": {"password": secret.encode()}})
    for written in (secret, escaped(secret), json.dumps(secret)[1:-1], repr(secret)[1:-1]):
        shown = [masked(line) for line in lines([f"it is {written}.\n".encode()])]
        if "\n" not in written:  # of a secret of several lines, each long line is masked
            assert not [line for line in shown if "hunter2" in line], written


def test_a_secret_that_is_coloured_in_the_middle_is_masked() -> None:
    masked = Masker({"db": {"password": b"hunter2"}})
    assert masked("it is hunt\x1b[1;36mer\x1b[0m\x1b[K2.") == f"it is {MASK}."


def test_of_a_secret_with_carriage_returns_what_is_seen_is_masked() -> None:
    masked = Masker({"db": {"password": b"abc\rhunter2", "file": b"first line\r\nof two lines\r\n"}})
    assert [masked(line) for line in lines([b"abc\rhunter2\nfirst line\r\nof two lines\r\n"])] == [MASK] * 3


def test_a_stream_is_split_into_lines() -> None:
    pieces = [b"epoch 1\nepo", b"ch 2\r\n10%\r50%\r100%\n", b"\xff\nno end"]
    assert list(lines(pieces)) == ["epoch 1", "epoch 2", "100%", "\N{REPLACEMENT CHARACTER}", "no end"]
    assert [len(line) for line in lines([b"x" * 40_000])] == [16_384, 16_384, 7_232]


def test_short_names() -> None:
    assert short_name(pod("evaluation-watcher-0")) == "evaluation-watcher-0"
    per_replica = pod("worker-2-0")
    per_replica["metadata"]["labels"] = {"app.kubernetes.io/component": "worker", "trainform.dev/replica": "2"}
    assert short_name(per_replica) == "worker-2"
    assert short_name({"metadata": {"name": "by-hand"}, "spec": {}}) == "by-hand"
    of_job = pod("worker-0")
    of_job["metadata"]["name"] = full_name("worker-0-2-x7k2p")
    of_job["spec"]["hostname"] = full_name("worker-0-2")
    assert short_name(of_job) == "worker-2"
    assert planned_name(of_job) == full_name("worker-0-2")


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("debian", ("debian", "latest")),
        ("debian:12", ("debian", "12")),
        ("registry.example.com:5000/ai/train", ("registry.example.com:5000/ai/train", "latest")),
        ("registry.example.com:5000/ai/train:2.8", ("registry.example.com:5000/ai/train", "2.8")),
        ("train@sha256:0a1b", ("train", "sha256:0a1b")),
    ],
)
def test_names_of_images(name: str, parts: tuple[str, str]) -> None:
    assert repository_and_tag(name) == parts


def test_standard_input() -> None:
    assert body(pod("worker-0"))["OpenStdin"] is False
    assert body(pod("worker-0", main={"stdin": True}))["OpenStdin"] is True
