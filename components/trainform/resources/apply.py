"""Manifests as Pulumi resources: their type tokens, options, provider and the errors of a program.

The objects are registered by their type token and not through `pulumi_kubernetes.core.v1`, because that import alone
takes 0.45 s.
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import functools
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import pulumi
from msgspec import Struct
from pulumi.resource import DependencyResource
from pulumi.runtime import stack

from trainform import defaults
from trainform.backends.backend import JOB_TYPES
from trainform.cluster.api import NOT_ENDED, ClusterApi, labelled
from trainform.cluster.live_objects import path_of
from trainform.cluster.outcome import Outcome
from trainform.console.lines import escaped
from trainform.errors import ClusterError, TrainformError
from trainform.manifests.manifest import Manifest, resource_name
from trainform.manifests.objects import SKIP_AWAIT
from trainform.plan.model import Plan
from trainform.resources.preflight import mocked
from trainform.spec.environment import Environment
from trainform.spec.stack import NAMESPACE

ATTEMPTS = 10
AGAIN_SECONDS = 1.0
OLD_PODS_SECONDS = 600.0  # as long as the provider waits for other deletions
# The SDK's error for outputs of a failed resource. 3.272 does not have it: there the URN of such a resource is known.
REGISTRATION_FAILED: type[Exception] | tuple[()] = getattr(stack, "ResourceRegistrationFailed", ())


@functools.cache
def provider_version() -> str:
    """Return the version of the SDK and the provider. Every resource names it, so the engine uses no other one."""
    return version("pulumi-kubernetes")


def cluster_provider(component: pulumi.ComponentResource, environment: Environment) -> pulumi.ProviderResource | None:
    """Return a provider for the environment's cluster, as a child of the component; None if its options have one.

    With it the objects are created in the cluster that the preflight has checked. Providers since 4.29 refuse to create
    an object that exists (pulumi/pulumi-kubernetes#4278), but a kept claim and the objects of a killed `up` must be
    adopted; the preflight has refused objects of other owners before. Secrets and ConfigMaps are changed in place:
    without these settings a rotation of keys deletes the Secret first, and pods that start at that moment have no keys,
    and each change deletes the record of what is deployed.

    With `clusterIdentifier` only another cluster replaces the provider and with it every object, not another kubeconfig
    of the same one. The provider never compares it with the cluster that answers: the preflight does. Its `strictMode`
    is left out: it demands the kubeconfig itself as an input, whose credentials or whose path on one machine would be
    in the state.
    """
    if component.get_provider("kubernetes:core/v1:Service") is not None:
        return None
    cluster = environment.cluster
    identity = {"context": cluster.context, "clusterIdentifier": cluster.uid}
    settings = {
        **dict.fromkeys(("upsertExistingObjects", "enableSecretMutable", "enableConfigMapMutable"), "true"),
        **{name: value for name, value in identity.items() if value is not None},
    }
    options = pulumi.ResourceOptions(parent=component, version=provider_version())
    return pulumi.ProviderResource("kubernetes", f"{component._name}-cluster", settings, options)


class Target(Struct, frozen=True):
    """Where objects are created. provider: None for the parent's. context: of the kubeconfig, None for the current."""

    provider: pulumi.ProviderResource | None
    context: str | None


def target_of(component: pulumi.ComponentResource, environment: Environment) -> Target:
    """Return the environment's cluster for objects of the component."""
    return Target(cluster_provider(component, environment), environment.cluster.context)


@contextlib.contextmanager
def as_run_error() -> Iterator[None]:
    """Raise errors of trainform in the block as `pulumi.RunError`, which the engine prints without a stack trace."""
    try:
        yield
    except TrainformError as error:
        raise pulumi.RunError("\n".join(["", *error.lines()])) from None


def show_outcome(outcome: Outcome, component: pulumi.Resource) -> None:
    """Show the warnings, and what could not be checked, among the diagnostics of a preview and an `up`."""
    for text in outcome.warnings:
        pulumi.log.warn(escaped(text), component)
    for what, reason in outcome.not_checked:
        pulumi.log.info(escaped(f"{defaults.NOT_CHECKED}{what}: {reason}"), component)


def token(api_version: str, kind: str, patch: bool = False) -> str:
    """Return the Pulumi type of an object: `kubernetes:core/v1:Service`. A patch type changes its own fields only."""
    group_version = api_version if "/" in api_version else f"core/{api_version}"
    return f"kubernetes:{group_version}:{kind}{'Patch' if patch else ''}"


def register(
    manifest: Manifest,
    parent: pulumi.Resource,
    target: Target,
    owner: str,
    depends_on: Sequence[pulumi.Input[pulumi.Resource]] = (),
    spec_inputs: Mapping[str, pulumi.Input[Any]] | None = None,
    secrets: Mapping[str, pulumi.Input[Any]] | None = None,
) -> pulumi.CustomResource:
    """Register one object as a child of `parent` and return the resource.

    owner: the job or the component whose name begins the resource's name. spec_inputs: outputs of other resources that
    replace fields of the spec. secrets: values that replace masked fields of the object; the state holds them
    encrypted.
    """
    body = copy.deepcopy(manifest.body) | dict(secrets if secrets is not None else {})
    api_version, kind = body["apiVersion"], body["kind"]
    if spec_inputs:
        body["spec"] |= spec_inputs
    name, type_ = resource_name(owner, manifest), token(api_version, kind, manifest.patch)
    options = pulumi.ResourceOptions(
        parent=parent,
        provider=target.provider,
        version=provider_version(),
        # the old job must free its accelerators before the pods of the next revision can be scheduled
        delete_before_replace=True if manifest.is_job else None,
        aliases=_operator_aliases(type_) if manifest.is_job else None,
        retain_on_delete=True if manifest.keep else None,
        ignore_changes=[*manifest.controller_owned] if manifest.controller_owned else None,
        # the API server turns stringData into data
        additional_secret_outputs=["data", *secrets] if secrets is not None else None,
        hooks=hooks_of(manifest, f"{parent.pulumi_resource_type}::{name}", target.context),
        # the order alone: with a property of a claim or Service, replacing that object would replace the job
        depends_on=list(depends_on),
    )
    return pulumi.CustomResource(type_, name, body, options)


def _operator_aliases(type_: str) -> list[pulumi.Input[str | pulumi.Alias]]:
    """Return the types of the job object on other operators as aliases. With them the engine replaces the job, and
    deletes the running one first. Without them both jobs would run and write the checkpoints."""
    return [pulumi.Alias(type_=other) for each in JOB_TYPES if (other := f"kubernetes:{each}") != type_]


def after_attempt(resource: pulumi.CustomResource, parent: pulumi.Resource) -> pulumi.Output[pulumi.Resource]:
    """Return the child of `parent` for `depends_on` of a resource that the engine must skip if the child fails.

    With `pulumi up --continue-on-error` a dependency on a child that failed ends the whole program with a traceback,
    and other jobs of the program are not made. A dependency on its URN does not, and the engine skips the resource.
    """

    async def waited() -> pulumi.Resource:
        try:
            await resource.urn.future()
        except REGISTRATION_FAILED:
            urn = pulumi.create_urn(resource.pulumi_resource_name, resource.pulumi_resource_type, parent)
            return DependencyResource(str(await urn.future()))
        return resource

    return pulumi.Output.from_input(waited())


def set_outputs(component: pulumi.ComponentResource, outputs: Mapping[str, Any]) -> None:
    """Register the outputs, and set each as an attribute of the component."""
    for key, value in outputs.items():
        setattr(component, key, pulumi.Output.from_input(value))
    component.register_outputs(dict(outputs))


def output_after(resource: pulumi.CustomResource, value: str) -> pulumi.Output[str]:
    """Return the value as an output that is unknown until the resource exists.

    The first preview then does not send objects that refer to it to the webhooks, and `up` and `destroy` keep the
    order.
    """
    return resource.id.apply(lambda _: value)


# --- hooks: a wait before the provider creates an object, an explanation or another attempt when it fails to


def hooks_of(manifest: Manifest, resource: str, context: str | None) -> pulumi.ResourceHookBinding | None:
    """Return the hooks of the object; None if its creation needs none.

    `resource` is unique in the program: names of hooks must be unique, and objects of two namespaces may share one.
    """
    if manifest.patch or mocked():
        return None
    if manifest.is_job and SKIP_AWAIT.items() <= manifest.body["metadata"].get("annotations", {}).items():
        hook = pulumi.ResourceHook(resource, lambda _: _wait_for_old_pods(manifest.body["metadata"], context))
        return pulumi.ResourceHookBinding(before_create=[hook])
    if not manifest.late_refusals:
        return None
    kind, name = manifest.body["kind"], manifest.body["metadata"]["name"]

    def again(failed: pulumi.ErrorHookArgs) -> bool:
        if kind == "Queue" and any("timed out" in error for error in failed.errors):
            # the provider's own error is "timed out waiting for the condition"
            reason = f"the queue {name} has not opened within {defaults.QUEUE_OPEN_SECONDS} s; "
            fix = "Volcano's controller opens queues: see the log of volcano-controllers, then run this again"
            pulumi.log.error(escaped(reason + fix))
        # a webhook may not see yet another object that was just created
        late = any(all(word in failed.errors[0] for word in words) for words in manifest.late_refusals)
        if not late or len(failed.errors) >= ATTEMPTS:
            return False
        time.sleep(AGAIN_SECONDS)
        return True

    return pulumi.ResourceHookBinding(on_error=[pulumi.ErrorHook(resource, again)])


async def _wait_for_old_pods(metadata: Mapping[str, Any], context: str | None) -> None:
    """Wait until no pod of another revision runs: the engine has deleted its job, and the provider does not wait
    for the end of its pods. Two revisions at the same time would write the same checkpoints."""
    labels, path = metadata["labels"], path_of("Pod", metadata["namespace"])
    others = f"{defaults.REVISION_LABEL}!={labels[defaults.REVISION_LABEL]}"
    running = {**labelled({defaults.NAME_LABEL: labels[defaults.NAME_LABEL]}, others), **NOT_ENDED}
    end = time.monotonic() + OLD_PODS_SECONDS
    try:
        with contextlib.closing(ClusterApi(context, 2.0 * defaults.CONNECT_SECONDS)) as api:
            while api.find_all(path, "list the pods of the old job", parameters=running):
                if time.monotonic() > end:
                    reason = f"pods of another revision still run after {OLD_PODS_SECONDS:.0f} s"
                    raise TrainformError(reason, "wait for their end, and run `pulumi up` again")
                await asyncio.sleep(AGAIN_SECONDS)
    except ClusterError as error:
        pulumi.log.warn(escaped(f"not waited for pods of another revision: {error}"))


def look_command(plan: Plan, environment: Environment) -> str:
    """Return the command that shows the job, or its pods if the stack's config names no experiment. It has no revision,
    so that it is no change in the previews of a job."""
    if pulumi.Config(NAMESPACE).get("experiment"):
        return shlex.join(["trainform", "status", pulumi.get_stack()])
    context = environment.cluster.context
    words = ["kubectl", "get", "pods", "-n", plan.namespace, "-l", f"{defaults.NAME_LABEL}={plan.experiment}"]
    return shlex.join(words if context is None else [*words, "--context", context])
