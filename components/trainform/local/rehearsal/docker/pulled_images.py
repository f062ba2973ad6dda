"""The images of the pods: they are on this machine before anything is started."""

from __future__ import annotations

from trainform.console.progress import Progress
from trainform.errors import TrainformError
from trainform.local.rehearsal.docker.engine import Engine
from trainform.local.rehearsal.docker.request_bodies import Image
from trainform.local.rehearsal.workload import Workload, containers

NEVER = "Never"


def ready_images(engine: Engine, workload: Workload, instead: str | None, progress: Progress) -> dict[str, Image]:
    """Return the image for each name in the workload, pulled where the policy allows it. `instead` replaces all.

    TrainformError with a line for each image that is neither here nor can be pulled."""
    policies = {
        container["image"]: container.get("imagePullPolicy", "")
        for pod in workload.pods
        for container in containers(pod)
    }
    needed = policies if instead is None else {instead: ""}
    found: dict[str, Image] = {}
    refused = []
    for name, policy in needed.items():
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
            TrainformError(f"{len(refused)} images are not available:", fix, refused)
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
