"""Requests to GitHub's REST API: repeated while that may help, and never to another host with the token.

As https://docs.github.com/rest/using-the-rest-api says of rate limits: `retry-after` and `x-ratelimit-reset` are waited for, otherwise at least a
minute. All requests of a posting share one time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import httpx2
import tenacity
from msgspec import Struct

from trainform import defaults
from trainform.errors import TrainformError
from trainform.github.settings import Target, is_loopback

Made = TypeVar("Made")
_LONGEST_WAIT = 30.0  # seconds between two attempts, where the server does not say when to come again
_JITTER = 1.0
_LIMIT_WAIT = 60.0
_BETWEEN_WRITES = 1.0
_MOST_REDIRECTS = 5
_LONGEST_MESSAGE = 300
_LIMITS = (403, 429)
_RIGHTS = (
    "give the job `permissions: {pull-requests: write}`; for a pull request from a fork the token can only read: post the report in "
    "another job, with --review-json"
)
_REASONS = {
    401: (
        "GitHub does not accept the token",
        "set GITHUB_TOKEN to a token that is valid: `${{ github.token }}` in a job",
    ),
    403: ("the token may not do this", _RIGHTS),
    404: ("GitHub does not show this to the token", f"check GITHUB_REPOSITORY and the pull request; {_RIGHTS}"),
    422: ("GitHub refuses what is sent", "this is an error of trainform: please report it"),
}


class PostError(TrainformError):
    """The comment could not be written."""


class AgainError(PostError):
    """What failed may succeed later. after: seconds until which the server wants no request; None: it does not say."""

    def __init__(self, message: str, *, after: float | None = None) -> None:
        super().__init__(message, "run the job again later")
        self.after = after


class Clock(Struct, frozen=True):
    """Time, and waiting for it. patience: seconds for all requests together, their waits among them."""

    patience: float = defaults.POST_SECONDS
    now: Callable[[], float] = time.monotonic
    today: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


class Api:
    """The API with a token, until it is closed."""

    def __init__(self, target: Target, clock: Clock) -> None:
        self._target, self._clock = target, clock
        self._until = clock.now() + clock.patience
        self._free = clock.now()
        try:
            self._client = httpx2.Client(
                headers={
                    "Accept": "application/vnd.github+json",
                    "Authorization": f"Bearer {target.token}",
                    "User-Agent": "trainform",
                    "X-GitHub-Api-Version": "2022-11-28",
                },
                timeout=httpx2.Timeout(defaults.REQUEST_SECONDS),
                verify=target.api.startswith("https:"),  # reading the certificates takes a moment
                trust_env=not is_loopback(target.api),  # a proxy would read what has no https
            )
        except ValueError:  # without its text: an address of a proxy may have a password
            raise PostError(
                "a variable of a proxy, such as HTTPS_PROXY, holds no address of one", "write http://HOST:PORT"
            ) from None

    def __enter__(self) -> Api:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, url: str) -> httpx2.Response:
        return self.again(lambda: self.once("GET", url))

    def patch(self, url: str, data: Mapping[str, Any]) -> httpx2.Response:
        return self.again(lambda: self.write("PATCH", url, data))

    def delete(self, url: str) -> httpx2.Response:
        return self.again(lambda: self.write("DELETE", url))

    def post(self, url: str, data: Mapping[str, Any]) -> httpx2.Response:
        """One request that makes something: whoever repeats it looks first whether it was done."""
        return self.write("POST", url, data)

    def write(self, method: str, url: str, data: Mapping[str, Any] | None = None) -> httpx2.Response:
        """One request that changes something. GitHub asks for a second between two of them."""
        self._clock.sleep(max(0.0, self._free - self._clock.now()))
        try:
            return self.once(method, url, data)
        finally:
            self._free = self._clock.now() + _BETWEEN_WRITES

    def again(self, attempt: Callable[[], Made]) -> Made:
        """What the attempt gives, once it succeeds; its last error when there is no time left."""
        return tenacity.Retrying(
            retry=tenacity.retry_if_exception_type(AgainError),
            wait=_wait,
            stop=lambda state: self._clock.now() + state.upcoming_sleep > self._until,
            sleep=self._clock.sleep,
            reraise=True,
        )(attempt)

    def once(self, method: str, url: str, data: Mapping[str, Any] | None = None) -> httpx2.Response:
        """One request. url: a path below the API's address, or an address of the same server. AgainError if it may succeed later; PostError if not."""
        if self._clock.now() > self._until:
            raise PostError(
                f"GitHub was too slow: {self._clock.patience:.0f} seconds were not enough", "run the job again later"
            )
        try:
            full = httpx2.URL(url if "://" in url else f"{self._target.api}{url}")
            request = self._client.build_request(method, self._own(full), json=data)
            response = self._client.send(request)
            for _ in range(_MOST_REDIRECTS):
                if response.next_request is None:
                    break
                self._own(response.next_request.url)
                if response.next_request.method != method:  # 301 makes a GET of a POST, which does nothing
                    break
                response = self._client.send(response.next_request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise AgainError(self._text(f"GitHub cannot be reached: {error}")) from None
        except httpx2.TimeoutException:
            raise AgainError(f"GitHub did not answer within {defaults.REQUEST_SECONDS} seconds") from None
        except httpx2.InvalidURL:
            raise PostError("GitHub sends the request on to what is no address", "check GITHUB_API_URL") from None
        except httpx2.HTTPError as error:
            raise AgainError(self._text(f"the connection to GitHub failed: {error}")) from None
        if not response.is_success:
            raise self._refused(response)
        return response

    def _own(self, url: httpx2.URL) -> httpx2.URL:
        """The address, if it is one of the server that the token is for."""
        own = httpx2.URL(self._target.api)
        if (url.scheme, url.host, url.port) != (own.scheme, own.host, own.port):
            message = self._text(
                f"GitHub sends the request on to another server, {url.host}, which must not get the token"
            )
            raise PostError(message, "check GITHUB_API_URL")
        return url

    def _refused(self, response: httpx2.Response) -> PostError:
        said = self._text(_message(response))
        if response.status_code in _LIMITS and (after := self._limit(response, said)) is not None:
            return AgainError(f"GitHub's rate limit is reached ({said})", after=after)
        if response.status_code >= 500:
            return AgainError(f"GitHub has an error ({said})", after=_seconds(response.headers.get("retry-after")))
        reason, fix = _REASONS.get(response.status_code, ("GitHub refuses the request", _RIGHTS))
        return RefusedError(f"{reason} ({said})", fix, response.status_code)

    def _limit(self, response: httpx2.Response, said: str) -> float | None:
        """Seconds to wait if a rate limit refuses the request; None if something else does."""
        after = _seconds(response.headers.get("retry-after"))
        if after is not None:
            return after
        if response.headers.get("x-ratelimit-remaining") == "0":
            reset = _seconds(response.headers.get("x-ratelimit-reset"))
            return _LIMIT_WAIT if reset is None else max(0.0, reset - self._clock.today())
        return _LIMIT_WAIT if response.status_code == 429 or "rate limit" in said.lower() else None

    def _text(self, text: str) -> str:
        return self._target.without_token(text)


class RefusedError(PostError):
    """GitHub refuses the request for good."""

    def __init__(self, message: str, fix: str, status: int) -> None:
        super().__init__(message, fix)
        self.status = status


def _wait(state: tenacity.RetryCallState) -> float:
    """Seconds until the next attempt, some of them by chance: many jobs may have been refused at once."""
    error = None if state.outcome is None else state.outcome.exception()
    after = error.after if isinstance(error, AgainError) else None
    jitter = random.uniform(0, _JITTER)  # noqa: S311 - nothing secret
    return jitter + (min(2.0 ** (state.attempt_number - 1), _LONGEST_WAIT) if after is None else after)


def _seconds(text: str | None) -> float | None:
    return float(text) if text is not None and text.isascii() and text.isdigit() and len(text) < 13 else None


def _message(response: httpx2.Response) -> str:
    """The status, and what the server says of it."""
    try:
        data = response.json()
    except (ValueError, RecursionError):
        data = None
    said = [data, *data["errors"]] if isinstance(data, dict) and isinstance(data.get("errors"), list) else [data]
    texts = [part["message"] for part in said if isinstance(part, dict) and isinstance(part.get("message"), str)]
    status = f"{response.status_code} {response.reason_phrase}".strip()
    return ": ".join([status, *texts])[:_LONGEST_MESSAGE]
