"""Run `pulumi preview` for its event stream, which has secrets in clear and stays in memory.

The preview of a stack that the backend does not have runs in a temporary copy of the project, since `pulumi stack init`
in the project would write a salt into the stack's file. The copy has Pulumi.yaml and `stacks/`, and a folder for the
state with its own passphrase. Everything else is linked.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from pathlib import Path
from subprocess import DEVNULL, PIPE

from trainform.console.lines import MASK, strip_sequences
from trainform.console.signals import exit_on_termination, signals_delayed
from trainform.deployed.engine import engine_environ, mask_variables, pulumi
from trainform.errors import TrainformError
from trainform.project import PROJECT_FILE, stack_path

STREAMING = "PULUMI_ENABLE_STREAMING_JSON_PREVIEW"
GRACE_SECONDS = 10.0
STEP_SECONDS = 0.2
MOST_AT_ONCE = 4


@dataclasses.dataclass(frozen=True)
class EngineRun:
    """A run of the engine."""

    text: str = dataclasses.field(repr=False)
    """Its standard output, with secrets, for `read_preview` alone."""
    code: int
    errors: str
    """Its standard error without secrets."""
    note: str = ""
    """Information about the run for the report; "" for none."""


@contextlib.contextmanager
def previews_in(
    folder: Path,
    arguments: Sequence[str] = (),
    watch: Callable[[Sequence[str]], None] = lambda running: None,
) -> Iterator[Callable[[str], Future[EngineRun]]]:
    """Return what begins `pulumi preview` of a stack in the project's folder, in its own process. Whatever ends the
    block early (Ctrl-C, an error) ends all previews. arguments: further options of the engine, for tests. watch: is
    called with the stacks whose preview runs, whenever one begins or ends. ToolchainError if there is no pulumi."""
    words = [pulumi(), "preview", "--json", "--non-interactive", "--color", "never", *arguments]
    engines = _Engines(words, folder, {**engine_environ(), STREAMING: "true"}, watch)
    processors = os.cpu_count()
    at_once = 1 if processors is None else min(MOST_AT_ONCE, processors)
    with exit_on_termination(), ThreadPoolExecutor(at_once) as pool:
        try:
            yield lambda stack: pool.submit(engines.run, stack)
        except BaseException:
            engines.end()
            raise


def finished(run: Future[EngineRun]) -> EngineRun:
    """Return the run, when it has ended. A signal that comes when Python begins to wait would end no single wait."""
    while not run.done():
        wait([run], timeout=STEP_SECONDS)
    return run.result()


class _Engines:
    """Engines that run in threads, one for a stack. The thread that has started them ends them."""

    def __init__(
        self, words: Sequence[str], folder: Path, environ: Mapping[str, str], watch: Callable[[Sequence[str]], None]
    ) -> None:
        self._words, self._folder, self._environ, self._watch = words, folder, environ, watch
        self._lock = threading.Lock()
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._ended = False

    def run(self, stack: str) -> EngineRun:
        """Run the preview of a stack to its end; of a stack that the backend does not have, in a copy."""
        found = self._run(stack, [*self._words, "-s", stack], self._folder, self._environ)
        if found.code == 0 or NO_STACK not in found.errors:
            return found
        short = stack.rpartition("/")[2]
        try:
            if has_encrypted_values(short, self._folder):
                return dataclasses.replace(found, errors=ENCRYPTED.format(stack=short))
            with temporary_copy(short, self._folder, self._environ) as (folder, environ):
                made = self._run(stack, [pulumi(), "stack", "init", short, "--no-select"], folder, environ)
                if made.code:
                    return found
                again = self._run(stack, [*self._words, "-s", short], folder, environ)
        except (OSError, TrainformError):  # what is wrong with the files is reported by their own check
            return found
        text, errors = (each.replace(str(folder), str(self._folder)) for each in (again.text, again.errors))
        return EngineRun(text, again.code, errors, NOTE.format(stack=short))

    def _run(self, stack: str, words: Sequence[str], folder: Path, environ: Mapping[str, str]) -> EngineRun:
        process = self._start(stack, words, folder, environ)
        try:
            out, err = process.communicate()
        finally:
            with self._lock:
                del self._running[stack]
                self._watch([*self._running])
        from trainform.console.secrets import masked_lines

        errors = masked_lines(strip_sequences(mask_variables(err.decode(errors="replace"), environ, MASK)))
        return EngineRun(out.decode(errors="replace"), process.returncode, errors)

    def _start(
        self, stack: str, words: Sequence[str], folder: Path, environ: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        with self._lock:  # none starts while all are ended
            if self._ended:
                raise CancelledError
            # Its own session: Ctrl-C is sent to trainform alone, which passes it on once. The engine takes a second one
            # as an order to stop at once.
            self._running[stack] = subprocess.Popen(
                words, cwd=folder, env=environ, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, start_new_session=True
            )
            self._watch([*self._running])
            return self._running[stack]

    def end(self) -> None:
        """Ask all engines to stop, as Ctrl-C does; then stop what is left of them. None begins afterwards."""
        running: list[subprocess.Popen[bytes]] = []
        with contextlib.suppress(KeyboardInterrupt, SystemExit):  # who presses Ctrl-C again does not want to wait
            with signals_delayed(), self._lock:
                self._ended = True
                running += self._running.values()
            _send(signal.SIGINT, running)
            _wait(running)
        _send(signal.SIGKILL, running)
        _wait(running)


def _send(number: signal.Signals, processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)


def _wait(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    """Wait until all have ended, at most for `GRACE_SECONDS` together. Their threads read what they still print."""
    until = time.monotonic() + GRACE_SECONDS
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, until - time.monotonic()))


NO_STACK = "no stack named"
"""The engine says it of a stack that its backend does not have."""
NOTE = (
    "The backend does not have the stack {stack}: the preview ran in a temporary copy of the project, with an empty "
    "state. `pulumi stack select --create {stack}` creates it."
)
ENCRYPTED = (
    "error: not previewed: needs its passphrase: the backend does not have the stack {stack}, and its file has "
    "encrypted values\nfix: `pulumi stack select --create {stack}` with the passphrase of the file"
)
_ENCRYPTION = re.compile(r"^(encryptionsalt|encryptedkey|secretsprovider):.*\n?", re.MULTILINE)
_SECURE = re.compile(r"(?:^|[\s{,])[\"']?secure[\"']?\s*:", re.MULTILINE)
STACKS = "stacks"


def has_encrypted_values(stack: str, root: Path) -> bool:
    """Return True if the stack's file has a value that only its passphrase or key can read."""
    return _SECURE.search((root / stack_path(stack)).read_text(encoding="utf-8")) is not None


@contextlib.contextmanager
def temporary_copy(stack: str, root: Path, environ: Mapping[str, str]) -> Iterator[tuple[Path, dict[str, str]]]:
    """Copy the project as long as the block runs; return its folder, and the variables for the engine."""
    import shutil
    import tempfile

    with tempfile.TemporaryDirectory(prefix="trainform-preview-") as name:
        folder, state = Path(name) / "project", Path(name) / "state"
        (folder / STACKS).mkdir(parents=True)
        state.mkdir()
        _link(root, folder, {PROJECT_FILE, STACKS})
        shutil.copy(root / PROJECT_FILE, folder / PROJECT_FILE)
        _link(root / STACKS, folder / STACKS, {Path(stack_path(stack)).name})
        text = (root / stack_path(stack)).read_text(encoding="utf-8")
        (folder / stack_path(stack)).write_text(_ENCRYPTION.sub("", text), encoding="utf-8")
        kept = {key: value for key, value in environ.items() if key != "PULUMI_CONFIG_PASSPHRASE_FILE"}
        own = {"PULUMI_BACKEND_URL": state.as_uri(), "PULUMI_CONFIG_PASSPHRASE": os.urandom(16).hex()}
        yield folder, kept | own


def _link(source: Path, target: Path, without: set[str]) -> None:
    for entry in source.iterdir():
        if entry.name not in without:
            (target / entry.name).symlink_to(entry.absolute(), target_is_directory=entry.is_dir())
