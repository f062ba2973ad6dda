"""The output for people, and files on disk: lines, progress, escaped and masked text, atomic writes."""

__all__ = [
    "files", "lines", "locking", "markdown", "progress", "report_part", "screen", "secrets", "sections",
    "signals", "terminal",
]  # fmt: skip
