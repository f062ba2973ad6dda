"""Clients of the sandbox with two real nodes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.sandbox.conftest import api_of
from trainform.local.sandbox.api import Api
from trainform.local.sandbox.control import Sandbox


@pytest.fixture(scope="module")
def folder(real_sandbox: Sandbox) -> Path:
    """Return its folder."""
    return real_sandbox.folder


@pytest.fixture(scope="module")
def api(folder: Path) -> Iterator[Api]:
    """Return a client of its API server."""
    with api_of(folder) as api:
        yield api
