"""Reviews that are saved and applied: what was reviewed goes through, and whatever has moved since is refused before
anything changes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.engine.applying import apply, check, failed, refused, reviewed_and_applied, save
from tests.engine.live import Live, until
from tests.engine.project import Project

WRONG = "not the passphrase of the project"


def variable(value: str) -> Callable[[dict[str, Any]], object]:
    """Return an edit of an experiment: a new revision."""
    return lambda data: data.setdefault("env", {}).update(LETTER=value)


def state(project: Project, stack: str) -> Any:
    return json.loads(project.pulumi("stack", "export", "-s", stack).succeeded())["deployment"]


@pytest.mark.shows("a review that is saved is applied once, and refused when the state has moved")
def test_a_first_deployment_is_applied_once(project: Project, live: Live) -> None:
    project.copied("hello")
    stack = project.stack("hello")
    file = save(project, stack)
    assert check(project, file).verdict["result"] == "unmoved"
    assert live.names("jobs", project.namespace) == set()

    found = apply(project, file)
    assert (found.code, found.verdict["result"]) == (0, "applied"), found.output
    assert live.only_job(project.namespace)["metadata"]["name"] == project.plan("hello").job
    before = state(project, stack)
    again = apply(project, file)
    refused(again)
    assert again.moved == {("state", "written"), ("state", "resources")}, "not as many things as it has objects"
    assert state(project, stack) == before

    # destroyed, the stack is as empty as it was when the review was made
    project.destroy(stack)
    refused(apply(project, file), ("state", "written"))
    assert live.names("jobs", project.namespace) == set()


@pytest.mark.proof("everything that can move between a review and its apply")
def test_whatever_moves_is_named_and_nothing_is_changed(project: Project, live: Live, tmp_path: Path) -> None:
    project.copied("hello")
    stack = project.stack("hello")
    project.ssh_secret(stack, "--secret")
    project.up(stack)
    live.running_pods(project.namespace, project.plan("hello").totals.pods)  # a job that starts later has moved
    before = state(project, stack)
    project.copied("hello", variable("INFO"))
    file = save(project, stack)

    project.copied("hello", lambda data: (variable("INFO")(data), data["roles"]["worker"].update(replicas=3)))
    refused(check(project, file), ("step", "RoleGroup hello-worker: replicas"))
    project.copied("hello", variable("WARN"))
    refused(apply(project, file), ("step", "TrainingJob hello: env.LETTER"))
    project.copied("hello", variable("INFO"))

    config = project.folder / "stacks" / f"Pulumi.{stack}.yaml"
    written = config.read_text()
    project.pulumi("config", "set", "trainform:run", "2", "-s", stack).succeeded()
    refused(apply(project, file), ("config", "trainform:run"))
    config.write_text(written)
    project.ssh_secret(stack, "--secret", value="another secret of thirty-six characters")
    refused(apply(project, file), ("config", "trainform:sshSecret"))
    config.write_text(written)

    program = project.folder / "stacks" / "__main__.py"
    text = program.read_text()
    program.write_text(f"{text}\nfrom pulumi_kubernetes.core.v1 import ConfigMap\n\nConfigMap('more')\n")
    refused(apply(project, file), ("step", "ConfigMap more"))
    program.write_text(f"{text}\nprint('more')\n")
    printed = check(project, file)
    assert printed.code == 0, f"only what `pulumi up` would do counts: {printed.output}"
    program.write_text(text)

    with project.as_version("9.9.9"):
        refused(apply(project, file), ("versions", "trainform"))
    refused(apply(project, file, PATH=another_version(project, tmp_path)), ("versions", "pulumi"))

    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    refused(apply(project, file, PULUMI_BACKEND_URL=f"file://{elsewhere}"), ("backend", "backend"))

    failed(apply(project, file, PULUMI_CONFIG_PASSPHRASE=WRONG), 1, "the key of the saved review cannot be decrypted")
    assert state(project, stack) == before
    assert check(project, file).code == 0


def another_version(project: Project, folder: Path) -> str:
    """Return a PATH on which `pulumi` says that it is a newer one, and else is the real one."""
    real = shutil.which("pulumi", path=project.environ["PATH"])
    shim = folder / "newer" / "pulumi"
    shim.parent.mkdir()
    shim.write_text(f'#!/bin/sh\n[ "$1" = version ] && echo v9.9.9 && exit\nexec {real} "$@"\n')
    shim.chmod(0o755)
    return f"{shim.parent}:{project.environ['PATH']}"


@pytest.mark.proof("a state that has moved between a review and its apply")
def test_an_up_or_a_refresh_in_between(project: Project, live: Live) -> None:
    project.copied("hello")
    stack = project.stack("hello")
    project.up(stack)
    project.copied("hello", variable("INFO"))
    file = save(project, stack)
    project.copied("hello", variable("WARN"))
    project.up(stack)
    project.copied("hello", variable("INFO"))
    refused(apply(project, file), ("state", "written"), ("state", "resources"))

    file = save(project, stack)
    project.pulumi("refresh", "--yes", "--skip-preview", "-s", stack).succeeded()
    refused(apply(project, file), ("state", "written"))
    reviewed_and_applied(project, stack)


@pytest.mark.proof("objects that move between a review and its apply")
def test_an_object_that_somebody_changes_deletes_or_makes(project: Project, live: Live) -> None:
    project.copied("hello")
    stack = project.stack("hello")
    project.up(stack)
    live.running_pods(project.namespace, project.plan("hello").totals.pods)
    job = live.only_job(project.namespace)["metadata"]["name"]
    project.copied("hello", variable("INFO"))
    file = save(project, stack)
    place = live.path("jobs", project.namespace, job)

    # what moves by itself
    annotation = {"metadata": {"annotations": {"example.com/noted": "yes"}}}
    live.merge(place, annotation)
    assert check(project, file).code == 0

    labels = {"metadata": {"labels": {"trainform.dev/revision": "edited"}}}
    live.merge(place, labels, "kubectl-edit")
    refused(apply(project, file), ("object", f"Job/{job}: metadata.labels.trainform.dev/revision"))

    # what was there when it was reviewed was reviewed
    file = save(project, stack)
    assert check(project, file).code == 0
    live.delete("jobs", job, project.namespace)
    until(lambda: live.find("jobs", job, project.namespace) is None, "the job to go")
    refused(apply(project, file), ("object", f"Job/{job}"))

    launch = f"{project.plan('hello').job}-launch"
    other = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": launch}}
    file = save(project, stack)
    live.create("configmaps", other, project.namespace)
    refused(apply(project, file), ("object", f"ConfigMap/{launch}"))


@pytest.mark.proof("a review whose preview fails is not saved")
def test_what_cannot_be_previewed_is_not_saved_and_not_applied(project: Project, live: Live) -> None:
    project.copied("hello")
    stack = project.stack("hello")
    file = save(project, stack)
    written = file.read_text()
    program = project.folder / "stacks" / "__main__.py"
    program.write_text("raise RuntimeError('broken')\n")
    ran = project.trainform("review", stack, "--save", str(file))
    assert ran.code == 1
    assert f"trainform: {file} is not written:\ntrainform: the preview fails:" in ran.output
    assert file.read_text() == written
    assert project.trainform("apply", str(file)).code == 1
    assert live.names("jobs", project.namespace) == set()


@pytest.mark.proof("an environment's own stack is reviewed and applied")
def test_an_environments_own_stack(project: Project, live: Live) -> None:
    project.environment(queues={"vision": {"weight": 2}})
    stack = project.stack()
    reviewed_and_applied(project, stack)
    project.environment(queues={"vision": {"weight": 3}})
    file = save(project, stack)
    project.environment(queues={"vision": {"weight": 4}})
    refused(apply(project, file), ("step", "Platform dev: queues.vision.weight"))
    project.environment(queues={"vision": {"weight": 3}})
    assert apply(project, file).code == 0
    assert live.get("queues", "vision")["spec"]["weight"] == 3
    project.destroy(stack)
