"""`prepare` steps that check out a commit: their volumes and variables. `scripts/checkout.sh` is what they run."""

from __future__ import annotations

from collections.abc import Iterable

from trainform.plan.model import Checkout
from trainform.spec.prepare import Step
from trainform.spec.roles import EnvSource

CHECKOUT_SCRIPT = "checkout.sh"
GIT_PREFIX = "TRAINFORM_GIT_"
KEY_MOUNT = "/etc/trainform-git"


def checkouts(steps: Iterable[Step]) -> tuple[Checkout, ...]:
    """The checkouts of these steps, each with the name of its volume."""
    return tuple(Checkout(step.name, step.git, f"checkout-{step.name}") for step in steps if step.git is not None)


def checkout_env(step: Step) -> dict[str, str | EnvSource]:
    """The variables of the step's script; empty for a step that is a command."""
    git = step.git
    if git is None:
        return {}
    env: dict[str, str | EnvSource] = {
        f"{GIT_PREFIX}REPOSITORY": git.repository,
        f"{GIT_PREFIX}COMMIT": git.commit,
        f"{GIT_PREFIX}PATH": git.path.rstrip("/").replace("$", "$$"),  # nothing is expanded in the path of a mount
    }
    if git.key is not None:
        env |= {
            f"{GIT_PREFIX}KEY": f"{KEY_MOUNT}/{step.name}/{git.key.key}",
            f"{GIT_PREFIX}KNOWN_HOSTS": "\n".join(git.known_hosts),
        }
    return env
