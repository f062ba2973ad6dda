"""Build the `Plan` of a job from the two files, by pure functions: no files, clock, random numbers or environment."""

from trainform.plan.build import build_plan
from trainform.plan.model import Plan, RolePlan

__all__ = ["Plan", "RolePlan", "build_plan"]
