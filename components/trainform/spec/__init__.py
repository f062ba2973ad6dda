"""Models of the two files that users write, experiments and environments, and the code that reads and checks them."""

__all__ = [
    "base_model", "environment", "experiment", "explain", "launchers", "layers", "libyaml", "limits", "load",
    "local_files", "names", "network", "overlay", "prepare", "quantities", "queue_fields", "read", "release", "roles",
    "schema", "stack", "storage", "trial",
]  # fmt: skip
