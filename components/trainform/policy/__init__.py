"""The environment's limits as rules: pure functions of the plan and the environment, used by `check` and by every `up`."""

from trainform.policy.limits import limit_problems

__all__ = ["limit_problems"]
