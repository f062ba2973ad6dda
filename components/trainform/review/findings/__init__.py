"""Findings for a reviewer, a module per category."""
