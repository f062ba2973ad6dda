"""Pod fields that KubeDL's CRDs do not have: the API server drops them silently.

Source: the schema of a pod in the CRDs of KubeDL 0.5.0, which is that of Kubernetes 1.22, compared with that of JobSet 0.12.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainform.backends.paths import places, written

RELEASE = "1.22"
_OF_CONTAINERS = (
    "env.*.valueFrom.fileKeyRef",
    "lifecycle.postStart.sleep",
    "lifecycle.preStop.sleep",
    "lifecycle.stopSignal",
    "livenessProbe.grpc",
    "readinessProbe.grpc",
    "resizePolicy",
    "resources.claims",
    "restartPolicy",
    "restartPolicyRules",
    "securityContext.appArmorProfile",
    "startupProbe.grpc",
    "volumeMounts.*.recursiveReadOnly",
)
_OF_TERMS = ("matchLabelKeys", "mismatchLabelKeys")
_TERMS = (
    "preferredDuringSchedulingIgnoredDuringExecution.*.podAffinityTerm",
    "requiredDuringSchedulingIgnoredDuringExecution.*",
)
NEWER = (
    *(f"{kind}.*.{field}" for kind in ("initContainers", "containers") for field in _OF_CONTAINERS),
    *(
        f"affinity.{kind}.{term}.{field}"
        for kind in ("podAffinity", "podAntiAffinity")
        for term in _TERMS
        for field in _OF_TERMS
    ),
    "hostUsers",
    "hostnameOverride",
    "os",
    "resourceClaims",
    "resources",
    "schedulingGates",
    "schedulingGroup",
    "securityContext.appArmorProfile",
    "securityContext.seLinuxChangePolicy",
    "securityContext.supplementalGroupsPolicy",
    "topologySpreadConstraints.*.matchLabelKeys",
    "topologySpreadConstraints.*.minDomains",
    "topologySpreadConstraints.*.nodeAffinityPolicy",
    "topologySpreadConstraints.*.nodeTaintsPolicy",
    "volumes.*.ephemeral.volumeClaimTemplate.spec.dataSourceRef.namespace",
    "volumes.*.ephemeral.volumeClaimTemplate.spec.volumeAttributesClassName",
    "volumes.*.image",
    "volumes.*.projected.sources.*.clusterTrustBundle",
    "volumes.*.projected.sources.*.podCertificate",
)


def dropped(spec: Any) -> Iterator[str]:
    """The path of each such field in a pod's spec."""
    for path in NEWER:
        yield from (written(where) for _, _, where in places(spec, path))
