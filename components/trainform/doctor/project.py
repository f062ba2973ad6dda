"""Settings in Pulumi.yaml: which Python runs the program, and which backend stores the state of stacks."""

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
    """Return the Python with which Pulumi runs the project's program; outside of a project, that of this process."""
    environment = virtualenv(root)
    if environment is not None:
        return environment / "bin" / "python"
    if not (root / "Pulumi.yaml").is_file():
        return Path(sys.executable)
    chosen = os.environ.get("PULUMI_PYTHON_CMD")
    found = (shutil.which(name) for name in ([chosen] if chosen else ["python3", "python"]))
    return Path(next((path for path in found if path is not None), "python3"))


def virtualenv(root: Path) -> Path | None:
    """Return the virtual environment that Pulumi.yaml names, or that of uv, None if there is none."""
    options = _mapping_at(_definition(root), "runtime", "options")
    name = options.get("virtualenv", ".venv" if options.get("toolchain") == UV else None)
    return None if name is None else root / str(name)


def uses_uv(root: Path) -> bool:
    """True if uv installs the packages."""
    return _mapping_at(_definition(root), "runtime", "options").get("toolchain") == UV


def backend_url(root: Path) -> str | None:
    """Return the backend URL in Pulumi.yaml, None if there is none."""
    url = _mapping_at(_definition(root), "backend").get("url")
    return None if url is None else str(url)


def _definition(root: Path) -> Mapping[str, Any]:
    try:
        content = yaml.safe_load((root / "Pulumi.yaml").read_bytes())
    except (OSError, ValueError, yaml.YAMLError):
        return NOTHING
    return content if isinstance(content, dict) else NOTHING


def _mapping_at(content: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Return the mapping at these keys, an empty one if there is none."""
    for key in keys:
        value = content.get(key)
        content = value if isinstance(value, dict) else NOTHING
    return content
