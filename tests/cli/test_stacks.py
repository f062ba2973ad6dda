"""`trainform stacks`, from a server that answers as an API server does, in each of its forms."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.running import run
from tests.cluster.test_client import use
from tests.deployed.test_overview import environment, job, of_job, recorded
from tests.support.api_objects import ApiObjects
from tests.support.leaks import GITHUB_TOKEN, HUB_TOKEN, leaks
from tests.support.releases import ORIGIN, PROMOTED, write_release
from tests.support.samples import JOB
from tests.support.websites import website
from trainform.deployed.releases.release import Release
from trainform.plan.record import read_record
from trainform.spec.stack import pinned_release

BROKEN = recorded("mnist", stack="vision/mnist.dev")
BROKEN["data"]["run"] = "seven"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with `dev`, in which two experiments are deployed, one of them by a release, and `prod`, which nobody
    reaches."""
    (tmp_path / "stacks" / "environments").mkdir(parents=True)
    (tmp_path / "Pulumi.yaml").write_text("name: vision\nruntime: python\nmain: stacks\nstackConfigDir: stacks\n")
    for name, cluster in (("dev", {}), ("prod", {"context": "prod-cluster"})):
        data = environment(name, cluster=cluster).model_dump(by_alias=True, exclude_defaults=True)
        (tmp_path / "stacks" / "environments" / f"{name}.yaml").write_text(yaml.safe_dump(data))
    bodies = [recorded("bert"), job("bert"), of_job("bert", 0), of_job("bert", 1)]
    bodies += [recorded("sdxl-lora", stack="vision/sdxl-lora.dev"), job("sdxl-lora", "Completed")]
    follow("bert.dev", released(bodies[0], tmp_path), tmp_path)
    follow("sdxl-lora.dev", None, tmp_path)
    (tmp_path / "stacks" / "experiments").mkdir()
    write_experiment(tmp_path)
    monkeypatch.chdir(tmp_path)
    with website(ApiObjects(bodies)) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        yield tmp_path


def released(config_map: dict[str, Any], root: Path, **changed: Any) -> str:
    """A release of what the record holds, with these changes; its name."""
    record = read_record(config_map)
    assert record is not None
    made = Release(experiment={**record.experiment, **changed}, origin=ORIGIN, promoted=PROMOTED)
    return write_release(made, root)


def follow(stack: str, release: str | None, root: Path) -> None:
    """Let the stack name the release, or its experiment's file."""
    experiment, _, environment_name = stack.rpartition(".")
    text = f"  trainform:experiment: {experiment}\n  trainform:environment: {environment_name}\n"
    text += f'  trainform:release: "{release}"\n' if release else ""
    (root / "stacks" / f"Pulumi.{stack}.yaml").write_text(f"config:\n{text}")


def write_experiment(root: Path, **changed: Any) -> None:
    """The file of the experiment that follows no release."""
    roles = {"worker": {"replicas": 2, "accelerators": {"a800": 8}}}
    text = yaml.safe_dump({**JOB, "roles": roles, **changed}, sort_keys=False)
    (root / "stacks" / "experiments" / "sdxl-lora.yaml").write_text(text)


def release_of(stack: str) -> str:
    return str(pinned_release(stack, Path()))


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_a_table_for_a_terminal(project: Path) -> None:
    code, out, err = run("stacks", "-e", "dev")
    head, bert, sdxl, _, total = out.splitlines()
    assert (code, err) == (0, "")
    assert cells(head) == [
        "experiment", "environment", "phase", "accelerators", "age", "cost/h", "state", "release", "revision", "stack",
    ]  # fmt: skip
    assert head.index("state") < 80
    shown = cells(bert)
    assert shown[:4] == ["bert", "dev", "running", "16 a800"]
    assert shown[5:] == ["33.60 USD", "deployed", release_of("bert.dev"), "1f3a9c", "vision/bert.dev"]
    assert cells(sdxl)[-3:] == ["deployed", "1f3a9c", "vision/sdxl-lora.dev"], "it follows a file"
    assert "USD" not in sdxl
    assert total == "2 experiments, 16 a800, 33.60 USD/h"


def rows(*words: str) -> dict[str, dict[str, Any]]:
    code, out, err = run("stacks", "-e", "dev", *words, "--output", "json")
    assert (code, err) == (0, "")
    return {row["experiment"]: row for row in json.loads(out)["stacks"]}


def test_a_stack_that_names_another_release_is_pending(project: Path) -> None:
    assert rows()["bert"]["state"] == "deployed"
    follow("bert.dev", released(recorded("bert"), project, image="registry.example.com/bert:2"), project)
    assert rows()["bert"]["state"] == "pending"
    elsewhere = {"prod": {"image": "registry.example.com/bert:2"}}
    follow("bert.dev", released(recorded("bert"), project, environments=elsewhere), project)
    assert rows()["bert"]["state"] == "deployed", "it is the same here"
    follow("bert.dev", "0" * 20, project)
    assert rows()["bert"]["state"] == "unknown", "the release is not here"


def test_a_stack_whose_file_has_changed_is_pending(project: Path) -> None:
    assert rows()["sdxl-lora"]["state"] == "deployed"
    write_experiment(project, image="registry.example.com/ai/pytorch-training:3")
    assert rows()["sdxl-lora"]["state"] == "pending"
    write_experiment(project, image=None)
    assert rows()["sdxl-lora"]["state"] == "unknown"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("--experiment", "bert"), {"bert"}),
        (("--queue", "research"), {"bert"}),
        (("--owner", "ada"), {"bert"}),
        (("--owner", "ada", "--experiment", "sdxl-lora"), set()),
        (("--queue", "default"), {"sdxl-lora"}),
    ],
)
def test_filters(
    words: tuple[str, ...], shown: set[str], project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = [
        recorded("bert", queue="research", owner="Ada Byron <ada@example.com>"),
        recorded("sdxl-lora", queue="default"),
    ]
    with website(ApiObjects(bodies)) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        assert {*rows(*words)} == shown
        assert "Ada Byron" in run("stacks", "-e", "dev")[1]


@pytest.mark.parametrize("theirs", ["speech/bert.dev", "vision/bert.night", ""])
def test_what_a_stack_follows_whose_config_is_not_here_is_unknown(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theirs: str
) -> None:
    """Of another project, which may have a stack of the same name, or of another checkout; or nothing says of which
    stack it is."""
    with website(ApiObjects([recorded("bert", stack=theirs)])) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        _, out, _ = run("stacks", "-e", "dev")
        assert "unknown" in out.splitlines()[1]
        _, out, _ = run("stacks", "-e", "dev", "--output", "json")
    (row,) = json.loads(out)["stacks"]
    assert (row["release"], row["state"]) == (None, "unknown")


def test_an_environment_that_is_not_reached_is_told_beside_the_others(project: Path) -> None:
    code, out, err = run("stacks")
    assert code == 1
    assert "bert" in out
    assert "2 experiments, 16 a800, 33.60 USD/h; not read completely: prod" in out
    reason = "cannot connect to the cluster of context prod-cluster"
    assert err.startswith(f"not read completely: the environment prod\n  {reason}")
    assert "fix:" in err


def test_json_has_every_row_and_what_was_not_read(project: Path) -> None:
    code, out, err = run("stacks", "--output", "json")
    answer: dict[str, Any] = json.loads(out)
    assert (code, err, answer["ok"]) == (1, "", False)
    bert, sdxl = answer["stacks"]
    assert (bert["release"], bert["job"], bert["run"]) == (release_of("bert.dev"), "bert-1f3a9c", 1)
    assert bert["cost_per_hour"] == {"amount": 33.6, "currency": "USD"}
    assert (sdxl["release"], sdxl["cost_per_hour"]) == (None, None)
    (unread,) = answer["not_read"]
    assert (unread["environment"], unread["error"]["message"][:14]) == ("prod", "cannot connect")


def test_a_record_that_cannot_be_read_is_told(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with website(ApiObjects([BROKEN])) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        _, out, err = run("stacks", "-e", "dev")
    assert "the record cannot be read" in out
    assert "at `$.run`" in err


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_somebody_has_written_into_the_cluster_shows_no_secret(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    odd, wrong = recorded("bert", stack=f"vision/{GITHUB_TOKEN}"), recorded("mnist")
    odd["data"]["revision"] = HUB_TOKEN
    wrong["data"]["run"] = HUB_TOKEN
    with website(ApiObjects([odd, wrong])) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        monkeypatch.setenv("COLUMNS", "400")
        _, out, err = run("stacks", "-e", "dev", "--output", form)
    assert "bert" in out
    assert leaks({"out": out, "err": err}, [GITHUB_TOKEN, HUB_TOKEN]) == []
