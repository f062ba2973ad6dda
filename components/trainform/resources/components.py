"""The parts of a job alone, for Pulumi programs that bring their own job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from trainform.backends.job import BACKENDS, job_manifests, plan_job
from trainform.cluster.preflight import check_objects
from trainform.cluster.read import Cluster
from trainform.manifests.manifest import ownership, stamped
from trainform.manifests.objects import claim, rendezvous_service
from trainform.plan.build import plan_claim, queue_amounts
from trainform.plan.model import QueuePlan
from trainform.resources.apply import register
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.queues import QueueRequest
from trainform.spec.storage import ClaimRequest


class TrainingQueue(pulumi.ComponentResource):
    """A Volcano Queue called like the component. `queue` is its name, known only once it is open."""

    queue: pulumi.Output[str]

    def __init__(
        self, name: str, request: QueueRequest, environment: Environment, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        backend = BACKENDS[environment.backend]
        plan = QueuePlan(name, request, queue_amounts(request, environment))
        manifest = stamped(backend.queue(plan, ownership(name, environment=environment.name)))
        check_objects(Cluster(environment.cluster.context), [manifest], backend.CRDS)
        super().__init__("trainform:index:TrainingQueue", name, None, opts)
        resource = register(manifest, self)
        self.queue = resource.id.apply(lambda _: name)
        self.register_outputs({"queue": self.queue})


class SharedStorage(pulumi.ComponentResource):
    """Claims in the environment's namespace, by name. `claims` are their names, known only once they are made."""

    claims: dict[str, pulumi.Output[str]]

    def __init__(
        self,
        name: str,
        claims: Mapping[str, ClaimRequest],
        environment: Environment,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        labels = ownership(name, environment=environment.name)
        manifests = {
            key: stamped(claim(plan_claim(key, key, request, environment), environment.namespace.name, labels))
            for key, request in claims.items()
        }
        check_objects(Cluster(environment.cluster.context), list(manifests.values()))
        super().__init__("trainform:index:SharedStorage", name, None, opts)
        self.claims = {}
        for key, manifest in manifests.items():
            resource = register(manifest, self)
            self.claims[key] = resource.id.apply(lambda _, key=key: key)  # type: ignore[misc]
        self.register_outputs({"claims": self.claims})


class Rendezvous(pulumi.ComponentResource):
    """A headless Service that gives each selected pod with `subdomain: <name>` the address `<pod>.<name>`, ready or not."""

    service: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        selector: Mapping[str, str],
        environment: Environment,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        labels = ownership(name, environment=environment.name)
        manifest = stamped(rendezvous_service(name, environment.namespace.name, dict(selector), labels))
        check_objects(Cluster(environment.cluster.context), [manifest])
        super().__init__("trainform:index:Rendezvous", name, None, opts)
        resource = register(manifest, self)
        self.service = resource.id.apply(lambda _: name)
        self.register_outputs({"service": self.service})


class RoleGroup(pulumi.ComponentResource):
    """The pod template of one role, for a workload of your own; it registers no object.

    `template` is the pod template as a job of the environment's backend would hold it, `replicas` how many pods it is for.
    """

    template: pulumi.Output[dict[str, Any]]
    replicas: pulumi.Output[int]

    def __init__(
        self,
        name: str,
        experiment: Experiment,
        environment: Environment,
        role: str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        plan = plan_job(experiment, environment)
        body = next(manifest.body for manifest in job_manifests(plan) if manifest.key == "job")
        task = next(task for task in body["spec"]["tasks"] if task["name"] == role)
        super().__init__("trainform:index:RoleGroup", name, None, opts)
        self.template = pulumi.Output.from_input(task["template"])
        self.replicas = pulumi.Output.from_input(task["replicas"])
        self.register_outputs({"template": self.template, "replicas": self.replicas})
