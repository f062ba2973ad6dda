"""Requests to servers that work, fail in different ways, or do not exist."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.local.toolchain.internet import Answer, Internet, Request, Site, redirect, sha256
from trainform.errors import ToolchainError
from trainform.local.toolchain.web import Limits, Web

# Long enough for a busy machine. Where a test waits for a stall, it is as long as that.
QUICK = Limits(first_answer=60.0, stall=60.0, pause=0.0)
URL = "https://releases.example.com/program"
BODY = bytes(range(256)) * 3000


def _save(target: Path, url: str = URL, web: Web | None = None) -> tuple[bytes, int]:
    """Return the saved bytes and the counted number."""
    counted: list[int] = []
    web = Web(QUICK) if web is None else web
    digest = web.save(url, target, counted.append)
    assert digest == sha256(target.read_bytes())
    return target.read_bytes(), sum(counted)


def _in_turn(*answers: Answer) -> Callable[[Request], Answer]:
    """Answer with one after the other, and then always with the last one."""
    rest = list(answers)
    return lambda request: rest.pop(0) if len(rest) > 1 else rest[0]


def test_a_file_is_saved_and_its_bytes_are_counted(internet: Internet, tmp_path: Path) -> None:
    internet.sites[URL] = Answer(BODY)
    assert _save(tmp_path / "file") == (BODY, len(BODY))
    assert [request.url for request in internet.requests] == [URL]
    assert Web(QUICK).text(URL) == BODY


def test_a_file_of_unknown_length_is_saved(internet: Internet, tmp_path: Path) -> None:
    internet.sites[URL] = Answer(BODY, headers={"Content-Length": ""})
    assert _save(tmp_path / "file")[0] == BODY


@pytest.mark.parametrize(
    "first",
    [Answer(status=500), Answer(status=503), Answer(BODY, cut=1000), Answer(BODY, cut=0)],
    ids=["500", "503", "cut in the middle", "cut at once"],
)
def test_a_temporary_error_is_retried_and_bytes_are_counted_once(
    internet: Internet, tmp_path: Path, first: Answer
) -> None:
    internet.sites[URL] = _in_turn(first, first, Answer(BODY))
    assert _save(tmp_path / "file") == (BODY, len(BODY))
    assert len(internet.asked(URL)) == 3


@pytest.mark.parametrize(
    ("site", "reason"),
    [
        (Answer(status=500), "500 Internal Server Error .in 3 attempts"),
        (Answer(BODY, cut=1000), "received 1000 bytes, expected 768000. .in 3 attempts"),
    ],
    ids=["500", "cut"],
)
def test_a_lasting_error_is_raised_after_three_attempts(
    internet: Internet, tmp_path: Path, site: Site, reason: str
) -> None:
    internet.sites[URL] = site
    with pytest.raises(ToolchainError, match=reason):
        _save(tmp_path / "file")
    assert len(internet.asked(URL)) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 429])
def test_a_client_error_is_not_retried(internet: Internet, tmp_path: Path, status: int) -> None:
    internet.sites[URL] = Answer(status=status)
    with pytest.raises(ToolchainError, match=f"{URL}: {status} "):
        _save(tmp_path / "file")
    assert len(internet.requests) == 1


def test_a_web_page_instead_of_a_file_is_refused_unread(internet: Internet, tmp_path: Path) -> None:
    internet.sites[URL] = Answer(b"<html>Please log in</html>", headers={"Content-Type": "text/html; charset=utf-8"})
    with pytest.raises(ToolchainError, match="is a web page, not a file; the network may require a login"):
        _save(tmp_path / "file")
    assert len(internet.requests) == 1


def test_an_unreachable_host_is_tried_once(internet: Internet, tmp_path: Path) -> None:
    internet.sites["https://other.example.com/program"] = Answer(BODY)
    web = Web(QUICK)
    with pytest.raises(ToolchainError, match=r"^releases\.example\.com: 502 Bad Gateway\n"):
        _save(tmp_path / "file", web=web)
    assert internet.requests == []
    assert _save(tmp_path / "file", "https://other.example.com/program", web)[0] == BODY


def test_a_redirect_is_followed_to_another_host(internet: Internet, tmp_path: Path) -> None:
    internet.sites[URL] = redirect("https://storage.example.net/1234?signature=x")
    internet.sites["https://storage.example.net/1234?signature=x"] = Answer(BODY)
    assert _save(tmp_path / "file")[0] == BODY


def test_a_redirect_away_from_tls_is_refused(internet: Internet, tmp_path: Path) -> None:
    internet.sites[URL] = redirect("http://login.example.com/")
    with pytest.raises(ToolchainError, match="a redirect to a URL without TLS"):
        _save(tmp_path / "file")


def test_an_untrusted_certificate_is_refused(
    internet: Internet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    internet.sites[URL] = Answer(BODY)
    monkeypatch.delenv("SSL_CERT_FILE")
    with pytest.raises(ToolchainError, match="certificate verify failed"):
        _save(tmp_path / "file")
    assert internet.requests == []


CHALLENGE = 'Bearer realm="https://auth.example.com/token",service="registry",scope="repository:a/b:pull"'
AUTHORITY = "https://auth.example.com/token?service=registry&scope=repository%3Aa%2Fb%3Apull"


def _guarded(tokens: set[str], answer: Answer) -> Callable[[Request], Answer]:
    def ask(request: Request) -> Answer:
        if request.headers.get("Authorization", "").removeprefix("Bearer ") in tokens:
            return answer
        return Answer(status=401, headers={"WWW-Authenticate": CHALLENGE})

    return ask


def test_a_token_is_requested(internet: Internet) -> None:
    internet.sites[URL] = _guarded({"first"}, Answer(b"manifest"))
    for given in (b'{"token": "first"}', b'{"access_token": "first"}'):
        internet.sites[AUTHORITY] = Answer(given)
        assert Web(QUICK).text(URL) == b"manifest"


@pytest.mark.parametrize("given", [b"", b"[]", b"{}", b'{"token": "\xc3\xa4\n"}'])
def test_an_answer_without_a_token_is_refused(internet: Internet, given: bytes) -> None:
    internet.sites[URL] = _guarded({"first"}, Answer(b"manifest"))
    internet.sites[AUTHORITY] = Answer(given)
    with pytest.raises(ToolchainError, match="returned no token"):
        Web(QUICK).text(URL)


def test_a_token_is_not_sent_to_another_host(internet: Internet) -> None:
    internet.sites[URL] = _guarded({"first"}, redirect("https://storage.example.net/blob"))
    internet.sites[AUTHORITY] = Answer(b'{"token": "first"}')
    internet.sites["https://storage.example.net/blob"] = Answer(BODY)
    assert Web(QUICK).text(URL) == BODY
    [request] = internet.asked("https://storage.example.net/blob")
    assert "Authorization" not in request.headers
    assert all("Authorization" not in request.headers for request in internet.asked(AUTHORITY))
