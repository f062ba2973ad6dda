"""`trainform toolchain`."""

from __future__ import annotations

from typing import Annotated

import typer

from trainform.cli import candidates
from trainform.cli.app import App
from trainform.cli.arguments import option

app = App(help="Install Pulumi, its plugins and the sandbox's programs.")

PULUMI_ONLY = "Leave out the sandbox's programs, which a user with a cluster does not need."
WITH = (
    f"Also build these add-ons of the sandbox: {candidates.ADD_ONS}; several with commas. Without it, each is built "
    "when a sandbox first needs it."
)
PulumiOnlyOption = Annotated[bool, typer.Option("--pulumi-only", help=PULUMI_ONLY)]
WithOption = Annotated[list[str] | None, option("ADD-ONS", WITH, "--with")]


@app.verb("ensure")
def ensure_command(pulumi_only: PulumiOnlyOption = False, addons: WithOption = None) -> None:
    """Find, download or build what is missing.

    TRAINFORM_TOOLCHAIN is the mode: system, download, build, or auto, which tries these three in this order. The
    sandbox's programs never come from the system, since their versions are pinned. Add-ons are built, except for the
    scheduler of Kubernetes. All programs are kept in a cache; TRAINFORM_CACHE sets its folder.
    """
    from trainform.cli.progress import display
    from trainform.local.sandbox.addons import add_dependencies, chosen_addons, install_addons
    from trainform.local.toolchain.ensure import ensure, ensure_pulumi

    chosen = chosen_addons([] if addons is None else addons)  # before a build: a wrong name is an error at once
    progress = display()
    tools = ensure_pulumi(progress) if pulumi_only else ensure(progress).pulumi
    install_addons(add_dependencies(chosen), progress)
    progress.note(f"pulumi: {tools.bin / 'pulumi'} ({tools.origin})")
