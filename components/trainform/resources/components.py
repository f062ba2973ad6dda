"""The components that a job is made of; alone they serve Pulumi programs with their own job object.

Each component checks its input and the live cluster first, as `TrainingJob` does. It makes its objects on the
environment's cluster unless `opts` brings a Kubernetes provider.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pulumi
from msgspec import structs
from pydantic import BaseModel, Field

from trainform.backends.admission import CRDS, queue_manifest
from trainform.backends.backend import BACKENDS
from trainform.errors import InputError, Problem
from trainform.job.check import check_environment, check_experiment
from trainform.manifests.manifest import Manifest, ownership, with_own_annotations
from trainform.manifests.objects import claim, launch_files, rendezvous_service, user_files
from trainform.plan.build import plan_claim, queue_amounts
from trainform.plan.model import Plan, QueuePlan
from trainform.resources.apply import as_run_error, set_outputs
from trainform.resources.part import Part
from trainform.rules.references import environment_problems
from trainform.spec.base_model import Model
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.layers import merge_patch
from trainform.spec.load import parse, type_problems
from trainform.spec.names import LabelKey, LabelValue, ServiceLabel
from trainform.spec.queue_fields import QueueRequest
from trainform.spec.storage import ClaimRequest


class TrainingQueue(Part):
    """A Volcano Queue with the name of the component."""

    OUTPUT = "queue"
    queue: pulumi.Output[str]
    """Name of the queue, known when the queue is open."""

    def __init__(
        self,
        name: str,
        request: QueueRequest,
        environment: Environment | str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """name: name of the component, and of the queue in the cluster.
        request: the fields of the queue.
        environment: the environment, as a model, by its name in `stacks/environments` or by the path of its file.
        opts: options. The objects are made on the environment's cluster, unless they bring a Kubernetes provider.
        """
        with as_run_error():
            environment = add_own(check_environment(environment).or_raise(), "queues", {name: request}, QueueRequest)
            plan = QueuePlan(name, request, queue_amounts(request, environment))
            manifest = with_own_annotations(queue_manifest(plan, ownership(name, environment=environment.name)))
        set_outputs(self, self._outputs(self._make(name, request.user_set(), [manifest], environment, opts, CRDS)))


class SharedStorage(Part):
    """Claims in the environment's namespace."""

    claims: pulumi.Output[Mapping[str, str]]
    """Names of the claims, by the keys of the input, known when the claims exist."""

    def __init__(
        self,
        name: str,
        claims: Mapping[str, ClaimRequest],
        environment: Environment | str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """name: name of the component; the names of its resources begin with it.
        claims: the claims that are made, by their names in the cluster.
        environment: the environment, as a model, by its name in `stacks/environments` or by the path of its file.
        opts: options. The objects are made on the environment's cluster, unless they bring a Kubernetes provider.
        """
        with as_run_error():
            environment = add_own(check_environment(environment).or_raise(), "claims", claims, ClaimRequest)
            labels = ownership(name, environment=environment.name)
            manifests = [
                with_own_annotations(
                    claim(plan_claim(key, key, request, environment), environment.namespace.name, labels)
                )
                for key, request in claims.items()
            ]
        requests = {key: request.user_set() for key, request in claims.items()}
        set_outputs(self, self._outputs(self._make(name, {"requests": requests}, manifests, environment, opts)))

    def _outputs(self, names: Mapping[str, pulumi.Output[str]]) -> dict[str, Any]:
        return {"claims": {key.removeprefix("claim-"): claim for key, claim in names.items()}}


class _RendezvousInputs(Model):
    """The input of a `Rendezvous`."""

    name: ServiceLabel
    selector: dict[LabelKey, LabelValue] = Field(min_length=1)


class Rendezvous(Part):
    """A headless Service that gives each selected pod with `subdomain: <name>` the address `<pod>.<name>`, ready or
    not."""

    OUTPUT = "service"
    service: pulumi.Output[str]
    """Name of the Service, known when the Service exists."""

    def __init__(
        self,
        name: str,
        selector: Mapping[str, str],
        environment: Environment | str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """name: name of the component, and of the Service in the cluster.
        selector: labels of the pods that get an address.
        environment: the environment, as a model, by its name in `stacks/environments` or by the path of its file.
        opts: options. The objects are made on the environment's cluster, unless they bring a Kubernetes provider.
        """
        with as_run_error():
            environment = check_environment(environment).or_raise()
            problems = type_problems("selector", selector, Mapping, "a mapping", "write `{LABEL: VALUE}`")
            if not problems:
                problems = [*parse(_RendezvousInputs, {"name": name, "selector": dict(selector)}).problems]
            if problems:
                raise InputError(problems)
            labels = ownership(name, environment=environment.name)
            manifest = with_own_annotations(
                rendezvous_service(name, environment.namespace.name, dict(selector), labels)
            )
        set_outputs(self, self._outputs(self._make(name, {"selector": dict(selector)}, [manifest], environment, opts)))


class RoleGroup(Part):
    """The pod template of one role, for a workload of your own, with the launch script and the files that it mounts.

    Its addresses need a `Rendezvous` with the experiment's name. With SSH it mounts the Secret of an `SshIdentity`
    named `<experiment>-ssh` with that service.
    """

    template: pulumi.Output[dict[str, Any]]
    """The pod template, as in a job of the experiment's backend."""
    replicas: pulumi.Output[int]
    """Number of pods that the template is for."""

    def __init__(
        self,
        name: str,
        experiment: Experiment | str,
        environment: Environment | str,
        role: str,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """name: name of the component; the name of the launch script in the cluster begins with it.
        experiment: the experiment, as a model, by its name in `stacks/experiments` or by the path of its file.
        environment: the environment, as a model, by its name in `stacks/environments` or by the path of its file.
        role: name of the role in the experiment.
        opts: options. The objects are made on the environment's cluster, unless they bring a Kubernetes provider.
        """
        with as_run_error():
            problems = type_problems("role", role, str, "text", "write the name of a role as text")
            if problems:
                raise InputError(problems)
            job = check_experiment(experiment, environment).or_raise()
            experiment, environment, plan = job.experiment, job.environment, job.plan
            backend = BACKENDS[plan.backend]
            pods = [template for template in backend.templates(plan, job.manifests) if template.role == role]
            _refuse_role(plan, role, len(pods))
            template = pods[0].body
            mounting: dict[str, list[str]] = {}  # volumes by the ConfigMap that they mount
            for volume in template["spec"].get("volumes", []):
                mounting.setdefault(volume.get("configMap", {}).get("name", ""), []).append(volume["name"])
            # other names, since a job of the same experiment may exist too
            own = {
                plan.launch_files: (launch_files(plan, backend.files(plan)), f"{name}-{plan.revision}"),
                plan.user_files: (user_files(plan), f"{name}-{plan.revision}-files"),
            }
            made = [_renamed(*own[config_map]) for config_map in own if config_map in mounting]
        inputs = {**experiment.roles[role].user_set(), "experiment": experiment.name}
        names = self._make(name, inputs, made, environment, opts)
        for config_map, (manifest, _) in own.items():
            volume = {"configMap": {"name": names.get(manifest.key)}}
            volumes = dict.fromkeys(mounting.get(config_map, ()), volume)
            template = merge_patch(template, {"spec": {"volumes": volumes}}) if volumes else template
        set_outputs(self, {"template": template, "replicas": pods[0].replicas})


def _renamed(manifest: Manifest, name: str) -> Manifest:
    body = manifest.body | {"metadata": manifest.body["metadata"] | {"name": name}}
    return with_own_annotations(structs.replace(manifest, body=body))


def _refuse_role(plan: Plan, role: str, templates: int) -> None:
    """Raise `InputError` for a role that another workload cannot run. templates: how many the job has of it."""
    reason, fix = "", "use `TrainingJob`, or `ports: shared`"
    written = [each.written for each in plan.roles]
    if role not in written:
        known = ", ".join(dict.fromkeys(written))
        reason, fix = f"the experiment {plan.experiment} has no role of this name", f"known: {known}"
    elif written.count(role) > 1:
        reason = "the first pod of the role launches, and has another template than the others"
        fix = "use `TrainingJob`, or launch from a role of one replica"
    elif templates > 1:
        reason = "the role has a template for each of its replicas (network.ports: per-replica)"
    elif plan.by_name[role].stays:
        reason = (
            "the role's pods keep running after a success until their job ends (`stay.sh`), and a workload of your own "
            "has no such job"
        )
    elif templates == 0:
        reason = f"the role has no replicas, and a job of the backend {plan.backend} contains no template for it"
        fix = "give it replicas"
    if reason:
        raise InputError([Problem("role", role, reason, fix)])


def add_own(environment: Environment, field: str, own: object, model: type[BaseModel]) -> Environment:
    """Return the environment with the program's queues or claims (`own`) added to the field. InputError with every
    problem of the result, or of the types of `own`."""
    problems = [*_own_problems(field, own, model)]
    parsed = None
    if isinstance(own, Mapping) and not problems:
        data = environment.model_dump(by_alias=True, exclude_none=True)
        data[field] |= {name: each.model_dump(by_alias=True, exclude_none=True) for name, each in own.items()}
        parsed = parse(Environment, data)
        problems = [*parsed.problems, *([] if parsed.model is None else environment_problems(parsed.model))]
    if problems or parsed is None or parsed.model is None:
        raise InputError(problems)
    return parsed.model


def _own_problems(field: str, own: object, model: type[BaseModel]) -> Iterator[Problem]:
    name = model.__name__
    if not isinstance(own, Mapping):
        yield from type_problems(field, own, Mapping, "a mapping", f"write `{{NAME: {name}(…)}}`")
        return
    for key, request in own.items():
        yield from type_problems(f"{field}.{key}", request, model, f"a model {name}", f"write `{name}(…)`")
