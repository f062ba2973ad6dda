"""`trainform schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainform.cli.arguments import JsonOption
from trainform.project import project_root
from trainform.terminal.lines import echo, echo_json

FolderOption = Annotated[
    Path | None,
    typer.Option("--folder", metavar="DIR", help="Where to write. Default: stacks/schemas of the project."),
]


def command(folder: FolderOption = None, as_json: JsonOption = False) -> None:
    """Write the JSON Schemas of both files.

    The first line of each experiment and environment names its schema, so that editors complete and check while you
    type.
    """
    from trainform.spec.schema import FILES, schema

    target = project_root() / "stacks" / "schemas" if folder is None else folder
    target.mkdir(parents=True, exist_ok=True)
    for name, kind in FILES.items():
        (target / name).write_text(schema(kind))
    written = [str(target / name) for name in FILES]
    if as_json:
        echo_json({"ok": True, "written": written})
    else:
        echo(*written)
