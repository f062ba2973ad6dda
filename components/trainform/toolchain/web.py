"""HTTP for downloads, with retries, time limits, checked redirects, and the tokens of registries."""

from __future__ import annotations

import hashlib
import http.client
import json
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, TypeVar
from urllib.parse import urlencode, urlsplit

from msgspec import Struct

from trainform.errors import ToolchainError
from trainform.toolchain.images import Challenge, parse_challenge

CHUNK = 1 << 18
LONGEST_TEXT = 4 << 20
FIX = "check the network and its proxy, or set TRAINFORM_TOOLCHAIN=build"
_TRANSIENT = (500, 502, 503, 504)
Result = TypeVar("Result")


class Limits(Struct, frozen=True):
    """Time limits in seconds, and the number of attempts.

    `first_answer`: for the first response of a host, with name lookup and proxies; without a network, building begins after this time.
    `stall`: without a byte from a host that has answered. `pause`: before the second attempt, and twice as long before the third.
    """

    first_answer: float = 4.0
    stall: float = 30.0
    attempts: int = 3
    pause: float = 1.0


class StatusError(ToolchainError):
    """The server answered with an error."""

    def __init__(self, url: str, status: int, reason: str) -> None:
        super().__init__(f"{url}: {status} {reason}", FIX)
        self.status = status


class StoppedError(ToolchainError):
    """The download was cancelled, since another download of the same part failed."""


class _TransientError(Exception):
    """An error that another attempt may not have."""


class _UnauthorisedError(Exception):
    """The registry requires a token."""

    def __init__(self, challenge: Challenge) -> None:
        super().__init__(challenge)
        self.challenge = challenge


class _Redirects(urllib.request.HTTPRedirectHandler):
    """The redirects of one request: never from TLS to no TLS, and no credentials to another host. `host` is the last host."""

    def __init__(self, host: str) -> None:
        self.host = host

    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> urllib.request.Request | None:
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if new.scheme != "https" and (old.scheme, new.scheme) != ("http", "http"):
            raise urllib.error.HTTPError(req.full_url, code, "a redirect to a URL without TLS", headers, fp)
        made = super().redirect_request(req, fp, code, msg, headers, newurl)
        if made is not None:
            self.host = new.netloc
            made.method = req.get_method()
            # `Authorization` is among the headers that urllib does not send after a redirect.
            if (old.scheme, old.netloc) == (new.scheme, new.netloc):
                made.unredirected_hdrs.update(req.unredirected_hdrs)
        return made


class Web:
    """A client for the requests of one run. It remembers which hosts answer, which cannot be reached, and tokens."""

    def __init__(self, limits: Limits | None = None, passwords: Mapping[str, str] | None = None) -> None:
        self._limits = Limits() if limits is None else limits
        self._passwords = {} if passwords is None else passwords
        # Made once: reading the system's certificates takes longer than a request on loopback.
        self._tls = urllib.request.HTTPSHandler(context=ssl.create_default_context())
        self._answering: set[str] = set()
        self._unreachable: dict[str, ToolchainError] = {}
        self._tokens: dict[Challenge, str] = {}

    def text(self, url: str, accept: str = "*/*") -> tuple[bytes, http.client.HTTPMessage]:
        """Return the body of a short response, and its headers. Raises `ToolchainError` if it cannot be read or is too long."""

        def read() -> tuple[bytes, http.client.HTTPMessage]:
            with self._open(url, accept=accept) as response:
                body = self._read(response, url, LONGEST_TEXT + 1)
                if len(body) > LONGEST_TEXT:
                    raise ToolchainError(f"{url} is longer than {LONGEST_TEXT >> 20} MB", FIX)
                _check_length(url, len(body), _length(response))
                return body, response.headers

        return self._with_retries(read)

    def size(self, url: str) -> int | None:
        """Return the size of a file in bytes, None if the server does not say it. Raises `StatusError` if there is no such file."""
        try:
            with self._with_retries(lambda: self._open(url, method="HEAD")) as response:
                return _length(response)
        except StatusError as error:
            if error.status == 404:
                raise
            return None  # some servers do not support HEAD

    def save(self, url: str, target: Path, count: Callable[[int], None], stop: threading.Event) -> str:
        """Download into the file `target`, and return its SHA-256. Raises `ToolchainError` if that fails, `StoppedError` after `stop`.

        `count` is called with the number of each received bytes, and with a negative number if they must be received again.
        """

        def write() -> str:
            digest, received = hashlib.sha256(), 0
            try:
                with self._open(url) as response, target.open("wb") as file:
                    if response.headers.get_content_type() == "text/html":
                        raise ToolchainError(f"{url} is a web page, not a file; the network may require a login", FIX)
                    while piece := self._read(response, url, CHUNK):
                        if stop.is_set():
                            raise StoppedError(f"the download of {url} was cancelled")
                        file.write(piece)
                        digest.update(piece)
                        received += len(piece)
                        count(len(piece))
                    _check_length(url, received, _length(response))
            except BaseException:
                count(-received)
                raise
            return digest.hexdigest()

        return self._with_retries(write, stop)

    def _with_retries(self, attempt: Callable[[], Result], stop: threading.Event | None = None) -> Result:
        stop = threading.Event() if stop is None else stop
        for number in range(1, self._limits.attempts):
            try:
                return attempt()
            except _TransientError:
                stop.wait(self._limits.pause * number)
        try:
            return attempt()
        except _TransientError as error:
            raise ToolchainError(f"{error} (in {self._limits.attempts} attempts)", FIX) from error

    def _open(self, url: str, method: str = "GET", accept: str = "*/*") -> http.client.HTTPResponse:
        """Send the request, with a token if the server requires one; return the response, whose body is not read yet."""
        try:
            return self._request(url, method, accept, self._passwords.get(urlsplit(url).netloc))
        except _UnauthorisedError as refusal:
            challenge = refusal.challenge
        known = self._tokens.get(challenge)
        if known is not None:
            try:
                return self._request(url, method, accept, f"Bearer {known}")
            except _UnauthorisedError:
                pass  # the token has expired
        self._tokens[challenge] = self._token(url, challenge)
        try:
            return self._request(url, method, accept, f"Bearer {self._tokens[challenge]}")
        except _UnauthorisedError as refusal:
            raise StatusError(url, 401, "Unauthorized, also with a token") from refusal

    def _token(self, url: str, challenge: Challenge) -> str:
        """Return an anonymous token."""
        if urlsplit(url).scheme == "https" and urlsplit(challenge.realm).scheme != "https":
            raise ToolchainError(f"{url} requires a token from a URL without TLS", FIX)
        query = urlencode([pair for pair in (("service", challenge.service), ("scope", challenge.scope)) if pair[1]])
        address = f"{challenge.realm}?{query}"
        body, _ = self.text(address)
        try:
            answer = json.loads(body)
            token = answer.get("token", answer.get("access_token"))
        except (ValueError, AttributeError) as error:
            raise ToolchainError(f"{address} returned no token", FIX) from error
        if not isinstance(token, str) or not token.isascii() or not token.isprintable():
            raise ToolchainError(f"{address} returned no token", FIX)
        return token

    def _request(self, url: str, method: str, accept: str, authorisation: str | None) -> http.client.HTTPResponse:
        host = urlsplit(url).netloc
        if host in self._unreachable:
            raise self._unreachable[host]
        if urlsplit(url).scheme not in ("https", "http"):
            raise ToolchainError(f"{url} is not an HTTP URL", FIX)
        headers = {"Accept": accept, "User-Agent": "trainform"}
        request = urllib.request.Request(url, method=method, headers=headers)  # noqa: S310  (the scheme is checked)
        if authorisation is not None:
            request.add_unredirected_header("Authorization", authorisation)
        redirects = _Redirects(host)
        try:
            response = self._open_within_limit(request, redirects, host)
        except urllib.error.HTTPError as error:
            self._answering.add(host)
            with error:  # to close its connection
                raise _refusal(url, error) from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise self._failure(host, redirects.host, error) from error
        self._answering.add(host)
        return response

    def _open_within_limit(
        self, request: urllib.request.Request, redirects: _Redirects, host: str
    ) -> http.client.HTTPResponse:
        """Send the request in a thread, because a name lookup has no time limit of its own."""
        seconds = self._limits.stall if host in self._answering else self._limits.first_answer
        opener = urllib.request.build_opener(redirects, self._tls)
        answers: list[http.client.HTTPResponse] = []
        errors: list[Exception] = []
        lock, late = threading.Lock(), threading.Event()

        def ask() -> None:
            try:
                answer = opener.open(request, timeout=self._limits.stall)
            except Exception as error:
                with lock:
                    errors.append(error)
                    if late.is_set() and isinstance(error, urllib.error.HTTPError):
                        error.close()
                return
            with lock:
                answers.append(answer)
                if late.is_set():
                    answer.close()

        thread = threading.Thread(target=ask, daemon=True)
        thread.start()
        thread.join(seconds)
        with lock:
            if answers:
                return answers[0]
            if errors:
                raise errors[0]
            late.set()
        raise TimeoutError(f"no answer within {seconds:g} s")

    def _failure(self, host: str, asked: str, error: Exception) -> Exception:
        """Return the error for a request without a response. Only a host that has answered in this run is tried again."""
        cause = error.reason if isinstance(error, urllib.error.URLError) else error
        reason = cause.strerror if isinstance(cause, OSError) and cause.strerror else str(cause)
        message = f"{asked}: {reason}"
        if host in self._answering or isinstance(cause, ConnectionResetError | http.client.RemoteDisconnected):
            return _TransientError(message)
        self._unreachable[host] = ToolchainError(message, FIX)
        return self._unreachable[host]

    def _read(self, response: http.client.HTTPResponse, url: str, size: int) -> bytes:
        try:
            return response.read(size)
        except TimeoutError as error:
            raise _TransientError(f"{url}: no more data within {self._limits.stall:g} s") from error
        except (OSError, http.client.HTTPException) as error:
            raise _TransientError(f"{url}: {error}") from error


def _refusal(url: str, error: urllib.error.HTTPError) -> Exception:
    challenge = parse_challenge(error.headers.get("WWW-Authenticate", "")) if error.code == 401 else None
    if challenge is not None:
        return _UnauthorisedError(challenge)
    if error.code in _TRANSIENT:
        return _TransientError(f"{url}: {error.code} {error.reason}")
    return StatusError(url, error.code, str(error.reason))


def _length(response: http.client.HTTPResponse) -> int | None:
    text = response.headers.get("Content-Length", "")
    return int(text) if text.isascii() and text.isdigit() else None


def _check_length(url: str, received: int, length: int | None) -> None:
    if length is not None and received < length:
        raise _TransientError(f"{url} ended after {received} of {length} bytes")
