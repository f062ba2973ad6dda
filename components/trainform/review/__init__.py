"""A preview as a report that is safe to post: the run, the data, the cost and the queue."""

__all__ = [
    "capacity", "causes", "changes", "context", "fail_on", "files", "forms", "job_objects", "model", "pod_limits",
    "pod_needs", "policies", "preview", "read", "report", "steps", "stored", "touched", "whole",
]  # fmt: skip
