"""The output of commands that write files: the files, and the next commands to type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from trainform.console.lines import echo, echo_json, note

COLUMNS = 80


def show_created_files(
    written: Iterable[str], following: Mapping[str, Sequence[str]], as_json: bool, remarks: Sequence[str] = ()
) -> None:
    """Print the files, the remarks, and the next commands. `following`: a heading -> its commands."""
    if as_json:
        commands = [command for several in following.values() for command in several]
        echo_json({"ok": True, "written": list(written), "next": commands})
        return
    echo(*(f"wrote {path}" for path in written))
    note(*remarks)
    for words, several in following.items():
        note(words, *(line for command in several for line in _shown(command)))


def _shown(command: str) -> list[str]:
    """Return the lines of a command. A long chain is one command a line; the shell reads all of it before it runs the
    first."""
    line = f"  {command}"
    return [line] if len(line) <= COLUMNS else line.replace(" && ", " &&\n  ").splitlines()
