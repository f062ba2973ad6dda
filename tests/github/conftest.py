"""A server that behaves as GitHub's documentation says, for one test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.github_api import GithubApi


@pytest.fixture
def api() -> Iterator[GithubApi]:
    with GithubApi() as server:
        yield server
