"""Custom resources as plain dicts: a folder per operator, chosen by the table in `backend.py`."""

__all__ = ["backend", "gangs", "judged", "notes", "outcome", "patch_rules", "refusals", "support", "suspend"]
