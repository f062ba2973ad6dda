"""`trainform schema`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainform.spec.load import project_root
from trainform.spec.schema import FILES, schema
from trainform.terminal.lines import echo


def command(
    folder: Annotated[Path | None, typer.Option(help="Where to write. Default: stacks/schemas of the project.")] = None,
) -> None:
    """Write the JSON Schemas of both files; the first line of each experiment and environment names them."""
    target = project_root() / "stacks" / "schemas" if folder is None else folder
    target.mkdir(parents=True, exist_ok=True)
    for name, kind in FILES.items():
        (target / name).write_text(schema(kind))
        echo(str(target / name))
