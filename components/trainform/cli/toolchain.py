"""`trainform toolchain`."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True)

PulumiOnlyOption = Annotated[
    bool, typer.Option("--pulumi-only", help="Leave out the sandbox's components: enough for those who have a cluster.")
]


@app.command("ensure")
def ensure_command(pulumi_only: PulumiOnlyOption = False) -> None:
    """Make sure that everything is there; find, download or build what is missing.

    TRAINFORM_TOOLCHAIN=auto|system|download|build chooses where pulumi comes from; auto tries the three in this order. The
    sandbox's components are always built, once, into the cache (TRAINFORM_CACHE names another folder for it).
    """
    from trainform.cli.progress import display
    from trainform.toolchain import ensure, ensure_pulumi

    progress = display()
    tools = ensure_pulumi(progress) if pulumi_only else ensure(progress).pulumi
    progress.note(f"pulumi: {tools.bin / 'pulumi'} ({tools.origin})")


@app.command("where")
def where_command() -> None:
    """Print where everything is, or that it is missing, without making anything."""
    from trainform.toolchain.whereabouts import whereabouts

    for name, place in whereabouts():
        typer.echo(f"{name}: {place}")
