"""`trainform toolchain`."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(no_args_is_help=True)

PulumiOnlyOption = Annotated[
    bool, typer.Option("--pulumi-only", help="Leave out the sandbox's components: enough for those who have a cluster.")
]
WithOption = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="ADD-ONS",
        help="Add-ons of the sandbox that are made now, and not when a sandbox first asks for them: kubeflow, trainer, jobset, kueue, kubedl; "
        "several with commas.",
        show_default=False,
    ),
]


@app.command("ensure")
def ensure_command(pulumi_only: PulumiOnlyOption = False, addons: WithOption = None) -> None:
    """Make sure that everything is there; find, download or build what is missing.

    TRAINFORM_TOOLCHAIN=auto|system|download|build chooses where it comes from; auto tries the three in this order. The sandbox's
    components are never the system's, in exactly these versions: with system they are downloaded or built. Add-ons are built, except
    for Kubernetes' scheduler. All of it lies in the cache (TRAINFORM_CACHE names another folder for it).
    """
    from trainform.cli.progress import display
    from trainform.sandbox.addons import chosen_addons, parts_of, with_needed
    from trainform.toolchain import ensure, ensure_addons, ensure_pulumi

    chosen = chosen_addons([] if addons is None else addons)  # a wrong name is told before anything is built
    progress = display()
    tools = ensure_pulumi(progress) if pulumi_only else ensure(progress).pulumi
    ensure_addons(parts_of(with_needed(chosen)), progress)
    progress.note(f"pulumi: {tools.bin / 'pulumi'} ({tools.origin})")


@app.command("where")
def where_command() -> None:
    """Print where everything is, how it came (from this machine, downloaded, built) and whether a download was verified, or that it is
    missing, without making anything."""
    from trainform.terminal.lines import echo
    from trainform.toolchain.whereabouts import whereabouts

    for name, place in whereabouts():
        echo(f"{name}: {place}")
