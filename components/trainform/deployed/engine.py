"""Commands of Pulumi that only read, without secrets in their output."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trainform.errors import MASK, ToolchainError, TrainformError, without_credentials

NO_STACK = 6  # the exit code of the engine where the backend has no such stack
WHICH = "`trainform doctor` shows which pulumi is on PATH"
FIX = "`pulumi stack ls` lists the stacks of the backend that you are logged in to"
# What helps where the engine says one of these.
_UNLOCK = "set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE to the passphrase of the stack"
_FIXES = {
    "incorrect passphrase": _UNLOCK,
    "passphrase must be set": _UNLOCK,
    "no stack named": (
        "`pulumi stack select --create STACK` makes the stack; `pulumi stack ls` lists those of the backend that you "
        "are logged in to"
    ),
}

# Options of the engine, each a variable too: by some it shows secrets, by others it writes files, changes its output,
# or reads other files than trainform.
_OPTIONS = (
    *("debug", "logtostderr", "logflow", "verbose", "show-secrets", "tracing", "otel-traces", "event-log"),
    *("save-plan", "import-file"),
    *("output", "json", "stack", "diff"),
    *("cwd", "config-file", "config"),
)
_NOT_PASSED = ("PULUMI_DEBUG_", *(f"PULUMI_OPTION_{option.replace('-', '_').upper()}" for option in _OPTIONS))
_SHORTEST_SECRET = 8
_FOLDER = "PWD"  # the shell's folder, whose name looks like that of a password


def pulumi() -> str:
    """Return the path of Pulumi. ToolchainError if there is none."""
    found = shutil.which("pulumi")
    if found is None:
        raise ToolchainError("pulumi is not on PATH", "`trainform doctor` shows how to install it")
    return found


def engine_environ() -> dict[str, str]:
    """Return the engine's variables, without those of `_OPTIONS`."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_NOT_PASSED)}
    return kept | {"PULUMI_SKIP_UPDATE_CHECK": "true"}


def mask_variables(text: str, environ: Mapping[str, str], mask: str) -> str:
    """Mask the secrets of the variables in the text."""
    from trainform.console.secrets import is_secret

    named = [(name, value) for name, value in environ.items() if name != _FOLDER and len(value) >= _SHORTEST_SECRET]
    secrets = [value for name, value in named if is_secret(name, value)]
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, mask)
    return text


def printed(root: Path, *words: str, text: str = "", nothing: int | None = None) -> str:
    """Return the standard output of a command. text: its standard input. nothing: the exit code for nothing to print.
    TrainformError with its errors if it fails."""
    whole, environ = [pulumi(), *words, "--non-interactive", "--color", "never"], engine_environ()
    ran = subprocess.run(whole, cwd=root, env=environ, capture_output=True, text=True, check=False, input=text)
    if ran.returncode == nothing:
        return ""
    if ran.returncode != 0:
        from trainform.console.secrets import masked_line

        lines = mask_variables(ran.stderr, environ, MASK).splitlines()
        errors = [masked_line(without_credentials(line)) for line in lines if line.strip()]
        fix = next((fix for text, fix in _FIXES.items() if any(text in line for line in lines)), FIX)
        raise TrainformError(f"`pulumi {' '.join(words[:2])}` ended with exit code {ran.returncode}", fix, errors)
    return ran.stdout


def exported(stack: str, root: Path, number: int | None = None, nothing: int | None = None) -> Mapping[str, Any]:
    """Return the state of the stack; secrets stay encrypted. number: of the update after which it was so; None: now.
    nothing: `NO_STACK` to return an empty one if the backend has no such stack."""
    earlier = () if number is None else ("--version", str(number))
    text = printed(root, "stack", "export", "-s", stack, "--show-secrets=false", *earlier, nothing=nothing)
    found = as_json(text, "stack export") if text else {}
    if not isinstance(found, dict):
        raise TrainformError("what `pulumi stack export` prints is not the state of a stack", WHICH)
    return found


def backend_url(root: Path) -> str:
    """Return the address of the backend that keeps the states of stacks."""
    from trainform.manifests.manifest import mapping

    return str(mapping(as_json(printed(root, "whoami", "--verbose", "--json"), "whoami")).get("url", ""))


def as_json(text: str, verb: str) -> Any:
    """Return the output of a command as data. TrainformError if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise TrainformError(f"what `pulumi {verb}` prints is not JSON", WHICH) from None
