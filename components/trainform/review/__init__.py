"""A preview as a report that is safe to post: the run, the data, the cost and the queue."""

__all__ = [
    "causes", "changes", "fail_on", "files", "forms", "job_objects", "model", "policies", "preview", "read",
    "report", "steps", "stored", "touched", "whole",
]  # fmt: skip
