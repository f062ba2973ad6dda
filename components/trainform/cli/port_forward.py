"""`trainform port-forward`."""

from __future__ import annotations

from typing import Annotated

from trainform.cli.arguments import StackEnvironmentOption, StackJobArgument, argument
from trainform.cli.exec import OnePodArgument, run_on_pod

PortsArgument = Annotated[list[str], argument("[LOCAL:]PORT", "Port of the pod, and of this machine.")]


def command(
    word: StackJobArgument, pod: OnePodArgument, ports: PortsArgument, environment: StackEnvironmentOption = None
) -> None:
    """Reach a port of a pod from this machine.

    It runs `kubectl port-forward` with the context and the namespace of the environment, until Ctrl-C.

    Example: trainform port-forward resnet.dev worker/0 6006
    """
    run_on_pod(word, environment, pod, lambda name, _: ["port-forward", f"pod/{name}", *ports])
