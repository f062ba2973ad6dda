"""Impersonation in the kubeconfig: each request says whom it acts for, as those of kubectl and Pulumi do."""

from __future__ import annotations

import contextlib
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.test_client import use
from tests.support.websites import website
from trainform.cluster.api import ClusterApi
from trainform.errors import ClusterError

TOKEN = {"token": "t0ken"}
JANE = {
    "as": "jane@example.com",
    "as-uid": "4711",
    "as-groups": ["researchers", "system:authenticated"],
    "as-user-extra": {"example.com/team": ["vision", "speech"]},
}
SENT = [
    ("Impersonate-User", "jane@example.com"),
    ("Impersonate-Uid", "4711"),
    ("Impersonate-Group", "researchers"),
    ("Impersonate-Group", "system:authenticated"),
    ("Impersonate-Extra-example.com%2Fteam", "vision"),
    ("Impersonate-Extra-example.com%2Fteam", "speech"),
]


def ask() -> None:
    with contextlib.closing(ClusterApi(None, 60.0)) as api:
        api.get("/version")
        api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {})


@pytest.mark.parametrize(
    ("user", "sent"),
    [
        (JANE, SENT),
        ({"as": "jane@example.com"}, SENT[:1]),
        ({"as": "jane@example.com", "as-groups": None}, SENT[:1]),
        ({"as-groups": ["system:masters"]}, []),  # kubectl ignores groups without a user as well
        ({}, []),
    ],
)
def test_every_request_says_whom_it_acts_for(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    user: dict[str, Any],
    sent: list[tuple[str, str]],
) -> None:
    seen: list[Message] = []
    with website((200, "application/json", b'{"metadata": {}}'), seen=seen) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {**TOKEN, **user})
        ask()
    assert len(seen) == 2
    for request in seen:
        assert [row for row in request.items() if row[0].startswith("Impersonate-")] == sent
        assert request["Authorization"] == "Bearer t0ken"


@pytest.mark.parametrize(
    ("user", "reason"),
    [
        ({"as": 5}, "is not a kubeconfig that can be read"),
        ({"as": "jane", "as-groups": "researchers"}, "is not a kubeconfig that can be read"),
        ({"as": "jane\nx"}, "Illegal header value"),
    ],
)
def test_impersonation_that_cannot_be_sent_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: dict[str, Any], reason: str
) -> None:
    with website() as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {**TOKEN, **user})
        with pytest.raises(ClusterError, match=reason) as caught:
            ask()
    assert caught.value.fix
