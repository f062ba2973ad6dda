"""The stacks of a project and what they have deployed: live records, Pulumi's state and history. It only reads."""

__all__ = [
    "accelerators", "earlier", "engine", "overview", "preview_runs", "records", "releases", "stack_keys", "stacks",
    "state", "updates",
]  # fmt: skip
