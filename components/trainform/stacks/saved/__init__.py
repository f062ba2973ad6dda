"""Saved reviews, and the changes since then: the precondition of `trainform apply`."""
