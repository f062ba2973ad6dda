"""The parts of a job alone, for Pulumi programs that bring their own job.

Each checks its input and the live cluster first, as `TrainingJob` does, and makes its objects on the environment's cluster unless
`opts` brings a Kubernetes provider.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import pulumi

from trainform.backends.job import BACKENDS, job_manifests, plan_job
from trainform.backends.queues import CRDS, queue_manifest
from trainform.cluster.preflight import check_objects
from trainform.cluster.read import Cluster
from trainform.errors import InputError, Problem
from trainform.examine import resolve, resolve_environment, with_own
from trainform.manifests.manifest import Manifest, ownership, stamped
from trainform.manifests.merge_patch import merge_patch
from trainform.manifests.objects import claim, launch_files, rendezvous_service
from trainform.plan.build import plan_claim, queue_amounts
from trainform.plan.model import QueuePlan
from trainform.resources.apply import cluster_provider, register, told
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.queues import QueueRequest
from trainform.spec.storage import ClaimRequest


class TrainingQueue(pulumi.ComponentResource):
    """A Volcano Queue called like the component. `queue` is its name, known only once it is open."""

    queue: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        request: QueueRequest,
        environment: Environment | str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        with told():
            environment = with_own(resolve_environment(environment), queues={name: request})
            plan = QueuePlan(name, request, queue_amounts(request, environment))
            manifest = stamped(queue_manifest(plan, ownership(name, environment=environment.name)))
            check_objects(Cluster(environment.cluster.context), [manifest], CRDS)
        super().__init__("trainform:index:TrainingQueue", name, None, opts)
        resource = register(manifest, self, cluster_provider(self, environment))
        self.queue = resource.id.apply(lambda _: name)
        self.register_outputs({"queue": self.queue})


class SharedStorage(pulumi.ComponentResource):
    """Claims in the environment's namespace, by name. `claims` are their names, known only once they are made."""

    claims: dict[str, pulumi.Output[str]]

    def __init__(
        self,
        name: str,
        claims: Mapping[str, ClaimRequest],
        environment: Environment | str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        with told():
            environment = with_own(resolve_environment(environment), claims=dict(claims))
            labels = ownership(name, environment=environment.name)
            manifests = {
                key: stamped(claim(plan_claim(key, key, request, environment), environment.namespace.name, labels))
                for key, request in claims.items()
            }
            check_objects(Cluster(environment.cluster.context), list(manifests.values()))
        super().__init__("trainform:index:SharedStorage", name, None, opts)
        provider = cluster_provider(self, environment)
        self.claims = {}
        for key, manifest in manifests.items():
            resource = register(manifest, self, provider)
            self.claims[key] = resource.id.apply(lambda _, key=key: key)  # type: ignore[misc]
        self.register_outputs({"claims": self.claims})


class Rendezvous(pulumi.ComponentResource):
    """A headless Service that gives each selected pod with `subdomain: <name>` the address `<pod>.<name>`, ready or not."""

    service: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        selector: Mapping[str, str],
        environment: Environment | str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        with told():
            environment = resolve_environment(environment)
            labels = ownership(name, environment=environment.name)
            manifest = stamped(rendezvous_service(name, environment.namespace.name, dict(selector), labels))
            check_objects(Cluster(environment.cluster.context), [manifest])
        super().__init__("trainform:index:Rendezvous", name, None, opts)
        resource = register(manifest, self, cluster_provider(self, environment))
        self.service = resource.id.apply(lambda _: name)
        self.register_outputs({"service": self.service})


class RoleGroup(pulumi.ComponentResource):
    """The pod template of one role, for a workload of your own, with the launch script that it mounts.

    `template` is the pod template as a job of the environment's backend would hold it, `replicas` how many pods it is for. Addresses
    in it are those of a job of the experiment: `Rendezvous` with the experiment's name makes the Service behind them, and `SshIdentity`
    called `<experiment>-ssh`, with that service, the Secret that it mounts.
    """

    template: pulumi.Output[dict[str, Any]]
    replicas: pulumi.Output[int]

    def __init__(
        self,
        name: str,
        experiment: Experiment | str,
        environment: Environment | str,
        role: str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        with told():
            experiment, environment = resolve(experiment, environment)
            if role not in experiment.roles:
                known = ", ".join(experiment.roles)
                raise InputError([Problem("role", role, f"is not a role of {experiment.name}", f"known: {known}")])
            plan = plan_job(experiment, environment)
            backend = BACKENDS[plan.backend]
            pods = [made for made in backend.templates(plan, job_manifests(plan)) if made.role == role]
            if len(pods) > 1:
                reason = "has a template for each of its replicas (network.ports: per-replica)"
                raise InputError([Problem("role", role, reason, "use `TrainingJob`, or `ports: shared`")])
            if plan.by_name[role].stays:
                reason = "has pods that stay up after a success, until their job ends (`stay.sh`), and a workload of your own has no such job"
                raise InputError([Problem("role", role, reason, "use `TrainingJob`, or `ports: shared`")])
            if not pods:
                reason = f"has no replicas, and a job of the backend {plan.backend} holds no template for it"
                raise InputError([Problem("role", role, reason, "give it replicas")])
            script = stamped(_renamed(launch_files(plan, backend.files(plan)), f"{name}-{plan.revision}"))
            check_objects(Cluster(environment.cluster.context), [script])
        super().__init__("trainform:index:RoleGroup", name, None, opts)
        template = pods[0].body
        volumes = template["spec"].get("volumes", [])
        mounting = [
            volume["name"] for volume in volumes if volume.get("configMap", {}).get("name") == plan.launch_files
        ]
        if mounting:
            resource = register(script, self, cluster_provider(self, environment))
            made = {"configMap": {"name": resource.id.apply(lambda _: script.body["metadata"]["name"])}}
            template = merge_patch(template, {"spec": {"volumes": dict.fromkeys(mounting, made)}})
        self.template = pulumi.Output.from_input(template)
        self.replicas = pulumi.Output.from_input(pods[0].replicas)
        self.register_outputs({"template": self.template, "replicas": self.replicas})


def _renamed(manifest: Manifest, name: str) -> Manifest:
    """The object under another name: the job of the same experiment may stand beside it."""
    return dataclasses.replace(manifest, body=manifest.body | {"metadata": manifest.body["metadata"] | {"name": name}})
