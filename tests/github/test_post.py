"""Comments on a pull request, against a server that behaves as GitHub's documentation says."""

from __future__ import annotations

import dataclasses
import traceback
from pathlib import Path

import pytest
from msgspec import structs

from tests.github.posting import GONE, OTHER_HEAD, PROJECT, Time, marked, put, review, target
from tests.review.forms.samples import EMPTY, RICH, USUAL
from tests.support.github_api import (
    ACTIONS,
    HEAD,
    TOKEN,
    Failure,
    GithubApi,
    Request,
    Right,
    secondary_limit,
)
from trainform.github import comments
from trainform.github.api import Api, PostError
from trainform.github.marker import read_marker
from trainform.github.post import post
from trainform.review.model import Report, Selection
from trainform.review.whole import review_of

# --- made, found again, updated


def test_a_comment_is_made_and_then_updated(api: GithubApi) -> None:
    said = put(api, review(USUAL, EMPTY))
    [comment] = api.of()
    assert said == ["the comment on 2 stacks is made"]
    assert comment.body.startswith("<!-- trainform-review {")
    assert "## Review of 2 stacks" in comment.body
    assert f"[The whole report](https://github.com/{api.repository}/actions/runs/100) · commit `{HEAD}`" in comment.body
    assert put(api, review(RICH, EMPTY), target(api, 101)) == ["the comment on 2 stacks is updated"]
    assert api.of() == [comment]
    assert "TR-DATA-1" in comment.body
    assert len(api.made("POST")) == 3  # two of them ask whose token it is


def test_the_same_body_makes_no_request(api: GithubApi) -> None:
    time = Time()
    put(api, review(USUAL), time=time)
    time.seconds += 60
    api.requests.clear()
    assert put(api, review(USUAL), time=time) == ["the comment on the stack sdxl-lora.prod has this already"]
    assert api.made("PATCH", "DELETE") == []
    assert put(api, review(RICH), time=time) == ["the comment on the stack sdxl-lora.prod is updated"]


def test_a_comment_for_each_stack(api: GithubApi) -> None:
    hello = USUAL.model_copy(update={"stack": "hello.dev"})
    put(api, review(USUAL, hello), each=True)
    assert ["sdxl-lora.prod" in comment.body for comment in api.of()] == [True, False]
    assert ["## Review of hello.dev" in comment.body for comment in api.of()] == [False, True]
    assert put(api, review(hello, USUAL), target(api, 101), each=True) == [
        "the comment on the stack hello.dev is updated",
        "the comment on the stack sdxl-lora.prod is updated",
    ]
    assert len(api.of()) == 2


def test_two_projects_do_not_take_each_others_comment(api: GithubApi) -> None:
    put(api, review(USUAL))
    put(api, review(USUAL, project="serving"))
    put(api, review(USUAL), target(api, 101), each=True, whole=True)
    put(api, review(RICH, project="serving"), target(api, 102), each=True, whole=True)
    assert len(api.of()) == 4
    assert [read_marker(comment.body).project for comment in api.of()] == [PROJECT, "serving", PROJECT, "serving"]  # type: ignore[union-attr]
    assert "no longer touches" not in "".join(comment.body for comment in api.of())


def test_all_pages_are_searched(api: GithubApi) -> None:
    for number in range(250):
        api.comment("ana", f"remark {number}")
    own = api.comment(ACTIONS, marked())
    for number in range(60):
        api.comment("ben", f"remark {number}")
    assert put(api, review(USUAL)) == ["the comment on the stack sdxl-lora.prod is updated"]
    assert "TR-RESTART-1" in own.body
    assert len(api.of()) == 311
    asked = [request.path for request in api.made("GET") if "/comments" in request.path]
    assert [path.partition("?")[2] for path in asked] == [
        "per_page=100",
        *(f"per_page=100&page={page}" for page in (2, 3, 4)),
    ]


@pytest.mark.parametrize("author", ["mallory", "dependabot[bot]", "github-actions"])
def test_somebody_elses_comment_is_never_touched(author: str, api: GithubApi) -> None:
    """Neither by its marker, nor by one of a run that is yet to come."""
    bodies = [marked(), marked(run=10**15), f"Look:\n{marked()}"]
    for body in bodies:
        api.comment(author, body)
    api.comment(ACTIONS, f"> {marked(run=10**15)}")
    put(api, review(USUAL))
    assert [comment.body for comment in api.of()[:3]] == bodies
    assert len(api.of()) == 5
    assert api.made("PATCH", "DELETE") == []


@pytest.mark.parametrize("login", ["ci-user", "our-app[bot]"])
def test_the_token_of_a_user_or_of_another_app(login: str, api: GithubApi) -> None:
    api.tokens[TOKEN] = Right(login)
    api.comment(ACTIONS, marked())
    put(api, review(USUAL))
    put(api, review(RICH), target(api, 101))
    assert [comment.author for comment in api.of()] == [ACTIONS, login]
    assert "TR-DATA-1" in api.of()[1].body


def test_without_graphql_the_author_is_that_of_actions(api: GithubApi) -> None:
    api.graphql = False
    put(api, review(USUAL))
    put(api, review(RICH), target(api, 101))
    assert len(api.of()) == 1


def test_an_enterprise_server(tmp_path: Path) -> None:
    with GithubApi(prefix="/api/v3") as server:
        put(server, review(USUAL))
        put(server, review(RICH), target(server, 101))
        assert len(server.of()) == 1


# --- order of runs


@pytest.mark.parametrize(("run", "attempt"), [(99, 5), (100, 1)])
def test_an_older_run_overwrites_nothing(run: int, attempt: int, api: GithubApi) -> None:
    put(api, review(RICH), target(api, 100, 2))
    before = api.of()[0].body
    said = put(api, review(EMPTY), target(api, run, attempt))
    assert said == ["the comment on the stack sdxl-lora.prod is of a later run (100), and stays as it is"] or said == [
        "the comment on the stack hello.dev is of a later run (100), and stays as it is"
    ]
    assert api.of()[0].body == before


def test_of_the_same_attempt_the_later_time_wins(api: GithubApi) -> None:
    time = Time()
    put(api, review(USUAL), time=time)
    time.seconds -= 60
    assert "stays as it is" in put(api, review(RICH), time=time)[0]
    time.seconds += 120
    assert "is updated" in put(api, review(RICH), time=time)[0]


def test_a_run_of_an_older_commit_does_nothing(api: GithubApi) -> None:
    goal = target(api, 101)
    put(api, review(USUAL))
    api.heads[7] = OTHER_HEAD
    before, count = api.of()[0].body, len(api.requests)
    said = put(api, review(RICH), goal)
    assert said == [
        f"nothing is posted: this run is of the commit {HEAD[:12]}, and the pull request is at {OTHER_HEAD[:12]}"
    ]
    assert api.of()[0].body == before
    assert [request.method for request in api.requests[count:]] == ["GET"]


def test_a_commit_that_comes_while_a_limit_is_waited_for(api: GithubApi) -> None:
    api.fail("POST", "/comments", secondary_limit(120))
    time = Time()

    def moved(seconds: float) -> None:
        api.heads[7] = OTHER_HEAD

    clock = structs.replace(time.clock, sleep=moved)
    said = post(review(USUAL), target(api), each=False, whole=False, clock=clock)
    assert said[0].startswith("nothing is posted: this run is of the commit 4f1c0d2e9b7a")
    assert api.of() == []


def test_of_two_comments_the_newest_is_kept(api: GithubApi) -> None:
    api.comment(ACTIONS, marked(run=92))
    api.comment(ACTIONS, marked(run=93))
    api.comment(ACTIONS, marked(run=91))
    newest = api.of()[1]
    api.fail("DELETE", "/comments/", Failure(404, "Not Found", done=True))
    put(api, review(USUAL))
    assert api.of() == [newest]


def test_a_comment_that_another_run_removes_before_it_is_updated(api: GithubApi) -> None:
    put(api, review(USUAL))

    def other(request: Request) -> None:
        if request.method == "PATCH":
            api.before = lambda request: None
            api.comments.clear()

    api.before = other
    assert put(api, review(RICH), target(api, 101)) == ["the comment on the stack sdxl-lora.prod is made"]
    [comment] = api.of()
    assert "TR-DATA-1" in comment.body


def test_a_comment_that_is_found_and_never_there_is_a_matter_of_rights(api: GithubApi) -> None:
    put(api, review(USUAL))
    for _ in range(2):
        api.fail("PATCH", "/comments/", Failure(404, "Not Found"))
    with pytest.raises(PostError, match="GitHub does not show this to the token"):
        put(api, review(RICH), target(api, 101))
    assert len(api.made("PATCH")) == 2, "it is looked for once again"


def test_two_first_runs_at_once(api: GithubApi) -> None:
    """The other one makes its comment after this one has looked, and before it makes its own."""

    def other(request: Request) -> None:
        if request.method == "POST" and "/comments" in request.path:
            api.before = lambda request: None
            api.comment(ACTIONS, marked(run=99))

    api.before = other
    put(api, review(USUAL))
    [comment] = api.of()
    assert "TR-RESTART-1" in comment.body


# --- nothing changes


def test_nothing_is_made_where_nothing_changes(api: GithubApi) -> None:
    said = put(api, review(EMPTY, EMPTY.model_copy(update={"stack": "mnist.dev"})))
    assert said == ["nothing changes in 2 stacks, and there is no comment that says otherwise: none is made"]
    assert api.of() == []


@pytest.mark.parametrize("reports", [(), (EMPTY,)], ids=["no other", "one that stays"])
def test_a_stack_that_is_gone_is_told(reports: tuple[Report, ...], api: GithubApi) -> None:
    """Its resources stay in the cluster, so it is no case of `nothing changes`."""
    gone = Selection(since="main", base=HEAD, touched={}, removed=["old.dev"])
    put(api, review_of(reports, project=PROJECT, selection=gone))
    [comment] = api.of()
    assert "its resources stay in the cluster until `pulumi destroy -s old.dev`" in comment.body


def test_the_comment_on_no_stack(api: GithubApi) -> None:
    untouched = review_of([], project=PROJECT, selection=Selection(since="main", base=HEAD, touched={}))
    end = "and there is no comment that says otherwise: none is made"
    assert put(api, untouched) == [f"no stack is touched, {end}"]
    put(api, review(USUAL))
    assert put(api, untouched, target(api, 101)) == ["the comment is updated"]


def test_nothing_changes_takes_the_place_of_an_old_alarm(api: GithubApi) -> None:
    put(api, review(RICH))
    put(api, review(EMPTY), target(api, 101))
    [comment] = api.of()
    assert "Nothing changes." in comment.body
    assert "HIGH" not in comment.body


def test_stacks_that_are_not_touched_any_more(api: GithubApi) -> None:
    mnist = USUAL.model_copy(update={"stack": "mnist.dev"})
    put(api, review(USUAL, mnist), each=True)
    put(api, review(mnist), target(api, 101), each=True)
    assert "no longer" not in api.of()[0].body  # other jobs may have reviewed the others
    put(api, review(mnist), target(api, 102), each=True, whole=True)
    assert "## Review of sdxl-lora.prod\n\nThis change no longer touches the stack." in api.of()[0].body
    assert "no longer" not in api.of()[1].body
    put(api, review(USUAL, mnist), target(api, 103), each=True, whole=True)
    assert "TR-RESTART-1" in api.of()[0].body


def test_a_stack_that_is_removed_is_told_though_no_other_changes(api: GithubApi) -> None:
    """Its resources stay in the cluster, where nobody looks after them any more."""
    gone = "The file of config of the stack mnist.dev is gone, so there is no preview of it: its resources stay"
    assert put(api, review_of([EMPTY], GONE, PROJECT), whole=True) == ["the comment on the stack hello.dev is made"]
    put(api, review_of([], GONE, PROJECT), target(api, 101), whole=True)
    [comment] = api.of()
    assert gone in comment.body


def test_the_comment_on_a_stack_that_is_removed_says_so(api: GithubApi) -> None:
    mnist = USUAL.model_copy(update={"stack": "mnist.dev"})
    put(api, review(mnist), each=True, whole=True)
    said = put(api, review_of([EMPTY], GONE, PROJECT), target(api, 101), each=True, whole=True)
    assert "the comment on the stack mnist.dev is updated" in said
    [comment] = api.of()
    assert "The file of config of the stack mnist.dev is gone" in comment.body
    assert "no longer touches" not in comment.body


def test_answers_that_come_too_slowly_end(api: GithubApi) -> None:
    """Each of many pages may be in time, while all of them are not."""
    for number in range(3 * comments.PER_PAGE):
        api.comment("somebody", f"comment {number}")
    time = Time(patience=30.0)

    def slow() -> float:
        time.seconds += 8.0
        return time.seconds

    time.clock = structs.replace(time.clock, now=slow)
    with pytest.raises(PostError, match="GitHub was too slow: 30 seconds were not enough"):
        put(api, review(USUAL), time=time)
    assert len(api.of()) == 3 * comments.PER_PAGE


def test_a_variable_of_a_proxy_that_is_none(monkeypatch: pytest.MonkeyPatch, api: GithubApi) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "ftp://runner:Ke7hZw2q@proxy.example.com")
    away = dataclasses.replace(target(api), api="https://github.example.com/api/v3")
    with pytest.raises(PostError, match="holds no address of one") as raised, Api(away, Time().clock):
        pass
    assert "Ke7hZw2q" not in "".join(traceback.format_exception(raised.value))


def test_writes_are_a_second_apart(api: GithubApi) -> None:
    """As GitHub asks for; a limit of its own comes down on those that are closer."""
    stacks = [USUAL.model_copy(update={"stack": f"mnist-{number}.dev"}) for number in range(4)]
    time = Time()
    put(api, review(*stacks), each=True, time=time)
    assert time.waited == [1.0, 1.0, 1.0]
