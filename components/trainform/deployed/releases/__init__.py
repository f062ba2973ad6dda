"""Releases: what was deployed in one stack, as a file that other stacks run."""
