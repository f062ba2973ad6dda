"""What will run: pure functions from the two files to one `Plan`. No files, clock, random or environment in here."""

from trainform.plan.build import build_plan
from trainform.plan.model import Plan, RolePlan

__all__ = ["Plan", "RolePlan", "build_plan"]
