"""Builds of parts from their pins. A part is built in a temporary folder, which is renamed when it is complete."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from trainform.console.locking import hold
from trainform.console.progress import Progress, Step
from trainform.errors import ToolchainError
from trainform.local.toolchain.cache import partial_folder, remove_partials
from trainform.local.toolchain.golang import find_go, go_environment
from trainform.local.toolchain.parts import PINS, ModuleFiles, Part, build_time
from trainform.local.toolchain.running import run_logged


def missing_parts(parts: Sequence[Part], folder: Path) -> list[Part]:
    """Return the parts that are not finished; a part is finished if its folder exists."""
    return [part for part in parts if not (folder / part.folder).is_dir()]


def build_parts(parts: Sequence[Part], folder: Path, progress: Progress, pins: Path = PINS) -> None:
    """Build the missing parts; a killed build continues with the unfinished part. Raises `ToolchainError`."""
    if not missing_parts(parts, folder):
        return
    with hold(folder / "lock", "building the tool chain", progress):
        missing = missing_parts(parts, folder)  # another process may have built them while we waited
        if not missing:
            return
        remove_partials(folder)
        compiler = find_go(folder.parent, progress)
        builder = Builder(folder, folder / "logs", pins, compiler, go_environment(compiler))
        progress.note(
            f"building {len(missing)} of {len(parts)} parts of the tool chain from pinned sources, which happens once: "
            f"{build_time(missing)} if nothing is cached; logs in {builder.logs}"
        )
        for number, part in enumerate(missing, start=1):
            place = f"[{number}/{len(missing)}]"
            with progress.step(f"{place} tool chain, {part.folder}") as step:
                builder.build(part, f"{place} {part.folder}", step)


class Builder(Struct, frozen=True):
    """Builds parts with one compiler."""

    folder: Path
    logs: Path
    pins: Path
    compiler: Path
    environment: Mapping[str, str]

    def build(self, part: Part, title: str, step: Step) -> None:
        """Build a part from its pins into its finished folder. The step shows what Go downloads and compiles."""
        partial = partial_folder(self.folder / part.folder)
        source = partial / "source"
        shutil.copytree(self.pins / part.module, source)
        log = self.logs / f"{part.folder}.log"
        log.unlink(missing_ok=True)
        # This checks modules in the cache against go.sum; Go checks new downloads itself.
        self._go(["mod", "verify"], source, log)
        for files in part.embedded:
            self._copy(files, source, source, log)
        arguments = _build_arguments(part, partial / "bin")
        self._go(arguments, source, log, lambda line: step.update(f"{title}: {line}"), **dict(part.environment))
        absent = [name for name in part.binaries if not os.access(partial / "bin" / name, os.X_OK)]
        if absent:
            raise ToolchainError(f"the build of {part.folder} did not make {', '.join(absent)}", f"read the log, {log}")
        for files in part.shipped:
            self._copy(files, source, partial, log)
        shutil.rmtree(source)
        partial.rename(self.folder / part.folder)

    def _go(
        self, arguments: Sequence[str], source: Path, log: Path, watch: Callable[[str], None] | None = None,
        **variables: str,
    ) -> None:  # fmt: skip
        run_logged([str(self.compiler), *arguments], source, {**self.environment, **variables}, log, watch)

    def _copy(self, files: ModuleFiles, source: Path, target: Path, log: Path) -> None:
        # `go list` returns no folder for a module that is not downloaded yet.
        self._go(["mod", "download", files.module], source, log)
        command = [str(self.compiler), "list", "-m", "-f", "{{.Dir}}", files.module]
        answer = subprocess.run(command, cwd=source, env=self.environment, capture_output=True, text=True, check=False)
        if answer.returncode:
            reason = f"Go does not find the module {files.module}:"
            raise ToolchainError(reason, "run the same command again", answer.stderr.splitlines())
        found = sorted(Path(answer.stdout.strip()).glob(files.pattern))
        if not found:
            raise ToolchainError(
                f"module {files.module} has no {files.pattern}", "the pins do not fit this version of trainform"
            )
        (target / files.into).mkdir(exist_ok=True)
        for path in found:
            copy = target / files.into / path.name
            shutil.copyfile(path, copy)  # without the mode: the files of the module cache are read-only
            copy.chmod(0o755 if files.executable else 0o644)


def _build_arguments(part: Part, folder: Path) -> list[str]:
    # Go would name the program of our own main package after its module.
    output = str(folder / part.binaries[0]) if part.target == "." else f"{folder}/"
    flags = ["-ldflags", f"-w -s {part.ldflags}".strip(), *(["-tags", part.tags] if part.tags else [])]
    return [
        "build",
        "-v",
        "-o",
        output,
        *flags,
        *(f"-gcflags={packages}" for packages in part.gcflags),
        *part.target.split(),
    ]
