"""GitHub's REST API as far as comments on pull requests need it, on real sockets: what its documentation says of paging, rights, lengths, rate limits
and redirects. Every answer can be made to fail on demand."""

from __future__ import annotations

import dataclasses
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

LONGEST_BODY = 65536
MOST_PER_PAGE, USUAL_PER_PAGE = 100, 30
ACTIONS = "github-actions[bot]"
TOKEN = "ghs_16C7e42F292c6912E7710c838347Ae178B4a"  # noqa: S105 - it opens nothing but this server
HEAD = "4f1c0d2e9b7a6583c1d0e2f3a4b5c6d7e8f90123"


@dataclasses.dataclass
class Comment:
    """A comment on an issue."""

    id: int
    issue: int
    author: str
    body: str

    @property
    def is_bot(self) -> bool:
        return self.author.endswith("[bot]")


@dataclasses.dataclass(frozen=True)
class Right:
    """What a token may do. user: whether it is one of a user, which `GET /user` takes; that of an app gets 403 there."""

    login: str
    write: bool = True
    read: bool = True

    @property
    def is_user(self) -> bool:
        return not self.login.endswith("[bot]")


@dataclasses.dataclass(frozen=True)
class Failure:
    """What becomes of a request. done: whether it is done all the same; drop: the connection is closed without an answer; slow: seconds before the
    answer."""

    status: int = 500
    message: str = "Server Error"
    headers: tuple[tuple[str, str], ...] = ()
    done: bool = False
    drop: bool = False
    slow: float = 0.0


def primary_limit(reset: float) -> Failure:
    """The primary rate limit, until a time in seconds of UTC."""
    headers = (("x-ratelimit-limit", "1000"), ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", str(int(reset))))
    return Failure(403, "API rate limit exceeded for installation ID 17.", headers)


def secondary_limit(after: int | None = None, status: int = 403) -> Failure:
    """A secondary rate limit; without `retry-after` where the server sends none."""
    headers = () if after is None else (("retry-after", str(after)),)
    return Failure(
        status, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.", headers
    )


@dataclasses.dataclass(frozen=True)
class Request:
    """A request that came in. token: what it was authorized with."""

    method: str
    path: str
    token: str
    data: Any = None


@dataclasses.dataclass(frozen=True)
class _Answer:
    status: int
    data: Any = None
    headers: tuple[tuple[str, str], ...] = ()


class GithubApi:
    """The server. `failures`: what becomes of the next requests whose method and path match, in this order; a failure is used up once.
    `redirect`: where paths that begin so are sent on to. `links`: the header `Link` of every page, in place of the true one."""

    def __init__(self, repository: str = "ml/training", prefix: str = "") -> None:
        self.repository, self.prefix = repository, prefix
        self.comments: list[Comment] = []
        self.heads: dict[int, str] = {7: HEAD}
        self.tokens: dict[str, Right] = {TOKEN: Right(ACTIONS)}
        self.requests: list[Request] = []
        self.failures: list[tuple[str, str, Failure]] = []
        self.before: Callable[[Request], None] = lambda request: None
        self.redirect: tuple[str, str] | None = None
        self.redirects_with = 307
        self.graphql = True
        self.links: str | None = None
        self._next = 900
        self._lock = threading.RLock()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    # --- its life

    def start(self) -> GithubApi:
        api = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                api._handle(self)

            do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names of the base class

            def log_message(self, *arguments: object) -> None:
                """Nothing on standard error."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """A client that closes its connection is no error of the server."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def close(self) -> None:
        assert self._server is not None
        assert self._thread is not None
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> GithubApi:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_port}{self.prefix}"

    # --- what is in it

    def comment(self, author: str, body: str, issue: int = 7) -> Comment:
        """A comment that is there already."""
        with self._lock:
            self._next += 1
            self.comments.append(Comment(self._next, issue, author, body))
            return self.comments[-1]

    def of(self, issue: int = 7) -> list[Comment]:
        """The comments on an issue, oldest first."""
        return [comment for comment in self.comments if comment.issue == issue]

    def fail(self, method: str, path: str, *failures: Failure) -> None:
        """Make the next requests fail, one by one. path: a regular expression that is looked for."""
        self.failures += [(method, path, failure) for failure in failures]

    def made(self, *methods: str) -> list[Request]:
        """The requests with these methods."""
        return [request for request in self.requests if request.method in methods]

    def variables(self, folder: Path, *, run: int = 100, attempt: int = 1, number: int = 7) -> dict[str, str]:
        """The variables of a run of Actions for a pull request, at its head as it is now."""
        event = folder / f"event-{number}-{run}-{attempt}.json"
        event.write_text(
            json.dumps({"number": number, "pull_request": {"number": number, "head": {"sha": self.heads[number]}}})
        )
        return {
            "GITHUB_ACTIONS": "true",
            "GITHUB_TOKEN": TOKEN,
            "GITHUB_REPOSITORY": self.repository,
            "GITHUB_API_URL": self.url,
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_REF": f"refs/pull/{number}/merge",
            "GITHUB_SHA": "0" * 40,
            "GITHUB_RUN_ID": str(run),
            "GITHUB_RUN_ATTEMPT": str(attempt),
        }

    # --- requests

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length", "0"))
        text = handler.rfile.read(length).decode()
        path = handler.path.removeprefix(self.prefix)
        token = handler.headers.get("Authorization", "").removeprefix("Bearer ")
        request = Request(handler.command, path, token, json.loads(text) if text else None)
        with self._lock:
            self.requests.append(request)
            self.before(request)
            failure = self._failure(request)
            answer = self._answer(request) if failure is None or failure.done or failure.slow else _Answer(0)
        if failure is not None:
            time.sleep(failure.slow)
            if failure.drop:
                # a reset, as from a server that is gone
                handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                handler.close_connection = True
                handler.connection.close()
                return
            if not failure.slow:
                answer = _Answer(failure.status, {"message": failure.message}, failure.headers)
        self._send(handler, answer)

    def _send(self, handler: BaseHTTPRequestHandler, answer: _Answer) -> None:
        body = b"" if answer.data is None else json.dumps(answer.data).encode()
        handler.send_response(answer.status)
        handler.send_header("Content-Type", "application/json; charset=utf-8")
        handler.send_header("Content-Length", str(len(body)))
        for name, value in answer.headers:
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    def _failure(self, request: Request) -> Failure | None:
        for index, (method, path, failure) in enumerate(self.failures):
            if method == request.method and re.search(path, request.path):
                del self.failures[index]
                return failure
        return None

    def _answer(self, request: Request) -> _Answer:
        if self.redirect is not None and request.path.startswith(f"{self.redirect[0]}/"):
            place = self.redirect[1] + request.path.removeprefix(self.redirect[0])
            return _Answer(self.redirects_with, {"message": "Moved", "url": place}, (("Location", place),))
        right = self.tokens.get(request.token)
        if right is None:
            return _Answer(401, {"message": "Bad credentials"})
        found = urlsplit(request.path)
        below = f"/repos/{self.repository}"
        if found.path == "/user":
            return self._user(right)
        if found.path == "/graphql":
            return self._viewer(right)
        if not found.path.startswith(f"{below}/") or not right.read:
            return _Answer(404, {"message": "Not Found"})
        return self._of_repository(request, found.path.removeprefix(below), parse_qs(found.query), right)

    def _user(self, right: Right) -> _Answer:
        if right.is_user:
            return _Answer(200, {"login": right.login, "id": 583231, "type": "User"})
        return _Answer(403, {"message": "Resource not accessible by integration"})

    def _viewer(self, right: Right) -> _Answer:
        if self.graphql:
            return _Answer(200, {"data": {"viewer": {"login": right.login}}})
        return _Answer(200, {"data": None, "errors": [{"message": "Resource not accessible by integration"}]})

    def _of_repository(self, request: Request, path: str, query: dict[str, list[str]], right: Right) -> _Answer:
        if (found := re.fullmatch(r"/pulls/(\d+)", path)) and request.method == "GET" and int(found[1]) in self.heads:
            number = int(found[1])
            return _Answer(200, {"number": number, "state": "open", "head": {"sha": self.heads[number]}})
        if found := re.fullmatch(r"/issues/(\d+)/comments", path):
            if request.method == "GET":
                return self._listed(int(found[1]), query)
            return self._created(int(found[1]), request.data, right)
        if found := re.fullmatch(r"/issues/comments/(\d+)", path):
            return self._one(int(found[1]), request, right)
        return _Answer(404, {"message": "Not Found"})

    def _listed(self, issue: int, query: dict[str, list[str]]) -> _Answer:
        """A page of the comments by ascending id, with the addresses of the others."""
        count = min(int(query.get("per_page", [str(USUAL_PER_PAGE)])[0]), MOST_PER_PAGE)
        page = int(query.get("page", ["1"])[0])
        all_of_it = self.of(issue)
        last = max(1, -(-len(all_of_it) // count))
        base = f"{self.url}/repos/{self.repository}/issues/{issue}/comments"
        links = {"next": page + 1, "last": last} if page < last else {}
        links |= {"prev": page - 1, "first": 1} if page > 1 else {}
        told = ", ".join(f'<{base}?per_page={count}&page={number}>; rel="{name}"' for name, number in links.items())
        shown = [self._shown(comment) for comment in all_of_it[(page - 1) * count : page * count]]
        told = told if self.links is None else self.links
        return _Answer(200, shown, (("Link", told),) if told else ())

    def _shown(self, comment: Comment) -> dict[str, Any]:
        user = {"login": comment.author, "type": "Bot" if comment.is_bot else "User"}
        return {
            "id": comment.id,
            "body": comment.body,
            "user": user,
            "html_url": f"https://github.com/{self.repository}/pull/{comment.issue}#issuecomment-{comment.id}",
        }

    def _refused(self, data: Any, right: Right) -> _Answer | None:
        """Why nothing may be written."""
        if not right.write:
            return _Answer(403, {"message": "Resource not accessible by integration"})
        body = data.get("body") if isinstance(data, dict) else None
        if not isinstance(body, str) or not body.strip():
            return _Answer(422, {"message": "Validation Failed", "errors": [{"message": "body cannot be blank"}]})
        if len(body) > LONGEST_BODY:
            error = {"resource": "IssueComment", "code": "unprocessable", "field": "data",
                     "message": "Body is too long (maximum is 65536 characters)"}  # fmt: skip
            return _Answer(422, {"message": "Validation Failed", "errors": [error]})
        return None

    def _created(self, issue: int, data: Any, right: Right) -> _Answer:
        refused = self._refused(data, right)
        if refused is not None:
            return refused
        if issue not in self.heads:
            return _Answer(404, {"message": "Not Found"})
        return _Answer(201, self._shown(self.comment(right.login, data["body"], issue)))

    def _one(self, number: int, request: Request, right: Right) -> _Answer:
        found = next((comment for comment in self.comments if comment.id == number), None)
        if found is None:
            return _Answer(404, {"message": "Not Found"})
        if request.method == "GET":
            return _Answer(200, self._shown(found))
        if request.method == "DELETE":
            if not right.write:
                return _Answer(403, {"message": "Resource not accessible by integration"})
            self.comments.remove(found)
            return _Answer(204)
        refused = self._refused(request.data, right)
        if refused is None:
            found.body = request.data["body"]
        return _Answer(200, self._shown(found)) if refused is None else refused
