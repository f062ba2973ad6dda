"""What stands for a value that is not shown. It imports next to nothing, so that the engine starts without a wait."""

from trainform.console.escaping import MASK

MASKED = MASK
"""Stands for each secret value. Where either side of a change is secret, both sides are masked."""
CHANGED_MASK = "[secret, changed]"
"""Stands for the new side of a secret of which the preview shows that it changes, although both sides are masked."""
UNKNOWN = "[known after apply]"
"""Stands for a value that the engine knows only at `up`."""
