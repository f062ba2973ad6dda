"""Comments on a pull request, against a server that behaves as GitHub's documentation says."""

from __future__ import annotations

import dataclasses
import threading
import traceback
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.review.forms.samples import EMPTY, RICH, USUAL
from tests.support.github_api import (
    ACTIONS,
    HEAD,
    TOKEN,
    Failure,
    GithubApi,
    Request,
    Right,
    primary_limit,
    secondary_limit,
)
from trainform import defaults
from trainform.github import comments
from trainform.github.api import Api, Clock, PostError
from trainform.github.marker import Marker, Run, project_scope, read_marker, scope_of
from trainform.github.post import post
from trainform.github.settings import PullRequest, Target
from trainform.review.forms.comment import size
from trainform.review.model import Report, Review, Selection
from trainform.review.whole import review_of

PROJECT = "training"
CALM = USUAL.model_copy(
    update={
        "stack": EMPTY.stack,
        **{name: getattr(EMPTY, name) for name in ("headline", "outcome", "findings", "objects")},
    }
)
OTHER_HEAD = "9" * 40
GONE = Selection(since="origin/main", base="1" * 40, touched={}, removed=["mnist.dev"])


@pytest.fixture
def api() -> Iterator[GithubApi]:
    with GithubApi() as server:
        yield server


class Time:
    """A clock whose waits take no time. waited: seconds of each."""

    def __init__(self, patience: float = defaults.POST_SECONDS) -> None:
        self.seconds = 1_790_000_000.0
        self.waited: list[float] = []
        self.clock = Clock(patience, lambda: self.seconds, lambda: self.seconds, self.sleep)

    def sleep(self, seconds: float) -> None:
        self.waited += [seconds] if seconds else []
        self.seconds += seconds


def review(*reports: Report, project: str = PROJECT) -> Review:
    return review_of(reports, project=project)


def target(api: GithubApi, run: int = 100, attempt: int = 1, commit: str = HEAD, token: str = TOKEN) -> Target:
    page = f"https://github.com/{api.repository}/actions/runs/{run}"
    return Target(api.url, api.repository, PullRequest(7, commit), run, attempt, page, token)


def put(
    api: GithubApi,
    made: Review,
    goal: Target | None = None,
    *,
    each: bool = False,
    whole: bool = False,
    time: Time | None = None,
) -> list[str]:
    clock = Time() if time is None else time
    return post(made, target(api) if goal is None else goal, each=each, whole=whole, clock=clock.clock)


def marked(
    stack: str | None = None, *, project: str = PROJECT, run: int = 90, time: str = "2026-11-20T10:00:00Z"
) -> str:
    scope = scope_of(project, stack)
    names = () if stack is None else (stack,)
    return f"{Marker(scope, project, names, OTHER_HEAD, Run(run, 1, time)).render()}\n## Review\n"


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

    clock = dataclasses.replace(time.clock, sleep=moved)
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

    time.clock = dataclasses.replace(time.clock, now=slow)
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


# --- what fails


@pytest.mark.parametrize(
    "failure",
    [
        Failure(500),
        Failure(502),
        Failure(503, headers=(("retry-after", "7"),)),
        Failure(drop=True),
        secondary_limit(9),
        secondary_limit(9, 429),
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/pulls/"), ("GET", "/user"), ("GET", "/comments"), ("POST", "/graphql"), ("POST", "/comments")],
)
def test_what_passes_is_repeated(method: str, path: str, failure: Failure, api: GithubApi) -> None:
    api.fail(method, path, failure, failure)
    time = Time()
    put(api, review(USUAL), time=time)
    assert len(api.of()) == 1
    assert len(time.waited) == 2
    least = [float(value) for name, value in failure.headers if name == "retry-after"]
    assert all(seconds >= min(least, default=0) for seconds in time.waited)


@pytest.mark.parametrize("failure", [Failure(done=True, drop=True), Failure(502, done=True)])
def test_a_comment_whose_answer_is_lost_is_not_made_twice(failure: Failure, api: GithubApi) -> None:
    api.fail("POST", "/comments", failure)
    put(api, review(USUAL))
    assert len(api.of()) == 1
    assert len([request for request in api.made("POST") if "/comments" in request.path]) == 1


def test_each_of_several_whose_answers_are_lost(api: GithubApi) -> None:
    stacks = [USUAL.model_copy(update={"stack": f"mnist-{number}.dev"}) for number in range(5)]
    api.fail("POST", "/comments", *[Failure(done=True, drop=True)] * 5)
    put(api, review(*stacks), each=True)
    assert len(api.of()) == 5


def test_a_slow_answer(api: GithubApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "REQUEST_SECONDS", 0.5)
    api.fail("POST", "/comments", Failure(slow=1.5, done=True))
    put(api, review(USUAL))
    assert len(api.of()) == 1


def test_the_primary_limit_is_waited_for(api: GithubApi) -> None:
    time = Time()
    api.fail("GET", "/comments", primary_limit(time.seconds + 120))
    put(api, review(USUAL), time=time)
    [waited] = time.waited
    assert 120 <= waited <= 121
    assert len(api.of()) == 1


def test_a_secondary_limit_without_a_time_is_waited_for_a_minute(api: GithubApi) -> None:
    time = Time()
    api.fail("GET", "/comments", secondary_limit())
    put(api, review(USUAL), time=time)
    assert 60 <= time.waited[0] <= 61


def test_a_limit_beyond_the_time_that_there_is(api: GithubApi) -> None:
    time = Time()
    api.fail("GET", "/comments", primary_limit(time.seconds + 3000))
    with pytest.raises(PostError, match=r"GitHub's rate limit is reached .403 Forbidden: API rate limit exceeded"):
        put(api, review(USUAL), time=time)
    assert time.waited == []


def test_it_ends_at_last(api: GithubApi) -> None:
    time = Time()
    api.fail("GET", "/comments", *[Failure(503)] * 500)
    with pytest.raises(PostError, match=r"GitHub has an error .503"):
        put(api, review(USUAL), time=time)
    assert 250 < sum(time.waited) <= defaults.POST_SECONDS
    assert len(set(time.waited)) == len(time.waited), "waits differ by chance"


def test_no_server_at_all(api: GithubApi) -> None:
    goal = dataclasses.replace(target(api), api="http://127.0.0.1:9")
    with pytest.raises(PostError, match="GitHub cannot be reached"):
        put(api, review(USUAL), goal)


@pytest.mark.parametrize(
    ("right", "token", "told"),
    [
        (
            Right(ACTIONS, write=False),
            TOKEN,
            ["403 Forbidden: Resource not accessible by integration", "pull-requests: write", "fork"],
        ),
        (Right(ACTIONS, read=False), TOKEN, ["404 Not Found", "pull-requests: write", "GITHUB_REPOSITORY"]),
        (Right(ACTIONS), "ghs_another0token", ["401 Unauthorized: Bad credentials", "GITHUB_TOKEN"]),
    ],
)
def test_what_the_token_may_not_do_is_said_and_not_repeated(
    right: Right, token: str, told: list[str], api: GithubApi
) -> None:
    api.tokens[TOKEN] = right
    time = Time()
    with pytest.raises(PostError) as error:
        put(api, review(USUAL), target(api, token=token), time=time)
    assert [text for text in told if text not in str(error.value)] == []
    assert token not in str(error.value)
    assert time.waited == []


def test_an_answer_that_repeats_the_token(api: GithubApi) -> None:
    api.fail("POST", "/comments", Failure(400, f"Bearer {TOKEN} is odd"))
    with pytest.raises(PostError) as error:
        put(api, review(USUAL))
    assert "[secret] is odd" in str(error.value)
    assert TOKEN not in str(error.value)


def test_the_token_is_not_in_a_comment(api: GithubApi) -> None:
    told = USUAL.model_copy(update={"headline": f"Replaces {TOKEN}.", "stack": TOKEN})
    assert TOKEN not in put(api, review(told, project=TOKEN))[0]
    assert TOKEN not in api.of()[0].body
    assert TOKEN not in repr(target(api))


# --- redirects


def test_a_redirect_on_the_same_server_is_followed(api: GithubApi) -> None:
    api.redirect = (f"/repos/{api.repository}", f"/repos/{api.repository}-renamed")
    api.repository += "-renamed"
    goal = dataclasses.replace(target(api), repository=api.repository.removesuffix("-renamed"))
    put(api, review(USUAL), goal)
    put(api, review(RICH), dataclasses.replace(goal, run=101))
    assert len(api.of()) == 1
    assert "TR-DATA-1" in api.of()[0].body


def test_a_redirect_that_would_lose_the_comment(api: GithubApi) -> None:
    """Of a 301 a client makes a GET, which succeeds and makes no comment."""
    goal = target(api)

    def moved(request: Request) -> None:
        if request.method == "POST" and "/comments" in request.path:
            api.redirect = (f"/repos/{goal.repository}", f"/repos/{goal.repository}-renamed")
            api.repository, api.redirects_with = f"{goal.repository}-renamed", 301

    api.before = moved
    with pytest.raises(PostError, match=r"GitHub refuses the request .301"):
        put(api, review(USUAL), goal)
    assert api.of() == []


def test_a_redirect_to_another_server_does_not_get_the_token(api: GithubApi) -> None:
    with GithubApi() as other:
        api.redirect = ("/repos", f"{other.url}/repos")
        with pytest.raises(PostError, match="which must not get the token"):
            put(api, review(USUAL))
        assert other.requests == []


def test_a_next_page_on_another_server_is_not_asked(api: GithubApi) -> None:
    with GithubApi() as other:
        api.links = f'<{other.url}/repos/ml/training/issues/7/comments?page=2>; rel="next"'
        with pytest.raises(PostError, match="which must not get the token"):
            put(api, review(USUAL))
        assert other.requests == []


@pytest.mark.parametrize("status", [200, 422])
def test_an_answer_that_no_reader_of_json_takes(status: int, api: GithubApi) -> None:
    class Deep(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(b"[" * 100_000)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing is written."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Deep) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        goal = dataclasses.replace(target(api), api=f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(PostError, match=r"no JSON|422"):
            put(api, review(USUAL), goal)
        server.shutdown()


@pytest.mark.parametrize(
    "page", ["http://[::1", "http://127.0.0.1:port/", "https://", "file:///etc/passwd", "//x", "\u00e4://"]
)
def test_a_next_page_that_is_no_address(page: str, api: GithubApi) -> None:
    api.links = f'<{page}>; rel="next"'
    with pytest.raises(PostError):
        put(api, review(USUAL))


def test_pages_that_never_end(api: GithubApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comments, "MOST_PAGES", 5)
    api.links = f'<{api.url}/repos/ml/training/issues/7/comments?page=2>; rel="next"'
    with pytest.raises(PostError, match="more than 5 pages of comments"):
        put(api, review(USUAL))


# --- length


def test_a_report_of_any_length_is_posted(api: GithubApi) -> None:
    stacks = [RICH.model_copy(update={"stack": f"изделие-{number}.prod"}) for number in range(200)]
    put(api, review(*stacks))
    [comment] = api.of()
    assert size(comment.body) <= defaults.LONGEST_COMMENT
    assert "Left out, because a comment has an end:" in comment.body


def test_project_scope() -> None:
    assert len({project_scope("a"), scope_of("a", "b"), scope_of("ab", ""), scope_of("a", None)}) == 3
