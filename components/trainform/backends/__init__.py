"""Custom resources as plain dicts: a folder per operator, chosen by the table in `backend.py`."""

__all__ = ["admission", "backend", "judged", "notes", "outcome", "patch_rules", "refusals", "support", "suspend"]
