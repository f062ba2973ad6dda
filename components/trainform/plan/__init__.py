"""Build the `Plan` of a job from the two files, by pure functions: no files, clock, random numbers or environment."""

__all__ = [
    "build", "export", "images", "inputs", "launch", "layout", "model", "operator", "record", "roles", "split_launcher",
    "variables", "volumes", "world",
]  # fmt: skip
