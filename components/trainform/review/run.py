"""Runs `pulumi preview` for its event stream. The stream carries secrets in clear: it stays in memory, and nothing of it is written anywhere."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from trainform.errors import CommandLineError, ToolchainError
from trainform.review.preview import MASKED
from trainform.secret_text.search import looks_secret
from trainform.signals import exit_on_termination, signals_delayed

STREAMING = "PULUMI_ENABLE_STREAMING_JSON_PREVIEW"
GRACE_SECONDS = 10.0

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
_SHORT = {"d": "debug", "v": "verbose", "j": "json", "s": "stack"}
_SWITCHES = "djrefQ"  # short options without a value: others may follow in the same word
_DEBUGGING = ("PULUMI_DEBUG_", *(f"PULUMI_OPTION_{name.replace('-', '_').upper()}" for name in REFUSED))
_SHORTEST_SECRET = 8


@dataclasses.dataclass(frozen=True)
class EngineRun:
    """A run of the engine. text: its standard output, with secrets, for `read_preview` alone. errors: its standard error without them."""

    text: str = dataclasses.field(repr=False)
    code: int
    errors: str


def run_preview(stack: str, folder: Path, arguments: Sequence[str] = ()) -> EngineRun:
    """Run `pulumi preview` of a stack in the project's folder to its end. arguments: further options of it.

    CommandLineError if one of these would show secrets; ToolchainError if there is no pulumi.
    """
    for argument in arguments:
        _check(argument)
    command = shutil.which("pulumi")
    if command is None:
        raise ToolchainError(
            "pulumi is not on PATH",
            "`trainform doctor` shows how to install it, and the variables that its shell needs",
        )
    words = [command, "preview", "--json", "--non-interactive", "--color", "never", "-s", stack, *arguments]
    environ = {key: value for key, value in os.environ.items() if not key.startswith(_DEBUGGING)}
    environ |= {STREAMING: "true", "PULUMI_SKIP_UPDATE_CHECK": "true"}
    with exit_on_termination():
        out, err, code = _run(words, folder, environ)
    return EngineRun(out.decode(errors="replace"), code, _without_secrets(err.decode(errors="replace"), environ))


def _check(argument: str) -> None:
    name = _refused(argument)
    if name is not None:
        raise CommandLineError(
            f"`{argument.partition('=')[0]}` cannot be given to the preview of a review: {REFUSED[name]}",
            "leave it out",
        )


def _refused(argument: str) -> str | None:
    """The refused option that the word has."""
    if argument.startswith("--"):
        name = argument[2:].partition("=")[0]
        return name if name in REFUSED else None
    for letter in argument[1:] if argument.startswith("-") else "":
        if letter in _SHORT:
            return _SHORT[letter]
        if letter not in _SWITCHES:
            return None
    return None


def _run(words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> tuple[bytes, bytes, int]:
    process: subprocess.Popen[bytes] | None = None
    try:
        with signals_delayed():
            # Its own session: Ctrl-C is sent to trainform alone, which passes it on once. The engine takes a second one as an order to stop at once.
            process = subprocess.Popen(
                words,
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        out, err = process.communicate()
    except BaseException:
        if process is not None:
            _end(process)
        raise
    return out, err, process.returncode


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask the engine to stop, as Ctrl-C in a terminal does; then stop what is left of it."""
    for number in (signal.SIGINT, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(
            subprocess.TimeoutExpired, KeyboardInterrupt
        ):  # who presses Ctrl-C again does not want to wait
            process.communicate(timeout=GRACE_SECONDS)


def _without_secrets(text: str, environ: Mapping[str, str]) -> str:
    """The text without what looks like a secret, and without the secrets among the variables."""
    from trainform.review.masking import Masks  # with it come the models, for which the engine's start would wait

    secrets = [value for name, value in environ.items() if len(value) >= _SHORTEST_SECRET and looks_secret(name, value)]
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MASKED)
    return Masks().text(text)
