"""Requests to Docker's API, routes of Services, and masks; without Docker."""

from __future__ import annotations

from typing import Any

import pytest

from tests.local.rehearsal.workloads import NAMESPACE, full_name, pod, workload
from trainform.errors import MASK
from trainform.local.rehearsal.docker.request_bodies import Image, container_body, user_of
from trainform.local.rehearsal.run.pod_infrastructure import forwarders
from trainform.local.rehearsal.run.report import Masker

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
        ({}, {}, "app", ""),
        ({"runAsUser": 1000}, {}, "", "1000"),
        ({"runAsUser": 1000, "runAsGroup": 100}, {}, "", "1000:100"),
        ({"runAsUser": 1000}, {"runAsUser": 0}, "", "0"),
        ({"runAsGroup": 100}, {}, "app:app", "app:100"),
        ({"runAsUser": 0, "runAsGroup": 0}, {}, "app", "0:0"),
    ],
)
def test_the_user_of_a_container(
    of_pod: dict[str, int], of_container: dict[str, int], of_image: str, user: str
) -> None:
    asked = pod("worker-0", securityContext=of_pod, main={"securityContext": of_container})
    assert user_of(asked, asked["spec"]["containers"][0], Image("resnet:1", of_image)) == user


def test_the_security_context() -> None:
    """test_files.py has capabilities and fsGroup."""
    main = {"securityContext": {"allowPrivilegeEscalation": False, "privileged": True}}
    host = body(pod("worker-0", securityContext={"fsGroup": 2000, "supplementalGroups": [44]}, main=main))["HostConfig"]
    assert (host["GroupAdd"], host["SecurityOpt"]) == (["44", "2000"], ["no-new-privileges"])
    assert "Privileged" not in host


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
        services=(service("ps", ports), service("names", [], clusterIP="None"),
            service("none", [], selector={"a": "b"})),
    )  # fmt: skip
    (made,) = forwarders(asked)
    first, second = (f"{full_name(name)}.pods.trainform" for name in ("ps-0", "ps-1"))
    assert made.routes == (
        (2222, ((first, 20001), (second, 20002))),
        (80, ((first, 8080), (second, 8080))),
        (6006, ((first, 6006), (second, 6006))),
    )
    assert made.aliases == ("ps", f"ps.{NAMESPACE}.svc.cluster.local", f"ps.{NAMESPACE}.svc", f"ps.{NAMESPACE}")


def test_secrets_are_masked() -> None:
    key = b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\nend\n-----END OPENSSH PRIVATE KEY-----\n"
    masked = Masker(
        {"ssh": {"id": key}, "db": {"long": b"hunter2hunter2", "short": b"hunter2", "tiny": b"on", "empty": b""}}
    )
    assert masked("key b3BlbnNzaC1rZXk end on") == f"key {MASK} end on"
    assert masked("hunter2 hunter2hunter2") == f"{MASK} {MASK}"
    assert masked("plain") == "plain"
    assert Masker({})("hunter2") == "hunter2"
