"""`trainform destroy`: options that lead elsewhere, and which cluster it wants. On real clusters it runs in
`tests/engine/test_clusters.py`."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.running import run
from tests.cluster.test_client import use
from tests.support.api_objects import ApiObjects
from tests.support.repository import ROOT
from tests.support.websites import website

ELSEWHERE = "trainform: {} leads Pulumi to another stack"


@pytest.mark.parametrize(
    "options",
    [
        ("-s", "bert.dev"),
        ("-sbert.dev",),
        ("-ys", "bert.dev"),
        ("--stack", "bert.dev"),
        ("--stack=bert.dev",),
        ("-C", "/srv/vision"),
        ("--cwd=/srv/vision",),
    ],
)
def test_the_stack_that_is_compared_is_the_one_that_is_destroyed(options: tuple[str, ...]) -> None:
    code, _, err = run("destroy", "bert.prod", "--", "--yes", *options)
    assert code == 2
    assert err.splitlines() == [
        ELSEWHERE.format(options[0]),
        "  fix: name the stack before `--`, in its own project",
    ]


@pytest.mark.parametrize(
    "options", [("--yes", "--skip-preview"), ("-yf",), ("-mserver is gone",), ("--show-sames",), ("-p", "4")]
)
def test_other_options_are_for_pulumi(
    options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run("destroy", "bert.prod", "--", *options)
    assert code == 2
    assert "there is no project here" in err


HERE, ELSEWHERE_UID = "5f1c2d7e-8a54-4f0e-9b1d-3f6f6c1b2a90", "0b7a3c11-26cd-4a8f-8e0a-7d5f9a1c4e02"
STACK = "hello.dev"
Ended = subprocess.CompletedProcess[str]
Destroy = Callable[[], Ended]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a stack in `dev`."""
    for name in ("Pulumi.yaml", "stacks/environments/dev.yaml", f"stacks/Pulumi.{STACK}.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


@pytest.fixture
def destroy(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Destroy]:
    """The command as a process, since it becomes Pulumi: a program in its place tells the state, and says when it would
    delete."""
    program = folder / "bin" / "pulumi"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\ncase "$1" in stack) cat {folder}/state.json ;; *) echo "deleted: $*" ;; esac\n')
    program.chmod(stat.S_IRWXU)
    system = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": HERE}}
    marked = {"name": "hello-deployed", "namespace": "ai", "annotations": {"trainform.dev/stack": "trainform/theirs"}}
    record = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": marked, "data": {"run": "not read"}}
    with website(ApiObjects([system, record])) as url:
        use(folder / "kubeconfig", monkeypatch, url, {"token": "t0ken"})
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
        words = [sys.executable, "-m", "trainform", "destroy", STACK, "--", "--yes"]
        yield lambda: subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)


def bind(folder: Path, state: str | None, environment: str | None) -> None:
    """Write the UIDs that the two of them name."""
    inputs = {"context": "dev-cluster"} | ({} if state is None else {"clusterIdentifier": state})
    urn = "urn:pulumi:hello.dev::trainform::pulumi:providers:kubernetes::dev-cluster"
    provider = {"urn": urn, "type": "pulumi:providers:kubernetes", "inputs": inputs}
    (folder / "state.json").write_text(json.dumps({"version": 3, "deployment": {"resources": [provider]}}))
    path = folder / "stacks" / "environments" / "dev.yaml"
    cluster = {"context": "dev-cluster"} | ({} if environment is None else {"uid": environment})
    path.write_text(yaml.safe_dump(yaml.safe_load(path.read_text()) | {"cluster": cluster}))


def refused(ended: Ended) -> str:
    assert (ended.returncode, ended.stdout) == (2, "")
    return " ".join(ended.stderr.split())


@pytest.mark.parametrize(("state", "environment"), [(HERE, None), (HERE, HERE), (None, HERE)])
def test_it_deletes_on_the_cluster_to_which_the_stack_is_bound(
    folder: Path, destroy: Destroy, state: str | None, environment: str | None
) -> None:
    bind(folder, state, environment)
    ended = destroy()
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"deleted: destroy -s {STACK} --yes\n", "")


def test_the_objects_are_where_the_state_says(folder: Path, destroy: Destroy) -> None:
    """Also when the environment has moved on to another cluster since."""
    bind(folder, HERE, ELSEWHERE_UID)
    assert destroy().returncode == 0
    bind(folder, ELSEWHERE_UID, HERE)
    assert f"cluster.uid = {ELSEWHERE_UID} why: the stack hello.dev is bound" in refused(destroy())


def test_nothing_is_deleted_while_the_environment_cannot_be_read(folder: Path, destroy: Destroy) -> None:
    bind(folder, None, None)
    (folder / "stacks" / "environments" / "dev.yaml").write_text("name: dev\ncluster: {uuid: 0b7a3c11}\n")
    assert "cluster.uuid" in refused(destroy())


@pytest.mark.parametrize("config", [{"trainform:environment": "dev"}, {"data:path": "/srv"}])
def test_a_stack_that_nothing_binds_is_destroyed_with_a_note(
    folder: Path, destroy: Destroy, config: dict[str, str]
) -> None:
    """That of a program of the user's own names no environment."""
    bind(folder, None, None)
    (folder / "stacks" / f"Pulumi.{STACK}.yaml").write_text(yaml.safe_dump({"config": config}))
    ended = destroy()
    assert (ended.returncode, ended.stdout) == (0, f"deleted: destroy -s {STACK} --yes\n")
    assert "note: not compared: the stack hello.dev is bound to no cluster (provider dev-cluster)" in ended.stderr


def add(folder: Path, kind: str, name: str, namespace: str | None = "ai", **options: bool) -> None:
    """Add to the state an object of a stack: of a job as an `up` leaves it that failed before the record, or of an
    environment."""
    labels = {"app.kubernetes.io/managed-by": "trainform", "app.kubernetes.io/name": "hello"}
    metadata = {"name": name, "labels": labels} | ({} if namespace is None else {"namespace": namespace})
    state = json.loads((folder / "state.json").read_text())
    resources = state["deployment"]["resources"]
    provider = f"{resources[0]['urn']}::1"
    resources.append({"type": f"kubernetes:core/v1:{kind}", "provider": provider, "inputs": {"metadata": metadata},
            **options})  # fmt: skip
    (folder / "state.json").write_text(json.dumps(state))


def test_what_another_stack_has_deployed_since_is_not_deleted(folder: Path, destroy: Destroy) -> None:
    """The first `up` of this stack has failed before it marked the job as its own, and another stack has taken the
    objects over."""
    bind(folder, HERE, None)
    add(folder, "Service", "hello")
    said = refused(destroy())
    assert "STACK = hello.dev why: hello in the namespace ai is deployed by the stack trainform/theirs by now" in said
    assert "kubectl annotate configmap hello-deployed -n ai trainform.dev/stack-" in said
    assert "`pulumi stack rm --force hello.dev`" in said


def test_what_no_other_stack_has_marked_is_deleted(folder: Path, destroy: Destroy) -> None:
    bind(folder, HERE, None)
    add(folder, "Service", "hello", "another")
    assert destroy().returncode == 0
    add(folder, "Service", "hello")
    project = folder / "Pulumi.yaml"
    project.write_text(project.read_text().replace("name: trainform", "name: vision", 1))
    assert "trainform/theirs" in refused(destroy()), "a stack of another project"


def test_a_state_by_which_the_namespace_would_be_deleted_is_refused(folder: Path, destroy: Destroy) -> None:
    bind(folder, HERE, None)
    add(folder, "Namespace", "ai-dev", None)
    told = refused(destroy())
    assert "STACK = hello.dev why: `pulumi destroy` would delete the namespace ai-dev with everything in it" in told
    assert "fix: run `pulumi up -s hello.dev` first" in told


def test_a_namespace_stays_and_the_command_that_deletes_it_is_shown(folder: Path, destroy: Destroy) -> None:
    bind(folder, HERE, None)
    add(folder, "Namespace", "ai-dev", None, retainOnDelete=True)
    add(folder, "PersistentVolumeClaim", "scratch", "ai-dev")
    ended = destroy()
    assert (ended.returncode, ended.stdout) == (0, f"deleted: destroy -s {STACK} --yes\n")
    assert ended.stderr.splitlines() == [
        "note: claims that are deleted, with their data: ai-dev/scratch",
        "note: the namespace ai-dev stays in the cluster, with what others have created in it",
        "  to delete all of it: kubectl delete namespace ai-dev --context dev-cluster",
    ]


def test_claims_that_stay_and_that_are_deleted_are_named_first(folder: Path, destroy: Destroy) -> None:
    bind(folder, HERE, None)
    for name, kept in (("scratch", False), ("runs", True), ("models", True)):
        add(folder, "PersistentVolumeClaim", name, "ai-dev", retainOnDelete=kept)
    ended = destroy()
    assert (ended.returncode, ended.stdout) == (0, f"deleted: destroy -s {STACK} --yes\n")
    assert ended.stderr.splitlines() == [
        "note: claims that stay in the cluster: ai-dev/models, ai-dev/runs",
        "note: claims that are deleted, with their data: ai-dev/scratch",
    ]
