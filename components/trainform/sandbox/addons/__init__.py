"""Add-ons: other operators in the sandbox, real as the rest of it and only for those who ask for them by name."""

from __future__ import annotations

from trainform.sandbox.addons.installation import Installed
from trainform.sandbox.addons.model import AddOn
from trainform.sandbox.addons.table import ADDONS, chosen_addons, installed, parts_of, together, with_needed

__all__ = ["ADDONS", "AddOn", "Installed", "chosen_addons", "installed", "parts_of", "together", "with_needed"]
