"""Every file of the documentation that is written from the code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from tools.docs.backends import comparison_page
from tools.docs.command_line import command_line_page
from tools.docs.components import components_page
from tools.docs.fields import environment_page, experiment_page
from tools.docs.figures import layers_figure, stack_figure
from tools.docs.launch_contract import contract_page
from tools.docs.limits import limits_page
from tools.docs.llms import llms_index
from tools.docs.review import review_page
from tools.docs.review_page import review_html
from tools.docs.versions import versions_page

DOCS = Path(__file__).resolve().parents[2] / "docs"
GENERATED: Mapping[str, Callable[[], str]] = {
    "reference/fields.md": experiment_page,
    "reference/environment.md": environment_page,
    "reference/command-line.md": command_line_page,
    "reference/components.md": components_page,
    "reference/launch-contract.md": contract_page,
    "reference/backends.md": comparison_page,
    "reference/limits.md": limits_page,
    "reference/review.md": review_page,
    "reference/versions.md": versions_page,
    "llms.txt": llms_index,
    "figures/layers.svg": layers_figure,
    "figures/review.html": review_html,
    "figures/stack.svg": stack_figure,
}


def write() -> None:
    """Write them."""
    for name, made in GENERATED.items():
        (DOCS / name).write_text(made(), encoding="utf-8")
