"""What Pulumi's backend has of a stack, by the commands of the engine: its state, and the history of its updates. Nothing is changed, and no secret is asked for."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from trainform.errors import MASK, ToolchainError, TrainformError, without_credentials
from trainform.manifests.shapes import mapping, mappings
from trainform.secret_text.search import looks_secret, masked_line

FIX = "`pulumi stack ls` lists the stacks of the backend that you are logged in to"
MOST_UPDATES = 100
NO_STACK = 6  # the exit code of the engine where the backend has no such stack
RELEASE = "trainform:release"
BOOLEANS = {"true": True, "false": False}

# Options of the engine that show secrets, write what it knows to files, or change the form of its output. Each is a variable too.
REFUSED = {
    "debug": "it prints secrets",
    "logtostderr": "it prints secrets",
    "logflow": "it prints secrets",
    "verbose": "it prints secrets",
    "show-secrets": "it prints secrets",
    "tracing": "it sends secrets elsewhere",
    "otel-traces": "it sends secrets elsewhere",
    "event-log": "it writes secrets to a file",
    "save-plan": "it writes a file beside the review",
    "output": "the review needs the engine's events",
    "json": "the review sets it itself",
    "stack": "the review sets it itself",
    "diff": "it is another form of output",
}
_DEBUGGING = ("PULUMI_DEBUG_", *(f"PULUMI_OPTION_{name.replace('-', '_').upper()}" for name in REFUSED))
_SHORTEST_SECRET = 8
_FOLDER = "PWD"  # the shell's folder, whose name looks like that of a password


@dataclasses.dataclass(frozen=True)
class Update:
    """One update of a stack. kind: `update` is a `pulumi up`. result: `succeeded`, `failed` or `in-progress`. started, ended: in UTC (RFC 3339); "" if
    it has not ended. number: that a service gives it; 0 in a folder or a bucket. commit, dirty: of git, where it ran; "" and None if it is not
    known. release: that the stack's config named."""

    kind: str
    result: str
    started: str
    ended: str
    number: int
    commit: str
    dirty: bool | None
    release: str

    @property
    def deployed(self) -> bool:
        """Whether it is a `pulumi up` that succeeded."""
        return (self.kind, self.result) == ("update", "succeeded")


def pulumi() -> str:
    """The path of the engine's program. ToolchainError if there is none."""
    found = shutil.which("pulumi")
    if found is None:
        raise ToolchainError("pulumi is not on PATH", "`trainform doctor` shows how to install it")
    return found


def environ_of_engine(hidden: Collection[str] = ()) -> dict[str, str]:
    """The variables that the engine gets: without those that show secrets, and without the hidden ones."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_DEBUGGING) and key not in hidden}
    return kept | {"PULUMI_SKIP_UPDATE_CHECK": "true"}


def without_variables(text: str, environ: Mapping[str, str], mask: str) -> str:
    """The text with the mask in the place of each secret among the variables."""
    named = [(name, value) for name, value in environ.items() if name != _FOLDER and len(value) >= _SHORTEST_SECRET]
    secrets = [value for name, value in named if looks_secret(name, value)]
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, mask)
    return text


def printed(root: Path, *words: str, text: str | None = None) -> str:
    """What a command of the engine prints on standard output. text: for its standard input. TrainformError with what it says if it fails."""
    ran = _run(root, words, text)
    if ran.returncode != 0:
        raise _failed(ran, words)
    return ran.stdout


def _run(root: Path, words: Sequence[str], text: str | None = None) -> subprocess.CompletedProcess[str]:
    given: dict[str, Any] = {"stdin": subprocess.DEVNULL} if text is None else {"input": text}
    whole = [pulumi(), *words, "--non-interactive", "--color", "never"]
    return subprocess.run(
        whole, cwd=root, env=environ_of_engine(), capture_output=True, text=True, check=False, **given
    )


def _failed(ran: subprocess.CompletedProcess[str], words: Sequence[str]) -> TrainformError:
    lines = without_variables(ran.stderr, environ_of_engine(), MASK).splitlines()
    errors = [masked_line(without_credentials(line), MASK) for line in lines if line.strip()]
    return TrainformError(f"`pulumi {' '.join(words[:2])}` ended with exit code {ran.returncode}", FIX, errors)


def exported(stack: str, root: Path, number: int | None = None) -> Mapping[str, Any]:
    """What the backend has of the stack; secrets stay encrypted. number: of the update after which it had it; None: now."""
    earlier = () if number is None else ("--version", str(number))
    return cast(
        Mapping[str, Any],
        _json(printed(root, "stack", "export", "-s", stack, "--show-secrets=false", *earlier), "stack export"),
    )


def updates(stack: str, root: Path) -> list[Update]:
    """The last updates of the stack, the newest first; none if it was never updated, or if the backend has no such stack."""
    words = ("stack", "history", "-s", stack, "--json", "--show-secrets=false", "--page-size", str(MOST_UPDATES))
    ran = _run(root, words)
    if ran.returncode == NO_STACK:
        return []
    if ran.returncode != 0:
        raise _failed(ran, words)
    return updates_in(_json(ran.stdout, "stack history") if ran.stdout.strip() else [])


def updates_in(listed: Any) -> list[Update]:
    """The updates in what `pulumi stack history --json` prints."""
    return [*map(_update, mappings(listed))]


def last_deployed(found: Iterable[Update]) -> Update | None:
    """The last `pulumi up` that succeeded; None if there is none, or if a `pulumi destroy` came after it."""
    for update in found:
        if update.deployed:
            return update
        if (update.kind, update.result) == ("destroy", "succeeded"):
            return None
    return None


def _update(entry: Mapping[str, Any]) -> Update:
    environment, config = mapping(entry.get("environment")), mapping(entry.get("config"))
    number = entry.get("version")
    return Update(
        kind=str(entry.get("kind", "")),
        result=str(entry.get("result", "")),
        started=_second(entry.get("startTime")),
        ended=_second(entry.get("endTime")),
        number=number if isinstance(number, int) else 0,
        commit=str(environment.get("git.head", "")),
        dirty=BOOLEANS.get(str(environment.get("git.dirty", ""))),
        release=str(mapping(config.get(RELEASE)).get("value", "")),
    )


def _second(time: object) -> str:
    """The time without fractions of a second, of which the engine writes none but zeros."""
    return re.sub(r"\.[0-9]+Z$", "Z", time) if isinstance(time, str) else ""


def _json(text: str, verb: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise TrainformError(
            f"what `pulumi {verb}` prints is not JSON", "`trainform doctor` shows which pulumi is on PATH"
        ) from None
