"""Requests of a cluster's API by path: what is no Kubernetes API is an error, what the API server says is an answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.cluster.test_client import connected, use
from tests.support.websites import WEB_PAGE, Answer
from trainform.cluster.connection import choose_config
from trainform.errors import ClusterError

NO_API = "does not answer as a Kubernetes API"
STATUS = b'{"kind": "Status", "message": "nodes is forbidden", "code": 403}'


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (WEB_PAGE, NO_API),
        ((200, "application/json", b"[1, 2]"), NO_API),
        ((200, "application/json", b"\xff"), NO_API),
        ((200, "application/json", b""), NO_API),
        ((200, "application/json", b"[" * 100_000), NO_API),
        ((301, "text/html", b"<html>Moved</html>"), NO_API),
        ((502, "text/html", b"<html>Bad gateway</html>"), NO_API),
        ((401, "application/json", b'{"kind": "Status"}'), "refuses the credentials"),
        ((401, "text/html", b"<html>Log in</html>"), "refuses the credentials"),
    ],
)
def test_responses_that_are_not_of_a_kubernetes_api(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer, reason: str
) -> None:
    with connected(tmp_path, monkeypatch, answer) as asked:
        with pytest.raises(ClusterError, match=reason) as caught:
            asked.get("/version")
        with pytest.raises(ClusterError, match=reason):
            asked.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
    assert caught.value.fix


@pytest.mark.parametrize(
    ("answer", "states", "message"),
    [
        ((200, "application/json", b'{"gitVersion": "v1.34.4"}'), (True, False, False), "HTTP status 200"),
        ((201, "application/json", b"{}"), (True, False, False), "HTTP status 201"),
        ((403, "application/json", STATUS), (False, False, True), "nodes is forbidden"),
        ((404, "application/json", b"{}"), (False, True, False), "HTTP status 404"),
        # as an API server says it of a group that it does not serve
        ((404, "text/plain", b"404 page not found\n"), (False, True, False), "HTTP status 404"),
    ],
)
def test_status_codes_of_responses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: Answer, states: tuple[bool, ...], message: str
) -> None:
    with connected(tmp_path, monkeypatch, answer) as asked:
        got = asked.get("/api/v1/nodes")
    assert (got.found, got.missing, got.forbidden) == states
    assert got.message == message


def test_an_unknown_context_is_refused_with_the_known_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(tmp_path / "kubeconfig", monkeypatch, "https://127.0.0.1:1", {})
    assert choose_config(None).context_name == choose_config("dev-cluster").context_name == "dev-cluster"
    with pytest.raises(ClusterError, match="prod-cluster: the kubeconfig has no such context; it has dev-cluster"):
        choose_config("prod-cluster")


# --- lists


def test_all_pages_of_a_list_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(path: str) -> Answer:
        query = parse_qs(urlsplit(path).query)
        assert query["limit"] == ["250"]
        (number,) = query.get("continue", ["0"])
        body = {"items": [{"number": int(number), "more": "x"}], "metadata": {"continue": str(int(number) + 1)}}
        return 200, "application/json", json.dumps(body if number != "3" else {**body, "metadata": {}}).encode()

    with connected(tmp_path, monkeypatch, answer) as asked:
        assert asked.find_all("/api/v1/nodes", "list nodes", keep=lambda item: item["number"]) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "body",
    [
        {"metadata": {}},
        {"items": {"a": 1}, "metadata": {}},
        {"items": []},
        {"items": [], "metadata": None},
        {"items": [], "metadata": {"continue": 5}},
    ],
)
def test_invalid_lists_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: dict[str, Any]) -> None:
    answer = 200, "application/json", json.dumps(body).encode()
    refused = pytest.raises(ClusterError, match=f"{NO_API} .its answer to /api/v1/nodes is not a list")
    with connected(tmp_path, monkeypatch, answer) as asked, refused:
        asked.find_all("/api/v1/nodes", "list nodes")
