"""`trainform diff`: stacks as they are deployed, releases and files, in each of its forms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.running import run
from tests.cluster.test_client import use
from tests.cluster.test_identity import OTHER, UID
from tests.deployed.test_records import config_map
from tests.support.api_objects import ApiObjects
from tests.support.releases import FORGED, forged, project, release, write_release
from tests.support.samples import CLUSTER, JOB
from tests.support.websites import website
from trainform.deployed.releases.release import Rollback
from trainform.errors import MASK
from trainform.job.check import check_experiment
from trainform.plan.inputs import job_record
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment


def deployed(**changed: Any) -> dict[str, Any]:
    """The ConfigMap that `pulumi up` of `sdxl-lora.dev` has made."""
    environment = Environment.model_validate({**CLUSTER, "name": "dev"})
    job = check_experiment(Experiment.model_validate({**JOB, **changed}), environment).or_raise()
    record = job_record(job.experiment, environment, job.plan)
    assert record is not None
    return {**config_map("sdxl-lora"), "data": record.data()}


@pytest.fixture
def name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A project with a release, which `sdxl-lora.prod` follows. In dev one more worker is deployed than the file
    has."""
    name = project(tmp_path, release(queue="research"))
    monkeypatch.chdir(tmp_path)
    workers = {**JOB["roles"]["worker"], "replicas": 3}
    kube_system = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": UID}}
    with website(ApiObjects([deployed(roles={**JOB["roles"], "worker": workers}), kube_system])) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        yield name


def rows(*words: str) -> dict[str, list[Any]]:
    code, out, err = run("diff", *words, "--output", "json")
    assert (code, err) == (0, "")
    return {row["path"]: row["values"] for row in json.loads(out)["experiment"]}


def test_a_stack_beside_what_its_files_say(name: str) -> None:
    code, out, err = run("diff", "sdxl-lora.dev")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[:2] == [
        "Comparison of sdxl-lora.dev and sdxl-lora.dev by the experiment's file",
        "  1 field of the experiment differs.",
    ]
    assert lines[-1].split() == ["roles.worker.replicas", "3", "2"]


def test_a_stack_beside_a_release(name: str) -> None:
    found = rows("sdxl-lora.dev", name)
    assert found["roles.worker.replicas"] == [3, 2]
    assert found["queue"] == ["default", "research"]
    assert found["image"][1].endswith("4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945")


def facts(*words: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(run("diff", *words, "--output", "json")[1])["versions"]
    return found


def test_a_release_and_a_stack_say_where_they_come_from(name: str, tmp_path: Path) -> None:
    stack, made = facts("sdxl-lora.dev", name)
    assert stack["follows"] == "the experiment's file"
    assert made["name"] == f"release {name}"
    assert made["promoted"] == "from sdxl-lora.dev to sdxl-lora.prod at 2026-11-23T14:35:24Z"
    back = Rollback(of=name, to=None, reason="the loss diverges")
    other = write_release(release(queue="research").model_copy(update={"rollback": back}), tmp_path)
    rolled_back = facts(other, "sdxl-lora")[0]
    assert rolled_back["name"] == f"release {other}"
    assert rolled_back["rolled back"].startswith(f"from release {name} back to what was deployed at ")
    assert rolled_back["because"] == "the loss diverges"
    path = tmp_path / "stacks" / "Pulumi.sdxl-lora.dev.yaml"
    path.write_text(path.read_text() + f'  trainform:release: "{other}"\n')
    assert [version["name"] for version in facts("sdxl-lora.dev")] == ["sdxl-lora.dev",
        f"sdxl-lora.dev by release {other}"]  # fmt: skip
    assert facts("sdxl-lora.dev")[0]["follows"] == f"release {other}"


@pytest.mark.parametrize("is_rollback", [False, True])
def test_what_somebody_has_forged_is_masked(name: str, is_rollback: bool, tmp_path: Path) -> None:
    made = write_release(forged(is_rollback=is_rollback), tmp_path)
    assert MASK in f"{facts(made, name)}"
    assert FORGED[:4] not in f"{facts(made, name)}"


def test_a_release_beside_a_file_needs_no_cluster(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere")
    assert {*rows(name, "sdxl-lora")} == {"image", "queue"}
    assert {*rows("stacks/experiments/sdxl-lora.yaml", name)} == {"image", "queue"}


def test_differences_can_be_an_exit_code(name: str) -> None:
    assert run("diff", "sdxl-lora.dev", "--fail")[0] == 3
    assert run("diff", "sdxl-lora", "sdxl-lora", "--fail")[0] == 0
    assert run("diff", "sdxl-lora", "sdxl-lora")[1].splitlines()[1] == "  Both are the same experiment."


def test_a_stack_that_is_not_deployed_is_an_error(name: str) -> None:
    Path("stacks/environments/prod.yaml").write_text(
        yaml.safe_dump({**CLUSTER, "name": "prod", "namespace": {"name": "ai-production"}})
    )
    code, _, err = run("diff", "sdxl-lora.prod")
    assert code == 1
    assert err.splitlines() == [
        "trainform: sdxl-lora is not deployed in the environment prod (namespace ai-production)",
        "  fix: run `pulumi up` of its stack first; `trainform stacks` shows what is deployed",
    ]


def test_another_cluster_is_not_read(name: str) -> None:
    bound = {**CLUSTER, "name": "dev", "cluster": {"uid": OTHER}}
    Path("stacks/environments/dev.yaml").write_text(yaml.safe_dump(bound))
    code, out, err = run("diff", "sdxl-lora.dev")
    assert (code, out) == (2, "")
    assert f"cluster.uid = {OTHER}" in err


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["sdxl-lora"], "name one: sdxl-lora.dev or sdxl-lora.prod"),
        (["0a1b2c3d4e5f60718293"], "Missing argument 'B'"),
        (["sdxl-lora.dev", "0a1b2c3d4e5f60718293"], "release = 0a1b2c3d4e5f60718293"),
        (["sdxl-lora.dev", "sdxl-loras"], "experiment = sdxl-loras"),
        (["sdxl-lora", "sdxl-lora", "-e", "stage"], "environment = stage"),
        (["sdxl-lora.dev", "-e", "prod"], "-e cannot be used with the stack sdxl-lora.dev"),
    ],
)
def test_what_is_not_there_is_wrong_input(name: str, words: list[str], line: str) -> None:
    code, out, err = run("diff", *words)
    assert (code, out) == (2, "")
    assert line in err
