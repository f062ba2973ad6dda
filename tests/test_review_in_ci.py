"""The files of docs/how-to/ci: held to the published schemas, their shell to shellcheck, and the workflow to what keeps
secrets and rights apart.

tests/engine/test_pull_request.py runs the workflow's commands.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.review.forms.samples import FAILED, RICH, USUAL
from tests.support.github_api import ACTIONS, DETAILS, HEAD, TOKEN, GithubApi, comment
from tests.support.repository import ROOT
from tests.support.workflows import EXPRESSION, GITHUB, GITLAB, read_as_texts, scripts, step, steps
from tests.test_documents import parsed
from trainform.local.toolchain.parts import PULUMI_VERSION
from trainform.review import stored
from trainform.review.model import Report, Selection
from trainform.review.whole import review_of

WORKFLOW, PIPELINE = read_as_texts(GITHUB.read_text()), read_as_texts(GITLAB.read_text())
SCRIPTS = scripts(WORKFLOW) | {"gitlab": "\n".join(PIPELINE["review"]["script"])}
SCHEMAS = {GITHUB: ("vendor.github-workflows",), GITLAB: ("vendor.gitlab-ci", "--data-transform", "gitlab-ci")}
BEGIN = "trainform review "  # of what is checked word by word
REPORTS = {"review.html", "review.json", "review.md"}
REMOVED = "rm -rf -- review.html review.json"
SECRET = re.compile(r"\bsecrets\.[A-Z]")
PAGE = ROOT / "docs" / "how-to" / "review-in-ci.md"
LOCK = "Get the lock of the target branch"
GROUP = "${{ github.workflow }}-${{ github.event.pull_request.number }}"
SAME_REPOSITORY = "github.event.pull_request.head.repo.full_name == github.repository"


def validated(path: Path, words: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", *words, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.stem)
def test_the_published_schema_takes_the_file(path: Path) -> None:
    ran = validated(path, SCHEMAS[path])
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("name", SCRIPTS)
def test_shellcheck_has_nothing_to_say(name: str) -> None:
    words = [str(Path(sys.prefix) / "bin" / "shellcheck"), "--shell", "bash", "-"]
    ran = subprocess.run(words, input=SCRIPTS[name], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("name", [name for name in SCRIPTS if BEGIN in SCRIPTS[name]])
def test_the_options_of_the_review_are_there(name: str) -> None:
    [line] = [line for line in SCRIPTS[name].splitlines() if BEGIN in line]
    words = re.sub(r'"\$\w+"', "main", line.partition("trainform ")[2].partition(">>")[0])
    parsed(words.split())


# --- what keeps secrets and rights apart

JOBS = WORKFLOW["jobs"]
REVIEW = step(WORKFLOW, "review", "Review")
SHELL = scripts(WORKFLOW).values()


def uses(job: str) -> list[str]:
    return [each["uses"] for each in steps(WORKFLOW, job) if "uses" in each]


def options_of(job: str, action: str) -> list[dict[str, str]]:
    """Return the options of each step that uses the action."""
    return [each["with"] for each in steps(WORKFLOW, job) if each.get("uses", "").startswith(f"actions/{action}@")]


def test_it_runs_for_pull_requests_without_the_rights_of_the_target() -> None:
    assert [*WORKFLOW["on"]] == ["pull_request"]
    assert SAME_REPOSITORY in JOBS["review"]["if"]
    assert SAME_REPOSITORY.replace("==", "!=") in JOBS["not-reviewed"]["if"]
    assert WORKFLOW["concurrency"] == {"group": GROUP, "cancel-in-progress": "true"}


def test_a_job_has_the_rights_that_it_names() -> None:
    assert WORKFLOW["permissions"] == {}
    assert JOBS["review"]["permissions"] == {"contents": "read"}
    assert JOBS["comment"]["permissions"] == {"contents": "read", "pull-requests": "write"}
    assert "permissions" not in JOBS["not-reviewed"]


def test_what_may_write_runs_nothing_of_the_pull_request() -> None:
    assert options_of("comment", "checkout") == []
    assert 'ref="$GITHUB_BASE_REF"' in step(WORKFLOW, "comment", LOCK)["run"]
    assert [options["path"] for options in options_of("comment", "download-artifact")] == ["report"]


def test_secrets_are_in_the_step_that_needs_them_and_the_program_sees_no_token() -> None:
    named = [str(each.get("name")) for job in JOBS.values() for each in job["steps"] if SECRET.search(str(each))]
    assert named == ["Review"]
    assert not SECRET.search(str([WORKFLOW.get("env"), *({**job, "steps": []} for job in JOBS.values())]))
    assert not re.search(r"github\.token|GITHUB_TOKEN", str(JOBS["review"]))
    [checkout] = options_of("review", "checkout")
    assert (checkout["persist-credentials"], checkout["fetch-depth"]) == ("false", "0")


def test_the_shell_is_given_no_expression_and_sees_a_failure_in_a_pipe() -> None:
    assert not any(map(EXPRESSION.search, SHELL))
    assert WORKFLOW["defaults"] == {"run": {"shell": "bash"}}
    assert not any("pulumi " in text for text in SHELL), "the review runs the preview"


def test_only_reports_are_kept_and_another_attempt_replaces_them() -> None:
    """The action looks for `name`, while a file that is not packed is kept by its own name."""
    assert REVIEW["run"].partition(BEGIN)[0].count(REMOVED) == 1, "the branch may have a report among its files"
    for options in options_of("review", "upload-artifact"):
        assert {*options["path"].split()} <= REPORTS
        kept_as = options["path"] if options.get("archive") == "false" else options["name"]
        assert (options["overwrite"], options["name"]) == ("true", kept_as)


def test_each_action_is_pinned_by_its_commit_and_says_its_version() -> None:
    lines = [line.strip() for line in GITHUB.read_text().splitlines() if "uses:" in line]
    assert [line for line in lines if not re.search(r"uses: [\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line)] == []
    assert len(lines) == sum(len(uses(job)) for job in JOBS)


def test_an_action_has_one_version() -> None:
    names = [name for job in JOBS for name in uses(job)]
    assert len({name.partition("@")[0] for name in names}) == len(set(names))


def test_the_engine_is_the_one_that_is_tested() -> None:
    [found] = [each["with"] for each in steps(WORKFLOW, "review") if each.get("uses", "").startswith("pulumi/actions@")]
    assert found["pulumi-version"] == PULUMI_VERSION
    assert PIPELINE["review"]["image"]["name"].rpartition(":")[2] == PULUMI_VERSION


def test_the_messages_of_the_page_are_those_that_are_shown() -> None:
    said = re.findall(r"^\| `([^`]+)` \|", PAGE.read_text(), re.MULTILINE)
    sources = "".join(path.read_text() for path in (ROOT / "components" / "trainform").rglob("*.py"))
    assert said
    assert [message for message in said if message not in sources] == []


def test_a_pull_request_that_is_not_reviewed_says_why(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", SCRIPTS["not-reviewed: Say why"]]
    environ = {"PATH": os.environ["PATH"], "GITHUB_STEP_SUMMARY": str(summary)}
    ran = subprocess.run(words, env=environ, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith(
        "::notice title=This pull request is not reviewed::Forks and Dependabot get no secrets."
    )
    assert "get no secrets" in summary.read_text()


# --- the comment


def written(folder: Path, *reports: Report) -> Path:
    """A report in a file, of these stacks; without any of them, of a change that touches none."""
    selection = None if reports else Selection(since="origin/main", base="6f1c0de", touched={}, removed=[])
    path = folder / "review.json"
    path.write_text(stored.render(review_of(reports, selection, project="training")))
    return path


def test_the_comment_is_found_among_others_and_updated(tmp_path: Path) -> None:
    api = GithubApi()
    report = written(tmp_path, RICH)
    assert comment(api, tmp_path, report, HEAD).returncode == 0
    [first] = api.comments
    line = first.body.partition("\n")[0]
    assert line == "<!-- trainform-review training -->"
    assert f"[The whole report]({DETAILS})\nCommit {HEAD}\n" in first.body

    # comments of people, who may quote the marker; of another project; and of the same account on something else
    others = [api.comment("ada", first.body), api.comment(ACTIONS, "Tests passed.")]
    others += [api.comment(ACTIONS, "<!-- trainform-review other -->\n"), api.comment("ada", f"see\n{line}")]
    others += [api.comment("ada", f"{number}") for number in range(150)]
    api.comments.append(api.comments.pop(0))  # on the second page
    before = [other.body for other in others]
    ran = comment(api, tmp_path, written(tmp_path, USUAL), HEAD)
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
    assert f"Review of {USUAL.stack}" in first.body
    assert [other.body for other in others] == before
    assert len(api.comments) == 155


def test_no_comment_for_a_commit_that_is_not_the_head(tmp_path: Path) -> None:
    api = GithubApi()
    there = api.comment(ACTIONS, "<!-- trainform-review training -->\nof the newer commit\n")
    ran = comment(api, tmp_path, written(tmp_path, RICH), "0" * 40)
    assert (ran.returncode, ran.stdout.startswith("Nothing is written: this run is of the commit 000")) == (0, True)
    assert there.body.endswith("of the newer commit\n")


def test_a_review_of_no_stack_makes_no_comment_and_updates_one(tmp_path: Path) -> None:
    api = GithubApi()
    assert comment(api, tmp_path, written(tmp_path), HEAD).returncode == 0
    assert api.comments == []
    comment(api, tmp_path, written(tmp_path, RICH), HEAD)
    comment(api, tmp_path, written(tmp_path), HEAD)
    [found] = api.comments
    assert "No stack is touched" in found.body


def test_a_preview_that_failed_is_in_the_comment(tmp_path: Path) -> None:
    api = GithubApi()
    assert comment(api, tmp_path, written(tmp_path, FAILED), HEAD).returncode == 0
    assert "The preview failed" in api.comments[0].body


def test_the_job_fails_where_github_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    api = GithubApi()
    monkeypatch.setattr(api, "answer", lambda *_: (403, {"message": "Resource not accessible by integration"}, ""))
    ran = comment(api, tmp_path, written(tmp_path, RICH), HEAD)
    assert ran.returncode != 0
    assert TOKEN not in ran.stdout + ran.stderr


# --- GitLab


def test_the_pipeline_compares_with_the_target_branch_where_it_runs_on_a_merge_of_both() -> None:
    """There the commit where the branch began lies behind what others have changed in the target branch since."""
    [line] = [line for line in PIPELINE["review"]["script"] if line.startswith("since=")]
    target, began = {"CI_MERGE_REQUEST_TARGET_BRANCH_SHA": "a1"}, {"CI_MERGE_REQUEST_DIFF_BASE_SHA": "b2"}
    for variables, since in (({**target, **began}, "a1"), (began, "b2")):
        words = ["bash", "-eu", "-c", f'{line}; echo "$since"']
        ran = subprocess.run(words, env=variables, capture_output=True, text=True, check=True)
        assert ran.stdout == f"{since}\n"


def test_the_pipeline_keeps_reports_alone_and_the_whole_history() -> None:
    job = PIPELINE["review"]
    assert {*job["artifacts"]["paths"]} <= REPORTS
    removed = [line.partition(" #")[0] for line in job["script"] if line.startswith("rm ")]
    assert removed == [f"rm -rf -- {' '.join(job['artifacts']['paths'])}"]
    assert job["artifacts"]["expose_as"]
    assert job["variables"]["GIT_DEPTH"] == "0"
    assert "$CI_MERGE_REQUEST_SOURCE_PROJECT_PATH == $CI_MERGE_REQUEST_PROJECT_PATH" in job["rules"][0]["if"]
