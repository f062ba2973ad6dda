"""Objects of Kubernetes' own kinds, as plain dicts; every backend uses them."""

__all__ = [
    "differences", "env", "manifest", "models", "objects", "pod_types", "pods", "ssh_files", "ssh_keys",
    "templates",
]  # fmt: skip
