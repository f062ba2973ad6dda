"""The images of the pods, here before anything is started."""

from __future__ import annotations

from trainform.errors import TrainformError
from trainform.progress import Progress
from trainform.rehearsal.bodies import Image
from trainform.rehearsal.engine import Engine
from trainform.rehearsal.stage import Stage, containers

NEVER = "Never"


def ready_images(engine: Engine, stage: Stage, instead: str | None, progress: Progress) -> dict[str, Image]:
    """Image of each name that a container asks for; `instead` stands in for all of them. What is not on this machine is pulled, unless
    the container's policy forbids it. TrainformError with a line for each that cannot be had."""
    policies = {
        container["image"]: container.get("imagePullPolicy", "") for pod in stage.pods for container in containers(pod)
    }
    wanted = policies if instead is None else {instead: ""}
    found: dict[str, Image] = {}
    refused = []
    for name, policy in wanted.items():
        try:
            found[name] = _ready(engine, name, policy, progress)
        except TrainformError as error:
            refused.append(error.message)
    if refused:
        fix = (
            "`--image NAME` runs all pods in another image"
            if instead is None
            else "name an image that is here: `docker images`"
        )
        one, *others = refused
        raise (
            TrainformError(f"{len(refused)} images cannot be had:", fix, refused)
            if others
            else TrainformError(one, fix)
        )
    return dict.fromkeys(policies, found[instead]) if instead is not None else found


def _ready(engine: Engine, name: str, policy: str, progress: Progress) -> Image:
    image = engine.image(name)
    if image is not None:
        return image
    if policy == NEVER:
        raise TrainformError(f"the image {name} is not on this machine, and imagePullPolicy is Never")
    with progress.step(f"pulling {name}"):
        try:
            engine.pull(name)
        except TrainformError as error:
            raise TrainformError(f"the image {name} cannot be pulled: {error.message}") from None
    image = engine.image(name)
    if image is None:
        raise TrainformError(f"the image {name} is not on this machine although it was pulled")
    return image
