"""What the documentation takes from the code is as the code has it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.docs import generated
from tools.docs.generated import DOCS, GENERATED


@pytest.mark.parametrize("name", GENERATED)
def test_a_committed_file_is_current(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == GENERATED[name](), "run `make golden`"


def test_all_are_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "DOCS", tmp_path)
    for name in GENERATED:
        (tmp_path / name).parent.mkdir(exist_ok=True)
    generated.write()
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")} == set(GENERATED)
