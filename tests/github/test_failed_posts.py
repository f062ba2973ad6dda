"""Comments where the server fails, limits, redirects or answers at length."""

from __future__ import annotations

import dataclasses
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.github.posting import Time, put, review, target
from tests.review.forms.samples import RICH, USUAL
from tests.support.github_api import (
    ACTIONS,
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
from trainform.github.api import PostError
from trainform.github.marker import project_scope, scope_of
from trainform.review.forms.comment import size

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
