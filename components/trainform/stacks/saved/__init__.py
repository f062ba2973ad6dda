"""Saved reviews, and what has moved since: the precondition of `trainform apply`."""
