"""`trainform drift` as it is typed: which stacks it takes, its forms and its exit codes. A server on loopback answers
for the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import run
from tests.cluster.test_client import use
from tests.support.api_objects import ApiObjects
from tests.support.applied import applied, entry
from tests.support.websites import website
from trainform.job.check import check_experiment, check_platform
from trainform.project import known_stacks
from trainform.stacks.drift.report_model import DriftReport, Outcome

EXPERIMENTS = [stack.removesuffix(".dev") for stack in known_stacks() if stack.endswith(".dev")]


@pytest.fixture
def bodies() -> list[dict[str, Any]]:
    """Every stack of the repository, as it was deployed."""
    jobs = [check_experiment(name, "dev").or_raise().manifests for name in EXPERIMENTS]
    return [
        applied(manifest) for manifests in [check_platform("dev").or_raise().manifests, *jobs] for manifest in manifests
    ]


@pytest.fixture(autouse=True)
def server(bodies: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiObjects]:
    for body in bodies:  # what has no discovery in the tests' server
        if "stringData" in body:
            body["metadata"]["managedFields"][0]["fieldsV1"]["f:data"] = {f"f:{key}": {} for key in body["stringData"]}
    answers = ApiObjects(bodies)
    with website(answers) as url:
        use(tmp_path / "kubeconfig", monkeypatch, url, {"token": "t0ken"})
        yield answers


def report(*words: str, code: int = 0) -> DriftReport:
    ended, out, err = run("drift", "--output", "json", *words)
    assert (ended, err) == (code, ""), out
    return DriftReport.model_validate_json(out)


Edit = Callable[[], None]


@pytest.fixture
def edit(bodies: list[dict[str, Any]]) -> Edit:
    def editing() -> None:
        service = next(body for body in bodies if body["kind"] == "Service" and body["metadata"]["name"] == "resnet")
        service["spec"]["publishNotReadyAddresses"] = False
        noted: dict[str, Any] = {"f:spec": {"f:publishNotReadyAddresses": {}}}
        service["metadata"]["managedFields"].append(entry("kubectl-edit", noted))

    return editing


def test_one_stack_in_sync() -> None:
    assert report("resnet.dev").outcome is Outcome.in_sync
    code, out, err = run("drift", "resnet.dev", "--fail")
    assert (code, err) == (0, "")
    assert out.startswith("Drift of resnet.dev\n  Outcome: in sync. ")


def test_a_change_by_hand_in_the_terminal(edit: Edit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "119")
    edit()
    code, out, err = run("drift", "resnet.dev")
    assert (code, err) == (0, "")
    assert (
        out
        == """\
Drift of resnet.dev
  Outcome: drift. 5 objects compared, 1 of them is not as deployed.

Not as deployed
  Service resnet has 1 field that is not as deployed.
    spec.publishNotReadyAddresses: was true, is false (manager kubectl-edit, last write 2026-11-22 14:02 UTC)

To put it back
  To keep a change, write it into the files and run `pulumi up`. To put back what was deployed, run the command below.
  It applies the files as they are now. A plain `pulumi preview` compares with the state and does not show changes made
  outside Pulumi, and `pulumi preview --refresh` may end with a conflict of field managers.
    pulumi up --refresh --skip-preview -s resnet.dev

Notes
  Service resnet is compared without the API server, which answers the dry run with: this account has no permission for
  a dry run of Service/resnet (verb patch).
"""
    )


def test_exit_codes(edit: Edit, bodies: list[dict[str, Any]], server: ApiObjects) -> None:
    edit()
    assert report("resnet.dev").outcome is Outcome.drift
    assert report("resnet.dev", "--fail", code=3).outcome is Outcome.drift
    assert report("hello.dev", "resnet.dev", "--fail", code=3).outcome is Outcome.drift
    server.forbidden = frozenset({"jobs"})
    assert report("hello.dev", code=1).outcome is Outcome.incomplete
    server.forbidden = frozenset({"configmaps"})
    assert report("resnet.dev", "--fail", code=1).outcome is Outcome.failed


def test_all_stacks_of_an_environment() -> None:
    found = report("--all", "-e", "dev").stacks
    assert {stack.stack for stack in found} == {"dev", *(f"{name}.dev" for name in EXPERIMENTS)}
    assert {stack.outcome for stack in found} == {Outcome.in_sync}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Missing argument 'JOB'"),
        (("resnte",), "did you mean resnet?"),
        (("resnet.dev", "resnet.dev"), "named more than once"),
        (("resnet.dev", "--all", "-e", "dev"), "--all cannot be used with JOB"),
        (("--all",), "Missing option '--environment'"),
        (("-e", "dev"), "-e names the environment of --all"),
    ],
)
def test_wrong_words(words: tuple[str, ...], said: str) -> None:
    code, out, err = run("drift", *words)
    assert (code, out) == (2, "")
    assert said in err
