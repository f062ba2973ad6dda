"""The report in the terminal and in the document, from the same tables."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence

import rich.table
from rich import box
from rich.console import Console

from bench.sections import Section, Table, results, tables
from trainform.errors import TrainformError

BEGIN = "<!-- begin of what `make bench` writes -->"
END = "<!-- end of what `make bench` writes -->"
PIPED_WIDTH = 160
LONGEST_LINE = 119  # of Markdown


def show(machine: str, sections: Sequence[Section]) -> None:
    """Print the report."""
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console = Console(highlight=False, markup=False, width=PIPED_WIDTH)
    console.print(f"\n{machine}\n")
    for section in sections:
        for table in tables(section):
            console.print(_rich(table))
        for note in section.notes:
            console.print(note, soft_wrap=True)
    console.print(_rich(results(sections)))


def _rich(table: Table) -> rich.table.Table:
    drawn = rich.table.Table(
        title=table.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    for number, column in enumerate(table.columns):
        drawn.add_column(column, overflow="fold", justify="left" if number == 0 else "right")
    for row in table.rows:
        drawn.add_row(*row)
    return drawn


def to_markdown(machine: str, sections: Sequence[Section]) -> str:
    """Return the report as Markdown."""
    shown = [(section.title, [*map(_markdown, tables(section))]) for section in sections]
    blocks = [_wrapped(machine), "### Results", _markdown(results(sections))]
    blocks += [_wrapped(" ".join(note for section in sections for note in section.notes))]
    for title, found in shown:
        blocks += [f"### {title}", *found] if found else []
    return "\n\n".join(blocks)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, LONGEST_LINE, break_long_words=False, break_on_hyphens=False)


def _markdown(table: Table) -> str:
    head, *body = map(_line, (table.columns, *table.rows))
    return "\n".join([head, f"|---|{'---:|' * (len(table.columns) - 1)}", *body])


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def between_markers(document: str, text: str) -> str:
    """Return the document with `text` between the markers. Raises `TrainformError` if there is not exactly one pair of
    markers."""
    if document.count(BEGIN) != 1 or document.count(END) != 1 or document.index(BEGIN) > document.index(END):
        raise TrainformError(
            "the document does not have exactly one place for the measurements", f"write two lines: {BEGIN} and {END}"
        )
    before, _, rest = document.partition(BEGIN)
    after = rest.partition(END)[2]
    return f"{before}{BEGIN}\n\n{text}\n\n{END}{after}"
