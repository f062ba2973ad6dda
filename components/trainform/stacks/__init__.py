"""Stacks over time and next to each other: comparison, drift, promotion, saved reviews."""
