"""How `make venv` fills the environment."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import pytest

from tools import venv
from trainform.local.toolchain.system import parse_version

LOCK = """\
tornado==6.5.2 \\
    --hash=sha256:06ceb1300fd70cb20e43b1ad8aaee0266e69e7ced38fa910ad2e03285009ce7c
uv==0.13.8 \\
    --hash=sha256:0b3e8b1a4f5e405e31e2ff33de8af4744831e9f7338539671efbd8c3c94e791d \\
    --hash=sha256:0ec33661a14e38dea8dfb18167d2a4a5c7fe3d476c62dd8eb6acf5f378727201
uvloop==0.21.0 \\
    --hash=sha256:10d66943def5fcb6e7b37310eb6b5639fd2ccbc38df1177262b0640c3ca68c1f
"""


def test_the_lines_of_one_package() -> None:
    assert venv.locked(LOCK, "uv") == "".join(LOCK.splitlines(keepends=True)[2:5]).rstrip()
    assert venv.locked(LOCK, "uvloop") == "".join(LOCK.splitlines(keepends=True)[5:])
    assert venv.locked((venv.ROOT / "requirements.txt").read_text(), "uv").startswith("uv==")


def test_pip_is_locked() -> None:
    """Pulumi runs `pip list` at each preview; the pip that comes with Python 3.11 takes twice as long for it."""
    version = importlib.metadata.version("pip")
    assert venv.locked((venv.ROOT / "requirements.txt").read_text(), "pip").startswith(f"pip=={version} ")
    found = parse_version(version)
    assert found is not None
    assert found >= (24, 1)


def test_uv_uses_the_registries_of_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `pip config list` says it; what the user says to uv itself goes before."""
    for name in venv.UV_VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    listed = (
        ":env:.disable-pip-version-check='1'\n"
        "global.cert='/etc/ssl/certs/ca-certificates.crt'\n"
        "global.extra-index-url='https://a.example.com/simple\\nhttps://b.example.com/simple'\n"
        "global.index-url='https://pypi.example.com/simple?a=b'\n"
    )
    assert venv.uv_variables(listed) == {
        "SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt",
        "UV_INDEX": "https://a.example.com/simple https://b.example.com/simple",
        "UV_DEFAULT_INDEX": "https://pypi.example.com/simple?a=b",
    }
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://mine.example.com/simple")
    assert "UV_DEFAULT_INDEX" not in venv.uv_variables(listed)


def test_a_failed_installer_is_an_error(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as told:
        venv.run("[1/3] .venv, uv", ["sh", "-c", "echo no route to host; exit 1"], {"PATH": "/usr/bin:/bin"})
    assert "no route to host" in str(told.value)
    assert "is a package registry reachable?" in str(told.value)
    assert "[1/3] .venv, uv …" in capfd.readouterr().err


@pytest.fixture
def marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a complete environment, which the lock of before was for."""
    folder = tmp_path / ".venv"
    folder.mkdir()
    (folder / ".made-from").write_text("another lock")
    monkeypatch.setattr(venv, "VENV", folder)
    monkeypatch.setattr(venv, "MARK", folder / ".made-from")
    return folder


def test_a_renewal_that_fails_is_not_finished(marked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python fails after it has written into the environment: going back to the Python and the lock of before renews it
    too."""
    (marked / ".made-from").write_text(venv.inputs_hash())
    broken = marked.parent / "python3"
    broken.write_text("#!/bin/sh\necho 'No module named pip' >&2\nexit 1\n")
    broken.chmod(0o755)
    with monkeypatch.context() as another:
        another.setattr(sys, "version", "3.12.0 (broken)")
        another.setattr(sys, "executable", str(broken))
        with pytest.raises(SystemExit) as told:
            venv.main()
    assert str(told.value) == "No module named pip\n\n.venv failed: try another Python: make PYTHON=python3.12 …"
    made: list[Path] = []
    monkeypatch.setattr(venv, "make", made.append)
    venv.main()
    assert made == [venv.ROOT / "requirements.txt"]
    venv.main()
    assert len(made) == 1, "it is complete now"


def test_an_environment_of_another_python_is_made_anew(marked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python leaves links that are there as they are."""
    (marked / "bin").mkdir()
    (marked / "bin" / "python").symlink_to("/bin/false")
    monkeypatch.setattr(venv, "run", lambda *_: None)
    venv.make(venv.ROOT / "requirements.txt")
    assert (marked / "bin" / "python").resolve() == Path(sys.executable).resolve()
