"""`prepare` steps that check out a commit: their volumes and variables. `scripts/checkout.sh` is what they run."""

from __future__ import annotations

from collections.abc import Iterable

from trainform.plan.model import Checkout
from trainform.spec.prepare import Step
from trainform.spec.roles import EnvSource, InitContainer

CHECKOUT_SCRIPT = "checkout.sh"
KEY_MOUNT = "/etc/trainform-git"


def checkouts(steps: Iterable[Step]) -> tuple[Checkout, ...]:
    """The checkouts of these steps, each with the name of its volume."""
    return tuple(Checkout(step.name, step.git, f"checkout-{step.name}") for step in steps if step.git is not None)


def containers(steps: Iterable[Step], mount: str) -> tuple[InitContainer, ...]:
    """The steps as init containers. `mount`: the folder of the launch files."""
    return tuple(
        InitContainer(
            name=step.name,
            image=step.image,
            command=step.command if step.command is not None else ["/bin/sh", f"{mount}/{CHECKOUT_SCRIPT}"],
            # In a value Kubernetes expands only variables that are defined before it, such as a token in the address.
            env=step.env | _env(step),
        )
        for step in steps
    )


def _env(step: Step) -> dict[str, str | EnvSource]:
    git = step.git
    if git is None:
        return {}
    env: dict[str, str | EnvSource] = {
        "TRAINFORM_GIT_REPOSITORY": git.repository,
        "TRAINFORM_GIT_COMMIT": git.commit,
        "TRAINFORM_GIT_PATH": git.path.rstrip("/").replace("$", "$$"),  # nothing is expanded in the path of a mount
    }
    if git.key is not None:
        env |= {
            "TRAINFORM_GIT_KEY": f"{KEY_MOUNT}/{step.name}/{git.key.key}",
            "TRAINFORM_GIT_KNOWN_HOSTS": "\n".join(git.known_hosts),
        }
    return env
