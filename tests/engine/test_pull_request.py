"""The life of a pull request: what its comment says at each push, after the merge and after `up`. The commands are those of docs/how-to/ci."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.live import Live
from tests.engine.project import SSH_SECRET, Project
from tests.engine.pull_request import DETAILS, NUMBER, PullRequest
from tests.review.forms.samples import RICH
from tests.support.github_api import ACTIONS, TOKEN, GithubApi
from tests.support.leaks import leaks
from tests.support.repository import ROOT
from trainform.review.forms import as_json
from trainform.review.whole import review_of

IMAGE = "registry.example.com/ai/pytorch-training"
# The program tells what it sees, as that of somebody who looks for secrets would.
CURIOUS = """
import json, os
from pathlib import Path
Path(os.environ["RUNNER_TEMP"], f"seen-{os.getpid()}.json").write_text(json.dumps(dict(os.environ)))
"""


@pytest.fixture
def api() -> Iterator[GithubApi]:
    with GithubApi() as api:
        yield api


def experiment(project: Project, name: str, tag: str, replicas: int = 2) -> None:
    data: dict[str, Any] = {
        "image": f"{IMAGE}:{tag}",
        "launcher": {"torchrun": {"script": "/app/train.py"}},
        "roles": {"worker": {"replicas": replicas, "accelerators": {"a800": 1}}},
        "storage": {"runs": {"size": "1Gi", "mount": "/runs", "keep": True}},
    }
    project.experiment(name, data)


def deployed(project: Project, live: Live) -> None:
    """Two experiments and their environment, and a third one in another environment: all of them are up."""
    project.environment(queues={"research": {"weight": 2}})
    own = project.folder / "stacks" / "environments"
    lab = yaml.safe_load((own / "dev.yaml").read_text()) | {"name": "lab", "queues": {}}
    (own / "lab.yaml").write_text(yaml.safe_dump(lab))
    for name in ("bert", "resnet", "sdxl-lora"):
        experiment(project, name, "a")
    stacks = [project.stack(), project.stack("bert"), project.stack("resnet")]
    stacks += [
        project.program_stack("sdxl-lora.lab", {"trainform:environment": "lab", "trainform:experiment": "sdxl-lora"})
    ]
    project.ssh_secret("bert.dev").succeeded()
    for stack in stacks:
        project.up(stack)
    live.running_pods(project.namespace, 6)
    program = project.folder / "stacks" / "__main__.py"
    program.write_text(f"{CURIOUS}\n{(ROOT / 'stacks' / '__main__.py').read_text()}")


@pytest.mark.proof("a pull request from its first push to `up`, with three stacks and their environment")
def test_the_life_of_a_pull_request(project: Project, live: Live, api: GithubApi, tmp_path: Path) -> None:
    deployed(project, live)
    request = PullRequest(project, tmp_path, api)

    # the first push: both experiments of dev and dev itself, not the one of lab
    experiment(project, "bert", "b")
    experiment(project, "resnet", "b")
    project.environment(queues={"research": {"weight": 3}})
    request.push("Another image, and more of the cluster for research")
    before = state_of(project)
    first = request.review(100)
    assert state_of(project) == before, "rights to read the state are enough"
    assert first.reviewed.code == 0, first.reviewed.output
    assert "Review of 3 stacks" in first.summary
    request.comment(first).succeeded()
    [comment] = api.of(NUMBER)
    assert comment.author == ACTIONS
    for said in ("bert.dev", "resnet.dev", "TR-RESTART-1", "TR-NEIGHBOURS-1", DETAILS, first.commit[:12]):
        assert said in comment.body, comment.body
    assert "sdxl-lora.lab" not in comment.body

    # a second push: the same comment
    experiment(project, "bert", "a")
    request.push("Leave bert as it is")
    second = request.review(200)
    request.comment(second).succeeded()
    assert api.of(NUMBER) == [comment]
    assert second.commit[:12] in comment.body

    # older runs are late
    written = comment.body
    assert "nothing is posted" in request.comment(first).succeeded()
    late = dataclasses.replace(second, number=150)
    assert "stays as it is" in request.comment(late).succeeded()
    assert [each.body for each in api.of(NUMBER)] == [written]

    # the merge: what it says is still to do; then somebody does it, and runs the workflow again
    developer = tmp_path / "developer"
    developer.mkdir()
    project.environ["RUNNER_TEMP"] = str(developer)  # where the program tells what it sees
    request.merge()
    merged = request.review(300, merged=True)
    request.comment(merged).succeeded()
    assert "TR-RESTART-1" in comment.body
    for stack in ("dev", "resnet.dev"):
        project.up(stack)
    again = request.review(300, merged=True, attempt=2)
    request.comment(again, attempt=2).succeeded()
    assert api.of(NUMBER) == [comment]
    assert "TR-" not in comment.body, comment.body
    assert "Nothing changes" in comment.body, comment.body

    nothing_leaked(project, api, tmp_path)


@pytest.mark.shows("the commands of the workflow, for a pull request that touches no stack any more")
def test_a_pull_request_that_touches_no_stack(project: Project, api: GithubApi, tmp_path: Path) -> None:
    request = PullRequest(project, tmp_path, api)
    (project.folder / "README.md").write_text("Training jobs\n")
    request.push("Say what this is")
    quiet = request.review(100)
    assert quiet.reviewed.code == 0, quiet.reviewed.output
    assert "No stack is touched" in quiet.summary
    assert "none is made" in request.comment(quiet).succeeded()
    assert api.of(NUMBER) == []

    earlier = tmp_path / "earlier" / "review.json"
    earlier.parent.mkdir()
    earlier.write_text(as_json.render(review_of([RICH], project="trainform")))
    request.comment(dataclasses.replace(quiet, number=90, report=earlier)).succeeded()
    [comment] = api.of(NUMBER)
    assert "HIGH" in comment.body
    request.comment(quiet).succeeded()
    assert api.of(NUMBER) == [comment]
    assert "No stack is touched" in comment.body
    assert "HIGH" not in comment.body


def state_of(project: Project) -> dict[str, int]:
    """When each file and folder of Pulumi's state was written last; a lock that came and went is seen in its folder."""
    return {str(path): path.stat().st_mtime_ns for path in (project.folder / "state").rglob("*")}


def nothing_leaked(project: Project, api: GithubApi, folder: Path) -> None:
    """No request has a secret of the project or the cluster but the token itself, and no program of a preview saw the token."""
    sent = {
        f"{at}: {request.method} {request.path}": json.dumps(request.data) for at, request in enumerate(api.requests)
    }
    assert {request.token for request in api.requests} == {TOKEN}
    users = yaml.safe_load(Path(project.environ["KUBECONFIG"]).read_text())["users"]
    credentials = {value for user in users for value in user["user"].values() if isinstance(value, str)}
    assert leaks(sent, {*project.secrets, SSH_SECRET, *credentials, TOKEN}) == []
    seen = [json.loads(file.read_text()) for file in folder.glob("temporary-*/seen-*.json")]
    assert len(seen) >= 3 * 4
    assert leaks({str(at): json.dumps(variables) for at, variables in enumerate(seen)}, [TOKEN]) == []
    assert {"GITHUB_TOKEN", "GH_TOKEN"}.isdisjoint(name for variables in seen for name in variables)
