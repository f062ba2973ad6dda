"""`trainform schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainform.cli.app import prints
from trainform.cli.arguments import DATA, Form
from trainform.console.files import replacing
from trainform.console.lines import echo, echo_json
from trainform.errors import InputError, Problem
from trainform.project import require_project

FolderOption = Annotated[
    Path | None,
    typer.Option("--folder", metavar="DIR", help="Folder to write to. Default: stacks/schemas of the project."),
]


@prints(*DATA)
def command(folder: FolderOption = None, *, form: Form) -> None:
    """Write the JSON Schemas of both files and of the reports.

    The first line of each experiment and environment names its schema, so that editors complete and check while you
    type. The schemas of the reports describe what `trainform review`, `drift` and `apply` print with --output json.
    """
    from trainform.local.scaffold.project import SCHEMAS
    from trainform.spec.schema import schema

    target = require_project() / "stacks" / "schemas" if folder is None else folder
    paths = {target / name: kind for name, kind in SCHEMAS.items()}
    blocked = [path for path in paths if path.is_symlink() or (path.exists() and not path.is_file())]
    if blocked:
        fix = "move it away, or choose another folder with --folder"
        raise InputError(Problem(str(path), None, "is a link or not a regular file", fix) for path in blocked)
    target.mkdir(parents=True, exist_ok=True)
    for path, kind in paths.items():
        with replacing(path) as stream:
            stream.write(schema(kind))
    written = [str(path) for path in paths]
    if form is Form.JSON:
        echo_json({"ok": True, "written": written})
    else:
        echo(*written)
