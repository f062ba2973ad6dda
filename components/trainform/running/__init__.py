"""A job that is deployed: its phase, why it waits, why it failed, its logs, and how to wait for it or stop it."""

__all__ = [
    "events", "failure", "logs", "model", "pods", "read", "snapshot", "status", "watch",
]  # fmt: skip
