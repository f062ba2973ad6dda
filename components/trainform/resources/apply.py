"""A manifest becomes a resource: tokens, waits, replacement and retention in one place.

The objects are registered with their Pulumi token and not through `pulumi_kubernetes.core.v1`, whose import alone takes 0.45 s.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import pulumi

from trainform.errors import TrainformError
from trainform.manifests.manifest import Manifest, resource_name
from trainform.resources.hooks import hooks_of
from trainform.spec.environment import Environment


def provider_version() -> str:
    """The provider that belongs to the SDK in use; said with every resource, so that no other is taken by chance."""
    return version("pulumi-kubernetes")


def cluster_provider(component: pulumi.ComponentResource, environment: Environment) -> pulumi.ProviderResource | None:
    """The provider of the environment's cluster, as a child of the component; None where the component was given one.

    So the objects are made where the preflight has looked. Providers from 4.29 on refuse to create what exists; a kept claim, and
    what a killed `up` left, must be adopted, and what is not ours the preflight has refused (pulumi/pulumi-kubernetes#4278). A Secret is
    changed in place: a provider without that setting deletes it first at a rotation of keys, and pods that start then have none.
    """
    if component.get_provider("kubernetes:core/v1:Service") is not None:
        return None
    context = environment.cluster.context
    settings = {"upsertExistingObjects": "true", "enableSecretMutable": "true"} | (
        {} if context is None else {"context": context}
    )
    options = pulumi.ResourceOptions(parent=component, version=provider_version())
    return pulumi.ProviderResource("kubernetes", f"{component._name}-cluster", settings, options)


@contextlib.contextmanager
def told() -> Iterator[None]:
    """Errors of ours as `pulumi.RunError`, which the engine prints without a stack trace."""
    try:
        yield
    except TrainformError as error:
        raise pulumi.RunError("\n".join(["", *error.lines()])) from None


def token(api_version: str, kind: str, patch: bool = False) -> str:
    """`kubernetes:core/v1:Service`; a patch sets its own fields on an object that somebody else made."""
    group_version = api_version if "/" in api_version else f"core/{api_version}"
    return f"kubernetes:{group_version}:{kind}{'Patch' if patch else ''}"


def register(
    manifest: Manifest,
    parent: pulumi.Resource,
    provider: pulumi.ProviderResource | None,
    depends_on: Sequence[pulumi.Resource] = (),
    spec_inputs: Mapping[str, pulumi.Input[Any]] | None = None,
    secrets: Mapping[str, pulumi.Input[Any]] | None = None,
) -> pulumi.CustomResource:
    """Register one object under its parent; without a provider it takes the parent's. `spec_inputs` puts outputs of other resources in
    place of fields of the spec, `secrets` values in place of masked fields of the object: state holds them encrypted."""
    body = copy.deepcopy(manifest.body) | dict(secrets if secrets is not None else {})
    api_version, kind = body["apiVersion"], body["kind"]
    if spec_inputs:
        body["spec"] |= spec_inputs
    options = pulumi.ResourceOptions(
        parent=parent,
        provider=provider,
        version=provider_version(),
        # a job's accelerators must be free before the next revision can be placed
        delete_before_replace=True if manifest.is_job else None,
        retain_on_delete=True if manifest.keep else None,
        # the API server turns stringData into data
        additional_secret_outputs=["data", *secrets] if secrets is not None else None,
        hooks=hooks_of(manifest),
        # ordering only: a property that came from a claim or Service would replace the job with it
        depends_on=list(depends_on),
    )
    name = resource_name(parent._name, manifest)
    return pulumi.CustomResource(token(api_version, kind, manifest.patch), name, body, options)


def once_made(resource: pulumi.CustomResource, value: str) -> pulumi.Output[str]:
    """The value, unknown until the resource is there: the first preview then does not ask webhooks about what refers to it, and `up` and
    `destroy` keep the order."""
    return resource.id.apply(lambda _: value)
