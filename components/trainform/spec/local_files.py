"""Local files that an experiment gives to its pods: their texts take the place of their names.

So the record of what is deployed, releases and reviews have the content, and no path of one machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import structs

from trainform.console.files import read_text
from trainform.errors import InputError, Problem
from trainform.project import project_root
from trainform.spec.experiment import OVERLAYS, Experiment
from trainform.spec.load import LoadResult
from trainform.spec.storage import File

FIELD = "files"
FIX = (
    "write the path of a text file (UTF-8, at most 1 MiB) from the project's folder on; what is larger or binary "
    "belongs into the image, or on a volume"
)


def read_files(loaded: LoadResult[Experiment], root: Path | None = None) -> LoadResult[Experiment]:
    """Return the experiment with the texts of its local files, also before its overlay and in all overlays, or with
    their problems."""
    given, data = loaded.model, loaded.data
    if given is None or not (_has_files(given) or (given.base is not None and _has_files(given.base))):
        return loaded
    reader = _Reader((project_root() if root is None else root).resolve())
    model = reader.experiment(given)
    return structs.replace(
        loaded,
        model=model if given.base is None else model.attach_base(reader.experiment(given.base)),
        data=None if data is None else reader.patch(data),
        problems=(*loaded.problems, *map(loaded.source.locate, reader.problems.values())),
        local_files=frozenset(reader.texts),
    )


def _has_files(experiment: Experiment) -> bool:
    return bool(experiment.files) or any(FIELD in patch for patch in experiment.environments.values())


class _Reader:
    """Reads each file once. texts: by the names of the files; None for one that cannot be read."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.texts: dict[str, str | None] = {}
        self.problems: dict[str, Problem] = {}

    def experiment(self, given: Experiment) -> Experiment:
        """Return the experiment with the texts."""
        read = self.patch({FIELD: given.files, OVERLAYS: given.environments})
        return given.model_copy(update={key: value for key, value in read.items() if value})

    def patch(self, data: Mapping[str, Any], path: str = "") -> dict[str, Any]:
        """Return the data of an experiment, or a patch of one, with the texts."""
        read, files, overlays = {**data}, data.get(FIELD), data.get(OVERLAYS)
        if isinstance(files, Mapping):
            read[FIELD] = {name: self._entry(each, f"{path}{FIELD}.{name}.file") for name, each in files.items()}
        if isinstance(overlays, Mapping):
            read[OVERLAYS] = {
                name: self.patch(each, f"{OVERLAYS}.{name}.") if isinstance(each, Mapping) else each
                for name, each in overlays.items()
            }
        return read

    def _entry(self, entry: Any, path: str) -> Any:
        fields = entry.model_dump() if isinstance(entry, File) else entry
        if not (isinstance(fields, Mapping) and isinstance(fields.get("file"), str) and fields.get("text") is None):
            return entry
        text = self._text(fields["file"], path)
        if text is None:
            return entry
        return File(text=text) if isinstance(entry, File) else {"text": text}

    def _text(self, name: str, path: str) -> str | None:
        if name not in self.texts:
            self.texts[name] = None
            try:
                self.texts[name] = self._read(name)
            except InputError as error:
                self.problems[path] = Problem(path, name, error.problems[0].reason, FIX)
        return self.texts[name]

    def _read(self, name: str) -> str:
        if not (self.root / name).resolve().is_relative_to(self.root):
            raise InputError([Problem("", None, "the file is outside of the project's folder", FIX)])
        text = read_text(self.root / name, name)
        if "\0" in text:
            raise InputError([Problem("", None, "the file is binary: it holds a NUL character", FIX)])
        return text
