"""The output of commands that write files: the files, and the next commands to type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from trainform.terminal.lines import echo, echo_json, note


def show_created_files(written: Iterable[str], following: Mapping[str, Sequence[str]], as_json: bool) -> None:
    """Print the files, and the next commands. `following`: a heading -> its commands."""
    if as_json:
        commands = [command for several in following.values() for command in several]
        echo_json({"ok": True, "written": list(written), "next": commands})
        return
    echo(*(f"wrote {path}" for path in written))
    for words, several in following.items():
        note(words, *(f"  {command}" for command in several))
