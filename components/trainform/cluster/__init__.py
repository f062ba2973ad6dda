"""Reads from the live cluster. Nothing in this package changes the cluster."""

__all__ = [
    "amounts", "api", "budgets", "dry_run", "facts", "identity", "live", "live_drift", "live_objects", "operators",
    "outcome", "phases", "preflight", "streams", "survey", "tls",
]  # fmt: skip
