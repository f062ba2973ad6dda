"""Errors of the file system become errors with path, reason and fix."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from trainform.errors import ToolchainError
from trainform.local.toolchain.cache import translate_os_errors
from trainform.local.toolchain.ensure import ensure, ensure_pulumi


@pytest.mark.parametrize("act", [ensure, ensure_pulumi])
def test_a_file_in_the_place_of_the_cache_is_an_error(
    cache: Path, monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]
) -> None:
    monkeypatch.setenv("TRAINFORM_TOOLCHAIN", "build")
    cache.touch()
    with pytest.raises(ToolchainError) as caught:
        act()
    assert str(cache) in caught.value.message
    assert "TRAINFORM_CACHE" in caught.value.fix


@pytest.mark.parametrize(
    ("error", "message", "fix"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "/srv/cache"), "/srv/cache: Permission denied", "move it"),
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device", "free some disk"),
        (OSError("cannot read from timed out object"), "cannot read from timed out object", "move it"),
    ],
)
def test_an_os_error_becomes_an_error_with_path_reason_and_fix(error: OSError, message: str, fix: str) -> None:
    with pytest.raises(ToolchainError) as caught, translate_os_errors(ToolchainError, "move it"):
        raise error
    assert caught.value.message == message
    assert caught.value.fix.startswith(fix)
