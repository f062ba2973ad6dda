"""Stacks over time and next to each other: comparison, drift, promotion, saved reviews."""

__all__ = ["comparison", "drift", "promotion", "saved"]
