"""`trainform review --changed-since`: a project in a repository of git, and a program in the place of the engine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.reviewing import engine, events
from tests.cli.running import run
from tests.support import previews
from tests.support.repository import commit_all, git
from trainform.local.scaffold.new_experiment import stack_text
from trainform.local.scaffold.project import DEV, HELLO, project_files
from trainform.review.model import Review, Selection
from trainform.review.touched import is_unaffected
from trainform.spec.stack import Stack

ENGINE = """\
#!/bin/sh
while [ "$1" != -s ]; do shift; done
sed "s/urn:pulumi:dev::/urn:pulumi:$2::/g" {preview}
"""
RUNTIME = "apiVersion: v1\nkind: ClusterTrainingRuntime\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project as `trainform init` writes it, with a second environment and a second experiment, on a branch of its
    own. It is the current folder."""
    write(tmp_path, "preview.json", previews.stream(*events()))
    engine(tmp_path, monkeypatch, ENGINE.format(preview=tmp_path / "preview.json"))
    folder = tmp_path / "project"
    for name, text in project_files("vision", ".venv", "trainform==0.1.0", "4.25.0").items():
        write(folder, name, text)
    write(folder, "README.md", "# Vision\n")
    write(folder, "stacks/environments/prod.yaml", DEV.replace("name: dev", "name: prod"))
    write(folder, "stacks/experiments/mnist.yaml", HELLO.format(registry="").replace("name: hello", "name: mnist"))
    for stack, words in {"prod": ["prod"], "mnist.dev": ["dev", "mnist"], "hello.prod": ["prod", "hello"]}.items():
        write(folder, f"stacks/Pulumi.{stack}.yaml", stack_text(*words))
    commit_all(folder)
    git(folder, "switch", "--create", "faster")
    monkeypatch.chdir(folder)
    return folder


def write(folder: Path, name: str, text: str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def review(*words: str, code: int = 0) -> Review:
    ended, out, err = run("review", "--no-cluster", "--quiet", "--output", "json", "--changed-since", "main", *words)
    assert (ended, err) == (code, "")
    return Review.model_validate_json(out)


def selection() -> Selection:
    made = review()
    assert made.selection is not None
    assert [report.stack for report in made.stacks] == [*made.selection.touched]
    return made.selection


def edit(folder: Path, name: str) -> None:
    with (folder / name).open("a", encoding="utf-8") as file:
        file.write("# edited\n")


def test_nothing_that_touches_a_stack(project: Path) -> None:
    edit(project, "README.md")
    made = review("--fail-on", "low,incomplete,cost:0/h")
    assert (made.stacks, made.outcome, made.cost.known) == ([], "clean", True)
    assert made.selection == Selection(since="main", base=git(project, "rev-parse", "main"), touched={})
    assert made.project == "vision", "by which an earlier comment is found"
    code, out, err = run("review", "--changed-since", "main")
    assert (code, err) == (0, "")
    assert out.startswith("Review of 0 stacks: clean\n  No stack is touched by the changes since main (commit")


@pytest.mark.parametrize(
    ("name", "stacks"),
    [
        ("stacks/Pulumi.hello.prod.yaml", ["hello.prod"]),
        ("stacks/experiments/hello.yaml", ["hello.dev", "hello.prod"]),
        ("stacks/environments/prod.yaml", ["prod"]),
        ("requirements.txt", ["dev", "prod", "hello.dev", "hello.prod", "mnist.dev"]),
        ("stacks/__main__.py", ["dev", "prod", "hello.dev", "hello.prod", "mnist.dev"]),
    ],
)
def test_stacks_that_a_file_touches_those_of_environments_first(project: Path, name: str, stacks: list[str]) -> None:
    edit(project, name)
    assert selection().touched == {stack: [name] for stack in stacks}


def test_an_environment_touches_the_stacks_whose_objects_differ(project: Path) -> None:
    path = "stacks/environments/dev.yaml"
    write(project, path, f"{DEV}limits: {{max_accelerators: 64}}\n")
    found = selection()
    assert (found.touched, found.unaffected) == ({"dev": [path]}, ["hello.dev", "mnist.dev"])
    shown = " ".join(run("review", "--no-cluster", "--changed-since", "main")[1].split())
    assert "Not previewed, since their objects do not differ: hello.dev, mnist.dev." in shown
    assert not is_unaffected(Stack("made-by-a-program", "dev", 1), [path], found.base, project), "it has no file"

    (project / "stacks/Pulumi.dev.yaml").unlink()
    assert selection().unrecorded == ["dev"]
    git(project, "checkout", "stacks/Pulumi.dev.yaml")

    write(project, path, f"{DEV}image_pull_secrets: [registry]\n")
    with (project / "stacks/experiments/mnist.yaml").open("a", encoding="utf-8") as file:
        file.write("labels: {team: vision}\n")
    found = selection()
    assert [*found.touched] == ["dev", "hello.dev", "mnist.dev"]
    assert found.unaffected == []

    write(project, path, f"{DEV}limits: {{registries: [elsewhere.example.com]}}\n")
    assert [*selection().touched] == ["dev", "hello.dev", "mnist.dev"], "they would be refused"


def test_the_report_says_which_files_touch_which_stack(project: Path, tmp_path: Path) -> None:
    edit(project, "stacks/experiments/mnist.yaml")
    edit(project, "stacks/Pulumi.mnist.dev.yaml")
    words = [word for name in ("a.md", "a.html", "a.txt") for word in ("-o", str(tmp_path / name))]
    made = review(*words)
    files = ["stacks/Pulumi.mnist.dev.yaml", "stacks/experiments/mnist.yaml"]
    assert made.selection is not None
    assert made.selection.touched == {"mnist.dev": files}
    for name in ("a.md", "a.html", "a.txt"):
        text = " ".join(re.sub("<[^>]*>|`", "", (tmp_path / name).read_text(encoding="utf-8")).split())
        assert "touched by the changes since main" in text
        assert ", ".join(files) in text


def test_a_secret_that_changes_touches_its_stack(project: Path) -> None:
    name = "stacks/Pulumi.mnist.dev.yaml"
    write(project, name, stack_text("dev", "mnist") + "  vision:token:\n    secure: v1:Zm9v\n")
    assert selection().touched == {"mnist.dev": [name]}


def test_a_new_stack_and_one_that_is_gone(project: Path) -> None:
    git(project, "mv", "stacks/Pulumi.mnist.dev.yaml", "stacks/Pulumi.mnist.prod.yaml")
    write(project, "stacks/Pulumi.mnist.prod.yaml", stack_text("prod", "mnist"))
    found = selection()
    assert found.touched == {"mnist.prod": ["stacks/Pulumi.mnist.prod.yaml"]}
    assert found.removed == ["mnist.dev"]
    out = " ".join(run("review", "--no-cluster", "--changed-since", "main")[1].split())
    gone = "The file of the stack mnist.dev is gone, so it has no preview"
    assert f"{gone}: its resources stay in the cluster until `pulumi destroy -s mnist.dev`." in out


@pytest.mark.parametrize("text", ["name: [", "nothing: here\n", "\x00", None])
def test_an_experiment_that_is_broken_or_gone_touches_its_stacks(project: Path, text: str | None) -> None:
    path = project / "stacks" / "experiments" / "mnist.yaml"
    if text is None:
        path.unlink()
    else:
        path.write_text(text, encoding="utf-8")
    assert selection().touched == {"mnist.dev": ["stacks/experiments/mnist.yaml"]}


def test_the_file_of_a_runtime(project: Path) -> None:
    """An experiment reads it beside its own file."""
    for name in ("mnist", "hello"):
        with (project / "stacks" / "experiments" / f"{name}.yaml").open("a", encoding="utf-8") as file:
            file.write(f"runtime: {{name: torch, file: ./runtimes/{name}.yaml}}\n")
        write(project, f"runtimes/{name}.yaml", RUNTIME)
    commit_all(project)
    git(project, "branch", "--force", "main")
    edit(project, "runtimes/mnist.yaml")
    assert selection().touched == {"mnist.dev": ["runtimes/mnist.yaml"]}


def test_from_a_folder_of_the_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(project, "stacks/experiments/mnist.yaml")
    monkeypatch.chdir(project / "stacks" / "experiments")
    assert selection().touched == {"mnist.dev": ["stacks/experiments/mnist.yaml"]}


def test_a_folder_that_is_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = run("review", "--changed-since", "main")
    assert code == 2
    assert "there is no project here" in err


def test_git_tells_why_not(project: Path) -> None:
    code, out, err = run("review", "--changed-since", "mian")
    assert (code, out) == (2, "")
    assert "--changed-since = mian" in err
    assert "fix: give one that `git log` shows: main, origin/main" in err


@pytest.mark.parametrize("words", [["--changed-since", "main"], ["--all", "-e", "dev"], ["dev", "hello.dev"]])
def test_the_environments_own_stack_says_who_uses_what_changes(project: Path, words: list[str]) -> None:
    for name in ("mnist", "hello"):
        with (project / "stacks" / "experiments" / f"{name}.yaml").open("a", encoding="utf-8") as file:
            file.write("queue: research\n")
    write(project, "stacks/experiments/mnist.yaml", "name: [")
    write(project, "stacks/environments/dev.yaml", f"{DEV}queues: {{research: {{weight: 2}}}}\n")
    old, new = (previews.state({"metadata": {"name": "research"}, "spec": {"weight": weight}}) for weight in (4, 2))
    where = previews.urn("kubernetes:scheduling.volcano.sh/v1beta1:Queue", "dev-research", "trainform:index:Platform")
    changed = previews.step_event("update", where, old, new, {"spec.weight": "update"})
    write(project.parent, "preview.json", previews.stream(changed))
    _, out, _ = run("review", "--no-cluster", "--quiet", "--output", "json", *words)
    reports = {report.stack: report for report in Review.model_validate_json(out).stacks}
    [found] = reports["dev"].dependents
    assert found.sentence == "Queue research: hello (hello.dev) uses it."
    assert found.stacks == {"hello.dev": "hello"}
    [unread] = [part.reason for part in reports["dev"].not_checked if part.what == "experiments"]
    assert "whether the experiment of the stack mnist.dev uses what changes, since it cannot be read: " in unread
    assert reports["hello.dev"].dependents == []
    shown = " ".join(run("review", "--no-cluster", "--full", *words)[1].split())
    assert "Users of what changes Queue research: hello (hello.dev) uses it." in shown
