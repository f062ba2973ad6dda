"""What Pulumi.yaml says of the program: which Python runs it, and where stacks keep their state."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

UV = "uv"  # as `toolchain` in Pulumi.yaml
NOTHING: Mapping[str, Any] = {}


def interpreter(root: Path) -> Path:
    """The Python that runs the project's program, as Pulumi chooses it; outside a project the one that runs this."""
    environment = virtualenv(root)
    if environment is not None:
        return environment / "bin" / "python"
    if not (root / "Pulumi.yaml").is_file():
        return Path(sys.executable)
    chosen = os.environ.get("PULUMI_PYTHON_CMD")
    found = (shutil.which(name) for name in ([chosen] if chosen else ["python3", "python"]))
    return Path(next((path for path in found if path is not None), "python3"))


def virtualenv(root: Path) -> Path | None:
    """The one that is named there, or uv's."""
    options = _within(_definition(root), "runtime", "options")
    name = options.get("virtualenv", ".venv" if options.get("toolchain") == UV else None)
    return None if name is None else root / str(name)


def uses_uv(root: Path) -> bool:
    """True where uv brings the packages."""
    return _within(_definition(root), "runtime", "options").get("toolchain") == UV


def backend_url(root: Path) -> str | None:
    """Where the state is, as far as the project says it."""
    url = _within(_definition(root), "backend").get("url")
    return None if url is None else str(url)


def _definition(root: Path) -> Mapping[str, Any]:
    try:
        content = yaml.safe_load((root / "Pulumi.yaml").read_bytes())
    except (OSError, ValueError, yaml.YAMLError):
        return NOTHING
    return content if isinstance(content, dict) else NOTHING


def _within(content: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """The mapping below the keys; an empty one where there is none."""
    for key in keys:
        below = content.get(key)
        content = below if isinstance(below, dict) else NOTHING
    return content
