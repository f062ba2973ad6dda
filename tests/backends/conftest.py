"""Every backend of the table, and one that trainform does not have."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from tests.support import app_wrapper
from trainform.backends.backend import BACKENDS


@pytest.fixture(scope="module", params=[*BACKENDS, app_wrapper.NAME])
def backend(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of each, known in files."""
    name: str = request.param
    with nullcontext() if name in BACKENDS else app_wrapper.registered():
        yield name
