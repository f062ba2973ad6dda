"""Releases: what was deployed in one environment, and may be promoted to another one."""
