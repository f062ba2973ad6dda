"""The SSH identity on the live cluster: where its keys are, where they are not, and what a rotation changes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.live import Live
from tests.engine.project import SSH_SECRET, Project
from trainform.local.sandbox.control import Sandbox
from trainform.local.sandbox.folder import Layout
from trainform.manifests.ssh_files import (
    AUTHORIZED_KEYS,
    HOST_KEY,
    KNOWN_HOSTS,
    REQUIRED_FILES,
    USER_KEY,
    identity_files,
    ssh_names,
)
from trainform.plan.model import Plan

pytestmark = pytest.mark.proof("further cases of the SSH identity")

SECRET = "allreduce-ssh"  # noqa: S105 - a name


def keys(plan: Plan, rotation: int) -> dict[str, str]:
    return identity_files(ssh_names(plan), SSH_SECRET, rotation)


def kept(live: Live, namespace: str, name: str = SECRET) -> dict[str, str]:
    """Return the files of the live Secret."""
    data = live.get("secrets", name, namespace)["data"]
    return {key: base64.b64decode(value).decode() for key, value in data.items()}


def traces(files: dict[str, str]) -> set[str]:
    """Pieces of text that give the secret or a private key away: as it is written, and as a Secret of Kubernetes holds
    it."""
    found = {SSH_SECRET, base64.b64encode(SSH_SECRET.encode()).decode(), "BEGIN OPENSSH"}
    for name in (USER_KEY, HOST_KEY):
        found |= {line for line in files[name].splitlines() if not line.startswith("-----")}
        found.add(base64.b64encode(files[name].encode()).decode()[:48])
    # the first line of every Ed25519 key begins alike, and tells nothing
    return {trace for trace in found if not trace.startswith("b3BlbnNzaC1rZXktdjE")}


def everything_shown(project: Project, stack: str, logs: Path) -> Iterator[tuple[str, str]]:
    """Whatever a person, a log or a disk gets to see of an update, by its name."""
    for words in (
        ("preview", "--json"), ("preview", "--diff", "--show-sames"), ("up", "--yes", "--skip-preview", "--diff"),
        ("stack", "export"), ("stack", "output", "--json"), ("config",),
    ):  # fmt: skip
        yield " ".join(words), project.pulumi(*words, "-s", stack).succeeded()
    for words in (("render",), ("plan",), ("plan", "--output", "json"), ("check", "--output", "json")):
        verb, *options = words
        output = project.trainform(verb, "allreduce", "-e", "dev", *options).succeeded()
        yield f"trainform {' '.join(words)}", output
    for path in project.folder.rglob("*"):
        if path.is_file() and path.suffix not in (".py", ".pyc"):
            yield str(path.relative_to(project.folder)), path.read_text()
    for path in logs.iterdir():
        yield path.name, path.read_text(errors="replace")


def changed_kinds(preview: str) -> list[tuple[str, str]]:
    """Return what happens to which kinds, from a preview in JSON."""
    steps = json.loads(preview[preview.index("{") :])["steps"]
    return [(step["op"], step["urn"].split("::")[2].rpartition(":")[2]) for step in steps if step["op"] != "same"]


@pytest.fixture
def stack(project: Project) -> str:
    """Return the stack of `allreduce`, not up and without a secret."""
    project.copied("allreduce")
    return project.stack("allreduce")


def test_a_missing_secret_is_told_with_the_command_that_sets_it_and_a_secret_of_somebody_else_is_not_overwritten(
    project: Project, live: Live, stack: str
) -> None:
    output = project.pulumi("up", "--yes", "--skip-preview", "-s", stack).failed()
    assert "trainform:sshSecret" in output
    assert "is not set" in output
    assert live.find_all("jobs", project.namespace) == []
    assert live.find_all("services", project.namespace) == []
    assert live.find("secrets", SECRET, project.namespace) is None

    told = re.search(r"set it once for this stack: (.*)", output)
    assert told is not None
    project.run("bash", "-c", f"set -o pipefail; {told[1]}").succeeded()
    config = (project.folder / "stacks" / f"Pulumi.{stack}.yaml").read_text()
    assert re.search(r"trainform:sshSecret:\n\s+secure: ", config)

    foreign = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}, "data": {"token": "eA=="}}
    live.create("secrets", foreign, project.namespace)
    # what the command has set is good, or this would not be told
    output = project.pulumi("up", "--yes", "--skip-preview", "-s", stack).failed()
    assert f"Secret {SECRET} exists already and does not belong to this environment" in output
    assert kept(live, project.namespace) == {"token": "x"}

    clear = "in-clear-for-all-to-read"
    project.ssh_secret(stack, "--plaintext", value=clear).succeeded()
    output = project.pulumi("preview", "-s", stack).failed()
    assert "the stack's file holds the secret as plain text" in output
    assert "--secret trainform:sshSecret" in output
    assert clear not in output

    short = "fifteen-letters"
    project.ssh_secret(stack, value=short).succeeded()
    output = project.pulumi("preview", "-s", stack).failed()
    assert "has 15 characters" in output
    assert short not in output


@pytest.mark.shows("SSH keys stay in their Secret")
def test_keys_are_in_the_secret_and_nowhere_else_and_a_rotation_changes_the_secret_alone(
    project: Project, live: Live, stack: str, sandbox: Sandbox
) -> None:
    project.ssh_secret(stack).succeeded()
    first_output = project.up(stack, "--diff")
    plan = project.plan("allreduce")
    first = keys(plan, 1)
    assert not any(trace in first_output for trace in traces(first))
    assert kept(live, project.namespace) == first
    pods = live.running_pods(project.namespace, 3)
    for pod in pods:
        volume = next(
            volume for volume in pod["spec"]["volumes"] if volume.get("secret", {}).get("secretName") == SECRET
        )
        assert volume["secret"]["defaultMode"] == 0o400
        mounts = {mount["name"]: mount for mount in pod["spec"]["containers"][0]["volumeMounts"]}
        assert mounts[volume["name"]]["mountPath"] == "/root/.ssh"
        assert mounts[volume["name"]]["readOnly"]

    before = live.only_job(project.namespace)
    service = live.get("services", "allreduce", project.namespace)["metadata"]["uid"]
    secret = live.get("secrets", SECRET, project.namespace)["metadata"]["uid"]
    project.copied("allreduce", lambda data: data.update(ssh={"rotation": 2}))
    second = keys(project.plan("allreduce"), 2)
    shown = dict(
        everything_shown(project, stack, Layout(sandbox.folder).logs)
    )  # it runs `up` too, so the Secret is the next one now
    # the component shows the rotation, as the user has written it, and the record of what is deployed has it
    assert sorted(changed_kinds(shown["preview --json"])) == [
        ("update", "ConfigMap"), ("update", "Secret"), ("update", "SshIdentity")
    ]  # fmt: skip
    assert any(name.startswith("state/") for name in shown)
    assert "kube-apiserver.log" in shown
    assert {
        (name, trace) for name, text in shown.items() for trace in traces(first) | traces(second) if trace in text
    } == set()
    assert kept(live, project.namespace) == second
    assert second[USER_KEY] != first[USER_KEY]
    assert first[f"{USER_KEY}.pub"] in second[AUTHORIZED_KEYS]
    assert first[f"{HOST_KEY}.pub"].rsplit(" ", 1)[0] in second[KNOWN_HOSTS]
    after = live.only_job(project.namespace)
    assert (after["metadata"]["uid"], after["metadata"]["generation"]) == (
        before["metadata"]["uid"],
        before["metadata"]["generation"],
    )
    assert {pod["metadata"]["uid"] for pod in live.running_pods(project.namespace, 3)} == {
        pod["metadata"]["uid"] for pod in pods
    }
    # a Secret that was replaced would be gone for a moment, and a pod that starts then would wait
    assert live.get("secrets", SECRET, project.namespace)["metadata"]["uid"] == secret
    assert live.get("services", "allreduce", project.namespace)["metadata"]["uid"] == service
    project.unchanged(stack)


def test_a_secret_of_the_user_is_checked_and_used(project: Project, live: Live) -> None:
    project.copied("allreduce", lambda data: data.update(ssh={"secret": "team-keys"}))
    stack = project.stack("allreduce")  # it needs no secret of the stack
    output = project.pulumi("preview", "-s", stack).failed()
    assert f"the Secret team-keys does not exist in {project.namespace}" in output

    entries = dict.fromkeys(REQUIRED_FILES, "eA==")
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "team-keys"}}
    live.create("secrets", body | {"data": {USER_KEY: entries.pop(USER_KEY)}}, project.namespace)
    output = project.pulumi("preview", "-s", stack).failed()
    assert f"the Secret team-keys in {project.namespace} has no key {', '.join(sorted(entries))}" in output

    live.delete("secrets", "team-keys", project.namespace)
    made = live.create("secrets", body | {"data": dict.fromkeys(REQUIRED_FILES, "eA==")}, project.namespace)
    assert "Secret" not in {step.kind for step in project.applied(stack)}  # so that no destroy can take it away
    for pod in live.running_pods(project.namespace, 3):
        assert "team-keys" in {volume.get("secret", {}).get("secretName") for volume in pod["spec"]["volumes"]}
    assert live.find("secrets", SECRET, project.namespace) is None
    left = live.get("secrets", "team-keys", project.namespace)
    assert left["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
