"""An environment on the live cluster for generated experiments, and the dry run of what they render."""

from __future__ import annotations

import base64
import copy
from collections.abc import Iterable, Iterator
from typing import Any

from tests.engine.differences import changed
from tests.engine.live import Live, until
from tests.engine.project import SSH_SECRET
from tests.support.generators import ENVIRONMENT
from trainform.job.render import job_manifests
from trainform.job.render_platform import platform_manifests
from trainform.manifests.manifest import Manifest
from trainform.manifests.ssh_files import identity_files, ssh_names
from trainform.plan.model import Plan
from trainform.spec.environment import Environment

NAMESPACE = "t-admission"
LOOKED_FOR = ("TrainingRuntime",)  # by the webhook of TrainJobs


def offered(live: Live) -> Iterator[Environment]:
    """Yield the generators' environment, with its queues open and its namespace there, until the end."""
    environment = Environment.model_validate({**ENVIRONMENT, "namespace": {"name": NAMESPACE, "create": True}})
    made = [manifest for manifest in platform_manifests(environment) if not manifest.patch]
    for manifest in made:
        live.make(manifest.body)
    queues = set(environment.queues)

    def all_open() -> bool:
        return queues <= {
            queue["metadata"]["name"]
            for queue in live.find_all("queues")
            if queue.get("status", {}).get("state") == "Open"
        }

    until(all_open, "the queues to open")
    yield environment
    for manifest in reversed(made):
        live.remove(manifest.body)


def not_kept(live: Live, plan: Plan) -> Iterator[str]:
    """Yield what the server would change of the objects of a job; fails the test with the server's words where it would
    not take one."""
    there: list[dict[str, Any]] = []
    try:
        for manifest in job_manifests(plan):
            body = _alone(plan, manifest)
            looked_for = body["kind"] in LOOKED_FOR
            kept = _made(live, body, dry_run=not looked_for)
            there += [body] if looked_for else []
            if body["kind"] == "Secret":  # its texts are read under another name
                kept["stringData"] = {key: base64.b64decode(value).decode() for key, value in kept["data"].items()}
            yield from (f"{manifest.key}{difference}" for difference in changed(body, kept))
    finally:
        for body in there:
            live.remove(body)


def make(live: Live, plan: Plan, manifests: Iterable[Manifest]) -> None:
    """Make the objects of a job; fails the test with the server's words where it does not take one."""
    for manifest in manifests:
        _made(live, _alone(plan, manifest), dry_run=False)


def _made(live: Live, body: dict[str, Any], dry_run: bool) -> dict[str, Any]:
    """Return the object as the server keeps it. The webhooks of a TrainJob learn of its runtime a moment after that was
    made."""

    def made() -> dict[str, Any] | None:
        try:
            return live.make(body, dry_run=dry_run)
        except AssertionError as refused:
            if body["kind"] != "TrainJob" or "not found" not in str(refused):
                raise
            return None

    return until(made, "the webhooks to know the runtime")


def _alone(plan: Plan, manifest: Manifest) -> dict[str, Any]:
    """Return the object as it is taken by itself: a queue of its own is only dry-run as well, and Volcano wants one
    that is open."""
    body = copy.deepcopy(manifest.body)
    if body["kind"] == "Secret" and plan.ssh is not None:
        body["stringData"] = identity_files(ssh_names(plan), SSH_SECRET, plan.ssh.rotation)
    if plan.queue.request is not None and body.get("spec", {}).get("queue") == plan.queue.name:
        body["spec"]["queue"] = "default"
    return body
