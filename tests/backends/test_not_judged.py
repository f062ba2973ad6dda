"""What no rule judges of an object is told."""

from __future__ import annotations

from typing import Any

import pytest

from trainform.backends.not_judged import not_judged

TARGET = {"scaleTargetRef": {"kind": "Deployment", "name": "serve"}}
TOLD = [
    ("autoscaling/v2", "HorizontalPodAutoscaler", {**TARGET, "maxReplicas": 40}, "Deployment serve (up to 40)"),
    ("keda.sh/v1alpha1", "ScaledObject", TARGET, "Deployment serve (no bound)"),
    ("networking.k8s.io/v1", "Ingress", {}, "outside of the cluster"),
    ("kueue.x-k8s.io/v1beta1", "LocalQueue", {"clusterQueue": "team-b"}, "ClusterQueue"),
    ("v1", "Namespace", {}, "what it lets others do"),
    ("v1", "Node", {}, "what it lets others do"),
    ("v1", "Endpoints", {}, "what it lets others do"),
    ("v1", "LimitRange", {}, "what it lets others do"),
    ("v1", "ResourceQuota", {}, "what it lets others do"),
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", {}, "what it lets others do"),
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", {}, "what it lets others do"),
    ("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicy", {}, "what it lets others do"),
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding", {}, "what it lets others do"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition", {}, "what it lets others do"),
    ("discovery.k8s.io/v1", "EndpointSlice", {}, "what it lets others do"),
    ("node.k8s.io/v1", "RuntimeClass", {}, "what it lets others do"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", {}, "what it lets others do"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding", {}, "what it lets others do"),
    ("v1", "Binding", {}, "which node"),
    ("bus.volcano.sh/v1alpha1", "Command", {}, "which job or queue it ends"),
    ("argoproj.io/v1alpha1", "Application", {}, "made from what it names"),
    ("argoproj.io/v1alpha1", "ApplicationSet", {}, "made from what it names"),
    ("helm.cattle.io/v1", "HelmChart", {}, "made from what it names"),
    ("helm.toolkit.fluxcd.io/v2", "HelmRelease", {}, "made from what it names"),
    ("kustomize.toolkit.fluxcd.io/v1", "Kustomization", {}, "made from what it names"),
    ("batch.volcano.sh/v1alpha1", "Job", {"volumes": [{"volumeClaim": {"storageClassName": "fast"}}]}, "spec.volumes[0].volumeClaim"),
]  # fmt: skip


@pytest.mark.parametrize(("version", "kind", "spec", "said"), TOLD)
def test_it_is_told(version: str, kind: str, spec: dict[str, Any], said: str) -> None:
    [told] = not_judged({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec})
    assert said in told


@pytest.mark.parametrize(("version", "kind", "spec"), [
    ("v1", "Service", {}), ("example.com/v1", "Ingress", {}), ("batch.volcano.sh/v1alpha1", "Job", {"volumes": [{"volumeClaimName": "runs"}]}),
])  # fmt: skip
def test_what_a_rule_judges_is_not_told(version: str, kind: str, spec: dict[str, Any]) -> None:
    assert [*not_judged({"apiVersion": version, "kind": kind, "metadata": {"name": "x"}, "spec": spec})] == []


@pytest.mark.parametrize(("kind", "number"), [("kubernetes.io/service-account-token", 1), ("Opaque", 0), (None, 0)])
def test_a_token_of_the_cluster_is_told(kind: str | None, number: int) -> None:
    assert len([*not_judged({"apiVersion": "v1", "kind": "Secret", "type": kind, "data": {}})]) == number
