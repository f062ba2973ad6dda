"""Custom resources as plain dicts: a folder per operator, chosen by the table in `backend.py`."""
