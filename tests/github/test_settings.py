"""The variables of a run: what they say, and every problem of them at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.github_api import HEAD, TOKEN
from trainform.errors import InputError
from trainform.github.settings import PullRequest, target_of, variables_with


def event(folder: Path, data: Any) -> str:
    file = folder / "event.json"
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    return str(file)


def pull(number: Any = 7, sha: Any = HEAD) -> dict[str, Any]:
    return {"number": number, "head": {"sha": sha}}


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    return {
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_REPOSITORY": "ml/training.jobs_2",
        "GITHUB_EVENT_PATH": event(tmp_path, {"pull_request": pull()}),
        "GITHUB_RUN_ID": "11882345678",
    }


def problems(variables: dict[str, str], details: str | None = None) -> list[str]:
    with pytest.raises(InputError) as error:
        target_of(variables, details)
    assert TOKEN not in str(error.value)
    return [problem.path for problem in error.value.problems]


def test_a_run_for_a_pull_request(variables: dict[str, str]) -> None:
    target = target_of(variables, None)
    assert (target.api, target.repository, target.pull) == (
        "https://api.github.com",
        "ml/training.jobs_2",
        PullRequest(7, HEAD),
    )
    assert (target.run, target.attempt) == (11882345678, 1)
    assert target.page == "https://github.com/ml/training.jobs_2/actions/runs/11882345678"


def test_an_enterprise_server(variables: dict[str, str]) -> None:
    variables |= {
        "GITHUB_API_URL": "https://ghe.example.com/api/v3/",
        "GITHUB_SERVER_URL": "https://ghe.example.com",
        "GITHUB_RUN_ATTEMPT": "3",
    }
    target = target_of(variables, "https://ci.example.com/r?x=%28")
    assert (target.api, target.page, target.attempt) == (
        "https://ghe.example.com/api/v3",
        "https://ci.example.com/r?x=%28",
        3,
    )


def test_the_end_of_a_workflow_that_ran_for_a_pull_request(variables: dict[str, str], tmp_path: Path) -> None:
    event(tmp_path, {"workflow_run": {"head_sha": HEAD, "pull_requests": [pull(9)]}})
    assert target_of(variables, None).pull == PullRequest(9, HEAD)
    event(tmp_path, {"workflow_run": {"head_sha": HEAD, "pull_requests": []}})
    assert problems(variables) == ["GITHUB_EVENT_PATH"]


def test_all_at_once() -> None:
    assert problems({}, "ci.example.com") == [
        "--details",
        "GITHUB_EVENT_PATH",
        "GITHUB_REPOSITORY",
        "GITHUB_RUN_ID",
        "GITHUB_TOKEN",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_TOKEN", ""),
        ("GITHUB_TOKEN", "short"),
        ("GITHUB_TOKEN", "ghs_16C7e42F\r\nHost: evil.example.com"),
        ("GITHUB_TOKEN", "ghs_16C7e42F ä"),
        ("GITHUB_REPOSITORY", "training"),
        ("GITHUB_REPOSITORY", "ml/training/../../other"),
        ("GITHUB_REPOSITORY", "ml/.."),
        ("GITHUB_REPOSITORY", "ml/training?x"),
        ("GITHUB_API_URL", "http://ghe.example.com/api/v3"),
        ("GITHUB_API_URL", "http://127.0.0.1.example.com"),
        ("GITHUB_API_URL", "http://localhost@ghe.example.com"),
        ("GITHUB_API_URL", "https://user:password1@ghe.example.com"),
        ("GITHUB_API_URL", "https://ghe.example.com/?x=1"),
        ("GITHUB_API_URL", "file:///etc/passwd"),
        ("GITHUB_API_URL", "https://"),
        ("GITHUB_API_URL", "https://ghe.example.com:port"),
        ("GITHUB_API_URL", "https://[::1"),
        ("GITHUB_SERVER_URL", "https://github.com/)](x"),
        ("GITHUB_RUN_ID", "0"),
        ("GITHUB_RUN_ID", "-1"),
        ("GITHUB_RUN_ID", "1" * 40),
        ("GITHUB_RUN_ATTEMPT", "first"),
        ("GITHUB_EVENT_PATH", "/dev/zero"),
        ("GITHUB_EVENT_PATH", "/"),
    ],
)
def test_a_variable_that_is_wrong(name: str, value: str, variables: dict[str, str]) -> None:
    assert problems({**variables, name: value}) == [name]


@pytest.mark.parametrize("api", ["http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080"])
def test_this_machine_needs_no_https(api: str, variables: dict[str, str]) -> None:
    assert target_of({**variables, "GITHUB_API_URL": api}, None).api == api


@pytest.mark.parametrize(
    "data",
    [
        "", "[]", "null", "[" * 100_000, {}, {"ref": "refs/heads/main"}, {"pull_request": []}, {"pull_request": {"number": 7}},
        {"pull_request": pull("7")}, {"pull_request": pull(True)}, {"pull_request": pull(-1)}, {"pull_request": pull(sha="main")},
        {"pull_request": pull(sha=None)}, {"workflow_run": {"pull_requests": [pull(), pull(8)]}},
    ],
)  # fmt: skip
def test_an_event_that_is_not_one_of_a_pull_request(data: Any, variables: dict[str, str], tmp_path: Path) -> None:
    event(tmp_path, data)
    assert problems(variables) == ["GITHUB_EVENT_PATH"]


@pytest.mark.parametrize(
    "details",
    [
        "",
        "review.html",
        "javascript:alert(1)",
        "https://ci.example.com/)",
        "https://ci.example.com/a b",
        "https://x/\n",
        "https://x/<b>",
        "https://ci/" + "a" * 3000,
    ],
)
def test_details_that_are_no_address(details: str, variables: dict[str, str]) -> None:
    assert problems(variables, details) == ["--details"]


def test_variables_that_hold_the_token() -> None:
    environ = {"GITHUB_TOKEN": TOKEN, "GH_TOKEN": "ghp_other", "HEADER": f"Bearer {TOKEN}", "PATH": "/bin"}
    assert variables_with(TOKEN, environ) == {"GITHUB_TOKEN", "GH_TOKEN", "HEADER"}
