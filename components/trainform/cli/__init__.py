"""The command line: one module per verb; each parses, calls one function and prints."""

__all__ = ["main"]
