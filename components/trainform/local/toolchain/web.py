"""HTTP for downloads: retries, checked redirects, and the anonymous tokens of container registries."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import re
import ssl
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TypeVar

import httpx2
from msgspec import Struct

from trainform.cluster.tls import set_protocols_once
from trainform.errors import ToolchainError

FIX = "check the network and its proxy, or set TRAINFORM_TOOLCHAIN=build"
_TRANSIENT = (500, 502, 503, 504)
_PAIR = re.compile(r'(\w+)="([^"]*)"')
_HEADERS = {"User-Agent": "trainform", "Accept-Encoding": "identity"}
Result = TypeVar("Result")


class Limits(Struct, frozen=True):
    """Time limits in seconds, and the number of attempts."""

    first_answer: float = 4.0  # for the first response of a host; without a network, building begins after this time
    stall: float = 30.0  # without a byte from a host that has answered
    attempts: int = 3
    pause: float = 1.0  # before the second attempt, and twice as long before the third


class _TransientError(Exception):
    """An error that another attempt may not have."""


class _Login(httpx2.Auth):
    """The anonymous token that a registry asks for. httpx does not send it to another host after a redirect."""

    def sync_auth_flow(self, request: httpx2.Request) -> Generator[httpx2.Request, httpx2.Response, None]:
        """Send the request, and again with a token if the registry answers 401 and names who gives one."""
        response = yield request
        words = dict(_PAIR.findall(response.headers.get("WWW-Authenticate", "")))
        if response.status_code != httpx2.codes.UNAUTHORIZED or "realm" not in words:
            return
        answer = yield httpx2.Request("GET", words.pop("realm"), params=words, headers=_HEADERS)
        try:
            answer.read()
            given = answer.json()
            request.headers["Authorization"] = f"Bearer {given['token'] if 'token' in given else given['access_token']}"
        except (ValueError, LookupError, TypeError):
            raise ToolchainError(f"{answer.url} returned no token", FIX) from None
        yield request


class Web:
    """A client for one run. Proxies come from the environment, certificates from the system or SSL_CERT_FILE."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = Limits() if limits is None else limits
        self._answering: set[str] = set()
        self._client = httpx2.Client(
            auth=_Login(),
            headers=_HEADERS,
            verify=set_protocols_once(ssl.create_default_context()),
            follow_redirects=True,
            limits=httpx2.Limits(max_keepalive_connections=0),
            event_hooks={"response": [_refuse_redirect_without_tls]},
        )

    def text(self, url: str, accept: str = "*/*") -> bytes:
        """Return the body of a short response. Raises `ToolchainError` if it cannot be read."""

        def read() -> bytes:
            with self._response(url, accept) as response:
                return response.read()

        return self._retry(read)

    def save(self, url: str, target: Path, count: Callable[[int], None]) -> str:
        """Download into the file `target`, and return its SHA-256. Raises `ToolchainError`.

        `count` is called with each number of received bytes, negative if they must be received again.
        """

        def write() -> str:
            digest, received = hashlib.sha256(), 0
            try:
                with self._response(url) as response, target.open("wb") as file:
                    if response.headers.get("Content-Type", "").startswith("text/html"):
                        raise ToolchainError(f"{url} is a web page, not a file; the network may require a login", FIX)
                    for piece in response.iter_raw():
                        file.write(piece)
                        digest.update(piece)
                        received += len(piece)
                        count(len(piece))
            except BaseException:
                count(-received)
                raise
            return digest.hexdigest()

        return self._retry(write)

    def _retry(self, attempt: Callable[[], Result]) -> Result:
        for number in itertools.count(1):
            try:
                return attempt()
            except _TransientError as error:
                if number == self._limits.attempts:
                    raise ToolchainError(f"{error} (in {number} attempts)", FIX) from error
                time.sleep(self._limits.pause * number)
        raise AssertionError("unreachable: the last attempt returns or raises")

    @contextlib.contextmanager
    def _response(self, url: str, accept: str = "*/*") -> Iterator[httpx2.Response]:
        """Yield a successful response before its body. Only a host that has answered in this run is tried again."""
        host = httpx2.URL(url).host
        seconds = self._limits.stall if host in self._answering else self._limits.first_answer
        timeout = httpx2.Timeout(seconds, connect=self._limits.first_answer)
        try:
            with self._client.stream("GET", url, headers={"Accept": accept}, timeout=timeout) as response:
                self._answering.add(host)
                status = f"{url}: {response.status_code} {response.reason_phrase}"
                if response.status_code in _TRANSIENT:
                    raise _TransientError(status)
                if not response.is_success:
                    raise ToolchainError(status, FIX)
                yield response
        except httpx2.TransportError as error:
            message = f"{error.request.url.host}: {str(error) or type(error).__name__}"
            if host in self._answering:
                raise _TransientError(message) from error
            raise ToolchainError(message, FIX) from error
        except httpx2.HTTPError as error:
            raise ToolchainError(f"{url}: {error}", FIX) from error


def _refuse_redirect_without_tls(response: httpx2.Response) -> None:
    if response.has_redirect_location and response.url.scheme == "https":
        target = response.url.join(response.headers["Location"])
        if target.scheme != "https":
            raise ToolchainError(f"{response.url}: a redirect to a URL without TLS", FIX)
