"""What the file system refuses is told like any other error."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from trainform.errors import ToolchainError
from trainform.toolchain import ensure, ensure_control_plane, ensure_pulumi
from trainform.toolchain.oserrors import translated


@pytest.mark.parametrize("act", [ensure, ensure_control_plane, ensure_pulumi])
def test_a_file_where_the_cache_should_be(
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
def test_the_path_the_reason_and_what_to_do(error: OSError, message: str, fix: str) -> None:
    with pytest.raises(ToolchainError) as caught, translated(ToolchainError, "move it"):
        raise error
    assert caught.value.message == message
    assert caught.value.fix.startswith(fix)


def test_a_reader_that_went_away_is_not_the_file_systems() -> None:
    with pytest.raises(BrokenPipeError), translated(ToolchainError, "move it"):
        raise BrokenPipeError
