"""A manifest becomes a resource: tokens, waits, replacement and retention in one place.

The objects are registered with their Pulumi token and not through `pulumi_kubernetes.core.v1`, whose import alone takes 0.45 s.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import pulumi

from trainform.catalog import defaults
from trainform.manifests.manifest import Manifest


def provider_version() -> str:
    """The provider that belongs to the SDK in use; said with every resource, so that no other is taken by chance."""
    return version("pulumi-kubernetes")


def cluster_provider(name: str, context: str | None) -> pulumi.ProviderResource:
    """The Kubernetes provider of a context of the kubeconfig; None takes the current one.

    Providers from 4.29 on refuse to create what exists; a kept claim, and what a killed `up` left, must be adopted. What is not
    ours the preflight has refused before (pulumi/pulumi-kubernetes#4278).
    """
    settings = {"upsertExistingObjects": "true"} | ({} if context is None else {"context": context})
    return pulumi.ProviderResource("kubernetes", name, settings, pulumi.ResourceOptions(version=provider_version()))


def token(api_version: str, kind: str, patch: bool = False) -> str:
    """`kubernetes:core/v1:Service`; a patch sets its own fields on an object that somebody else made."""
    group_version = api_version if "/" in api_version else f"core/{api_version}"
    return f"kubernetes:{group_version}:{kind}{'Patch' if patch else ''}"


def register(
    manifest: Manifest,
    parent: pulumi.Resource,
    depends_on: Sequence[pulumi.Resource] = (),
    spec_inputs: Mapping[str, pulumi.Input[Any]] | None = None,
) -> pulumi.CustomResource:
    """Register one object under its parent. `spec_inputs` puts outputs of other resources in place of fields of the spec."""
    body = copy.deepcopy(manifest.body)
    api_version, kind = body["apiVersion"], body["kind"]
    if spec_inputs:
        body["spec"] |= spec_inputs
    options = pulumi.ResourceOptions(
        parent=parent,
        version=provider_version(),
        # a job's accelerators must be free before the next revision can be placed
        delete_before_replace=True if kind == "Job" else None,
        retain_on_delete=True if manifest.keep else None,
        hooks=_explain_timeout(manifest),
        # ordering only: a property that came from a claim or Service would replace the job with it
        depends_on=list(depends_on),
    )
    return pulumi.CustomResource(
        token(api_version, kind, manifest.patch), f"{_stem(parent)}-{manifest.key}", body, options
    )


def _stem(parent: pulumi.Resource) -> str:
    return str(parent._name)


def _explain_timeout(manifest: Manifest) -> pulumi.ResourceHookBinding | None:
    """The provider calls a wait that ran out "timed out waiting for the condition"; this says what was waited for."""
    if manifest.body["kind"] != "Queue" or manifest.patch:
        return None
    name = manifest.body["metadata"]["name"]

    def explain(failed: pulumi.ErrorHookArgs) -> bool:
        if any("timed out" in error for error in failed.errors):
            pulumi.log.error(
                f"the queue {name} has not opened within {defaults.QUEUE_OPEN_SECONDS} s; "
                "Volcano's controller does that: look at the volcano-controllers deployment and its log, then run this again"
            )
        return False  # do not try again

    return pulumi.ResourceHookBinding(on_error=[pulumi.ErrorHook(f"explain-queue-{name}", explain)])
