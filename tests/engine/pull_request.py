"""A repository with a pull request, and runs of the workflow of docs/how-to/ci for it, as the runner of GitHub Actions
does them.

Real are the repository, the commands of the steps with their variables, the engine, the cluster, and the requests. Not
here are the actions (checkout, Python, Pulumi, artefacts), the lock of the target branch and pip: a clone, the Python
of the tests and a copy of the report stand in their places. The server is tests/support/github_api.py.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.engine.project import Project, Ran, run
from tests.support.github_api import NUMBER, REPOSITORY, GithubApi
from tests.support.workflows import GITHUB, environment_of, read_as_texts, step

SHELL = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail")  # as the runner starts `shell: bash`
MAIN, TOPIC = "main", "longer-run"
# What the job with the project gets from its own step, or not at all.
OF_A_DEVELOPER = ("KUBECONFIG", "PULUMI_CONFIG_PASSPHRASE", "PULUMI_BACKEND_URL")
AUTHOR = {f"GIT_{who}_{what}": f"ada{at}" for who in ("AUTHOR", "COMMITTER") for what,
    at in (("NAME", ""), ("EMAIL", "@example.com"))}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Run:
    """A run of the job `review`. commit: the head of the branch for which it began; report: its artefact."""

    commit: str
    reviewed: Ran
    report: Path
    summary: str


class PullRequest:
    """A project in a repository, a branch of it, and the pull request for this branch."""

    def __init__(self, project: Project, folder: Path, api: GithubApi) -> None:
        self.project, self.folder, self.api = project, folder, api
        self.workflow = read_as_texts(GITHUB.read_text())
        self.origin = folder / "origin.git"
        (project.folder / ".gitignore").write_text(".venv\nstate/\nreview.*\n")
        self.git("init", "--quiet", "--initial-branch", MAIN)
        self.git("init", "--quiet", "--bare", "--initial-branch", MAIN, str(self.origin))
        self.git("remote", "add", "origin", str(self.origin))
        self.push("The stacks that run", MAIN)
        self.base = self.git("rev-parse", "HEAD")
        self.git("switch", "--quiet", "--create", TOPIC)

    def git(self, *words: str, folder: Path | None = None) -> str:
        """Return what git prints in the developer's clone, or in another."""
        where = self.project.folder if folder is None else folder
        environ = {**os.environ, **AUTHOR, "GIT_CONFIG_GLOBAL": os.devnull}
        return run(["git", *words], where, environ).succeeded().strip()

    def push(self, subject: str, branch: str = TOPIC) -> str:
        """Commit all that has changed and push it; the commit."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", subject)
        self.git("push", "--quiet", "origin", f"HEAD:refs/heads/{branch}")
        self.api.head = self.git("rev-parse", "HEAD")
        return self.api.head

    def merge(self) -> None:
        """Merge the branch, as the button of the pull request does."""
        self.git("switch", "--quiet", MAIN)
        self.git("merge", "--quiet", "--no-ff", TOPIC)
        self.git("push", "--quiet", "origin", MAIN)

    # --- a run of the workflow

    def review(self, number: int, *, merged: bool = False, attempt: int = 1) -> Run:
        """Run the job `review`, in a clone of its own, at what the branch makes of the target."""
        workspace = self._workspace(f"review-{number}-{attempt}")
        self.git("clone", "--quiet", str(self.origin), str(workspace))
        if not merged:
            self.git("switch", "--quiet", "--detach", f"origin/{MAIN}", folder=workspace)
            self.git("merge", "--quiet", "--no-ff", f"origin/{TOPIC}", folder=workspace)
        (workspace / ".venv").symlink_to(sys.prefix)
        context = {
            "vars.PULUMI_BACKEND_URL": self.project.environ["PULUMI_BACKEND_URL"],
            "secrets.PULUMI_CONFIG_PASSPHRASE": self.project.environ["PULUMI_CONFIG_PASSPHRASE"],
            "secrets.KUBECONFIG_TEXT": Path(self.project.environ["KUBECONFIG"]).read_text(),
            "github.event.pull_request.merged": str(merged).lower(),
            "github.event.pull_request.base.sha": self.base,
        }
        summary = self.folder / f"summary-{number}-{attempt}.md"
        temporary = self._workspace(f"temporary-{number}-{attempt}")
        temporary.mkdir()
        runner = {
            "GITHUB_ACTIONS": "true",
            "GITHUB_REPOSITORY": REPOSITORY,
            "GITHUB_REF": f"refs/pull/{NUMBER}/merge",
            "GITHUB_BASE_REF": MAIN,
            "GITHUB_HEAD_REF": TOPIC,
            "RUNNER_TEMP": str(temporary),
            "GITHUB_STEP_SUMMARY": str(summary),
        }
        environ = {name: value for name, value in self.project.environ.items() if name not in OF_A_DEVELOPER} | runner
        ran = self._step("review", "Review", workspace, environ, context)
        shown = summary.read_text() if summary.exists() else ""
        return Run(self.api.head, ran, workspace / "review.json", shown)

    def _workspace(self, name: str) -> Path:
        return self.folder / name

    def _step(self, job: str, name: str, folder: Path, environ: Mapping[str, str], context: Mapping[str, str]) -> Ran:
        found = step(self.workflow, job, name)
        script = self.folder / "step.sh"
        script.write_text(found["run"])
        return run([*SHELL, str(script)], folder, {**environ, **environment_of(found, context)})
