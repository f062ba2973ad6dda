"""The life of a pull request: what its comment says at each push, after the merge and after `up`. The commands are
those of docs/how-to/ci."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.engine.live import Live
from tests.engine.project import SSH_SECRET, Project
from tests.engine.pull_request import PullRequest, Run
from tests.support.github_api import ACTIONS, DETAILS, TOKEN, GithubApi, comment
from tests.support.leaks import leaks
from tests.support.repository import ROOT

IMAGE = "registry.example.com/ai/pytorch-training"
# The program tells what it sees, as that of somebody who looks for secrets would.
CURIOUS = """
import json, os
from pathlib import Path
Path(os.environ["RUNNER_TEMP"], f"seen-{os.getpid()}.json").write_text(json.dumps(dict(os.environ)))
"""


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
def test_the_life_of_a_pull_request(project: Project, live: Live, tmp_path: Path) -> None:
    deployed(project, live)
    api = GithubApi()
    request = PullRequest(project, tmp_path, api)

    def written(made: Run) -> str:
        """Return what the job `comment` prints for a review."""
        ran = comment(api, tmp_path, made.report, made.commit)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

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
    written(first)
    [found] = api.comments
    assert found.author == ACTIONS
    for said in ("bert.dev", "resnet.dev", "TR-RESTART-1", "TR-NEIGHBOURS-1", DETAILS, first.commit[:12]):
        assert said in found.body, found.body
    assert "sdxl-lora.lab" not in found.body

    # a second push: the same comment
    experiment(project, "bert", "a")
    request.push("Leave bert as it is")
    second = request.review(200)
    written(second)
    assert api.comments == [found]
    assert second.commit[:12] in found.body

    # a run of an older commit is late
    before_it = found.body
    assert "Nothing is written" in written(first)
    assert [each.body for each in api.comments] == [before_it]

    # the merge: what it says is still to do; then somebody does it, and runs the workflow again
    developer = tmp_path / "developer"
    developer.mkdir()
    project.environ["RUNNER_TEMP"] = str(developer)  # where the program tells what it sees
    request.merge()
    merged = request.review(300, merged=True)
    written(merged)
    assert "TR-RESTART-1" in found.body
    for stack in ("dev", "resnet.dev"):
        project.up(stack)
    again = request.review(300, merged=True, attempt=2)
    written(again)
    assert api.comments == [found]
    assert "TR-" not in found.body, found.body
    assert "Nothing changes" in found.body, found.body

    nothing_leaked(project, api, tmp_path)


@pytest.mark.shows("the commands of the workflow, for a pull request that touches no stack")
def test_a_pull_request_that_touches_no_stack(project: Project, tmp_path: Path) -> None:
    api = GithubApi()
    request = PullRequest(project, tmp_path, api)
    (project.folder / "README.md").write_text("Training jobs\n")
    request.push("Say what this is")
    quiet = request.review(100)
    assert quiet.reviewed.code == 0, quiet.reviewed.output
    assert "No stack is touched" in quiet.summary
    assert comment(api, tmp_path, quiet.report, quiet.commit).returncode == 0
    assert api.comments == []


def state_of(project: Project) -> dict[str, int]:
    """When each file and folder of Pulumi's state was written last; a lock that came and went is seen in its folder."""
    return {str(path): path.stat().st_mtime_ns for path in (project.folder / "state").rglob("*")}


def nothing_leaked(project: Project, api: GithubApi, folder: Path) -> None:
    """No request has a secret of the project or the cluster and no program of a preview saw the token."""
    sent = {f"{at}: {method} {path}": json.dumps(data) for at, (method, path, data) in enumerate(api.requests)}
    users = yaml.safe_load(Path(project.environ["KUBECONFIG"]).read_text())["users"]
    credentials = {value for user in users for value in user["user"].values() if isinstance(value, str)}
    assert leaks(sent, {*project.secrets, SSH_SECRET, *credentials, TOKEN}) == []
    seen = [json.loads(file.read_text()) for file in folder.glob("temporary-*/seen-*.json")]
    assert len(seen) >= 3 * 3
    assert leaks({str(at): json.dumps(variables) for at, variables in enumerate(seen)}, [TOKEN]) == []
    assert {"GITHUB_TOKEN", "GH_TOKEN"}.isdisjoint(name for variables in seen for name in variables)
