"""Real nodes of a sandbox."""
