"""What a researcher and a platform team write: pydantic models of the two files, their checks, and how they are
read."""

from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment

__all__ = ["Environment", "Experiment"]
