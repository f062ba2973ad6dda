"""Add-ons: other operators that a sandbox can run, each only if the user names it."""

from __future__ import annotations

from trainform.sandbox.addons.installation import InstalledAddOn
from trainform.sandbox.addons.model import AddOn
from trainform.sandbox.addons.table import (
    ADDONS,
    chosen_addons,
    in_table_order,
    installed_addons,
    required_parts,
    with_dependencies,
)

__all__ = [
    "ADDONS",
    "AddOn",
    "InstalledAddOn",
    "chosen_addons",
    "in_table_order",
    "installed_addons",
    "required_parts",
    "with_dependencies",
]
