"""Models of the two files that users write, experiments and environments, and the code that reads and checks them.
Import the models where you use them: `trainform review` starts the engine without them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainform.spec.environment import Environment
    from trainform.spec.experiment import Experiment

__all__ = ["Environment", "Experiment"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"trainform.spec.{name.lower()}"), name)
