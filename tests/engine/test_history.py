"""What was deployed before is found in the history that Pulumi keeps in a folder, compared, and deployed again as a
whole."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.engine.interruption import kill_all, start_up
from tests.engine.live import Live
from tests.engine.project import Project
from tests.support.repository import commit_all, git
from trainform.deployed.releases.release_files import read_release
from trainform.plan.record import Record, read_record

pytestmark = pytest.mark.proof("comparisons, histories and rollbacks on Pulumi's own history")

IMAGE = "registry.example.com/ai/pytorch-training"
STACK = "bert.dev"
KILLED = "an up runs or was killed"
WHY = ("--reason", "the loss diverges", "--yes")


def write(project: Project, tag: str, **parts: Any) -> None:
    data = {
        "image": f"{IMAGE}:{tag}",
        "launcher": {"torchrun": {"script": "/app/train.py", "args": ["--output_dir", "/runs/bert"]}},
        "roles": {"worker": {"replicas": 2}},
        "storage": {"runs": {"size": "1Gi", "mount": "/runs", "keep": True}},
        "environments": {"dev": {"env": {"TAG": tag}}},
        **parts,
    }
    project.experiment("bert", data)


def history(project: Project) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(project.trainform("history", "bert", "--output", "json").succeeded())
    return found


def different(project: Project, *words: str) -> dict[str, list[Any]]:
    found = json.loads(project.trainform("diff", *words, "--output", "json").succeeded())
    return {row["path"]: row["values"] for row in found["experiment"]}


def deployed(project: Project, live: Live) -> Record:
    record = read_record(live.get("configmaps", "bert-deployed", project.namespace))
    assert record is not None
    return record


def follows(project: Project) -> str:
    text = (project.folder / "stacks" / f"Pulumi.{STACK}.yaml").read_text()
    found = re.search(r'trainform:release: "([0-9a-f]{20})"', text)
    assert found is not None, text
    return found[1]


def test_a_stack_goes_back_to_what_it_had_deployed_as_a_whole(project: Project, live: Live) -> None:
    write(project, "a", env={"OLD": "1"})
    project.stack("bert")
    assert [row["state"] for row in history(project)["stacks"]] == ["not deployed"]
    nothing = project.trainform("rollback", STACK, *WHY)
    assert nothing.code == 2
    assert "no earlier deployment of the stack bert.dev is known" in nothing.output
    (project.folder / ".gitignore").write_text("state/\n__pycache__\n")
    commit_all(project.folder)
    commit = git(project.folder, "rev-parse", "--short=12", "HEAD")
    project.up(STACK)
    first = deployed(project, live)
    write(project, "b")
    project.up(STACK)
    second = deployed(project, live)

    now = history(project)
    assert [(row["stack"], row["release"], row["state"], row["revision"]) for row in now["stacks"]] == [
        (STACK, None, "deployed", second.revision)
    ]
    assert [(event["what"], event["result"], event["details"]) for event in now["events"]] == [
        ("up", "succeeded", [f"commit {commit}, with changes that are in no commit"]),
        ("up", "succeeded", [f"commit {commit}"]),
    ]
    assert different(project, STACK) == {}
    write(project, "c")
    assert different(project, STACK) == {"image": [f"{IMAGE}:b", f"{IMAGE}:c"], "env.TAG": ["b", "c"]}

    told = json.loads(project.trainform("rollback", STACK, *WHY, "--output", "json").succeeded())
    assert told["checkpoints"] == [
        {"claim": "bert-runs", "written_by": f"revision {second.revision}", "mount": "/runs", "keep": True}
    ]
    one = follows(project)
    made = read_release("bert", one, project.folder)
    assert made.experiment["environments"] == {"dev": {"env": {"TAG": "a"}}}
    assert (made.origin.revision, made.origin.stack) == (first.revision, "trainform/bert.dev")
    assert history(project)["stacks"][0]["state"] == "pending"
    assert different(project, STACK)["image"] == [f"{IMAGE}:b", f"{IMAGE}:a"]
    project.up(STACK)
    back = deployed(project, live)
    assert (back.experiment, back.revision) == (first.experiment, first.revision)
    assert back.experiment["env"] == {"OLD": "1", "TAG": "a"}
    write(project, "d")
    project.unchanged(STACK)

    assert history(project)["stacks"][0]["state"] == "deployed"
    further = project.trainform("rollback", STACK, *WHY)
    assert further.code == 2, further.output
    assert f"pulumi config rm trainform:release -s {STACK}" in further.output, "an edit of the file does not move it"
    further = project.trainform("rollback", STACK, *WHY, "--to", second.revision)
    assert f"The job resumes from what revision {back.revision} has written to the claim bert-runs" in " ".join(
        further.succeeded().split()
    )
    project.up(STACK)
    assert deployed(project, live).experiment == second.experiment
    assert [event["what"] for event in history(project)["events"]] == ["up", "rollback", "up", "rollback", "up", "up"]
    assert "What differs in the experiment" in project.trainform("diff", one, follows(project)).succeeded()


@pytest.mark.parametrize("moment", ["job", "record"])
def test_after_an_up_that_was_killed_it_goes_back_to_what_was_deployed_last(
    project: Project, live: Live, moment: str
) -> None:
    """The engine's state lacks what it was doing: the record of the new revision, or that the old launch script is
    deleted."""
    for tag in ("a", "b"):
        write(project, tag)
        if tag == "a":
            project.stack("bert")
        project.up(STACK)
    for tag in "cdefgh":  # the next one if the `up` ended before it was killed
        last = deployed(project, live)
        write(project, tag)
        job = project.plan("bert").job
        process = start_up(project, STACK)
        while process.poll() is None and not (
            live.find("jobs", job, project.namespace) if moment == "job" else is_recorded(project, live, job)
        ):
            pass
        kill_all(process)
        if states(project) == [KILLED]:
            break
    project.pulumi("cancel", "--yes", STACK).succeeded()
    assert states(project) == [KILLED]
    refresh = f"pulumi refresh --yes --clear-pending-creates -s {STACK}"
    assert f"  {refresh}\n" in project.trainform("rollback", STACK, *WHY).succeeded()
    project.run(*refresh.split(), "--non-interactive").succeeded()
    project.up(STACK)
    assert states(project) == ["deployed"]
    assert deployed(project, live).experiment == last.experiment
    assert json.loads(project.trainform("drift", STACK, "--output", "json").succeeded())["outcome"] == "in sync"


def states(project: Project) -> list[str]:
    return [row["state"] for row in history(project)["stacks"]]


def is_recorded(project: Project, live: Live, job: str) -> bool:
    return deployed(project, live).job == job
