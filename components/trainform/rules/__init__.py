"""Rules for experiments and environments: pure functions from models, plan and rendered objects to problems."""

__all__ = ["experiment", "limits", "references"]
