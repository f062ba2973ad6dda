"""`trainform toolchain`."""

from __future__ import annotations

from typing import Annotated

import typer

from trainform.cli.app import App, prints_data
from trainform.cli.arguments import JsonOption

app = App(
    help="Get Pulumi, its plugins and the sandbox's programs.",
)

PulumiOnlyOption = Annotated[
    bool, typer.Option("--pulumi-only", help="Without the sandbox's programs: enough where you have a cluster.")
]
WithOption = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="ADD-ONS",
        help="Also get these add-ons of the sandbox: kubeflow, trainer, jobset, kueue, kubedl; several with "
        "commas. Without it each "
        "is built when a sandbox first asks for it.",
        show_default=False,
    ),
]


@app.verb("ensure")
def ensure_command(pulumi_only: PulumiOnlyOption = False, addons: WithOption = None) -> None:
    """Find, download or build what is missing.

    TRAINFORM_TOOLCHAIN chooses the way: system, download, build, or auto, which tries them in this order. The
    sandbox's programs are never taken from the system, since their versions are pinned. Add-ons are built, except for
    Kubernetes' scheduler. Everything is kept in a cache; TRAINFORM_CACHE names another folder for it.
    """
    from trainform.cli.progress import display
    from trainform.sandbox.addons import chosen_addons, parts_of, with_needed
    from trainform.toolchain import ensure, ensure_addons, ensure_pulumi

    chosen = chosen_addons([] if addons is None else addons)  # a wrong name is told before anything is built
    progress = display()
    tools = ensure_pulumi(progress) if pulumi_only else ensure(progress).pulumi
    ensure_addons(parts_of(with_needed(chosen)), progress)
    progress.note(f"pulumi: {tools.bin / 'pulumi'} ({tools.origin})")


@app.verb("where")
@prints_data
def where_command(as_json: JsonOption = False) -> None:
    """Print where everything is.

    Also how it came (from this machine, downloaded, built), whether a download was verified, and what is missing.
    Changes nothing.
    """
    from trainform.terminal.lines import echo, echo_json
    from trainform.toolchain.whereabouts import whereabouts

    found = whereabouts()
    if as_json:
        echo_json(dict(found))
    else:
        echo(*(f"{name}: {place}" for name, place in found))
