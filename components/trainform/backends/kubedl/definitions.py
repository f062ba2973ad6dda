"""The fields of KubeDL's jobs, as `manifests/served/notation.py` writes them. Source: KubeDL 0.5.0."""

from __future__ import annotations

from trainform.manifests.served.notation import Lacking, Table

_ANY_JOB = {
    "activeDeadlineSeconds": "int64",
    "backoffLimit": "int32",
    "cacheBackend": "mapping",
    "cleanPodPolicy": "text",
    "cronPolicy": "mapping",
    "modelVersion": "mapping",
    "schedulingPolicy": "SchedulingPolicy",
    "ttlSecondsAfterFinished": "int32",
}

KINDS: Table = {
    "training.kubedl.io/v1alpha1/PyTorchJob": {"spec": "PyTorchJob"},
    "training.kubedl.io/v1alpha1/TFJob": {"spec": "TFJob"},
}
TYPES: Table = {
    "PyTorchJob": {**_ANY_JOB, "pytorchReplicaSpecs!": "{ReplicaSpec}"},
    "TFJob": {**_ANY_JOB, "successPolicy": "text", "tfReplicaSpecs!": "{ReplicaSpec}"},
    "ReplicaSpec": {
        "replicas": "int32",
        "restartPolicy": "text",
        "spotReplicaSpec": "SpotReplicas",
        "template": "PodTemplateSpec",
    },
    "SpotReplicas": {"labels": "{text}", "priorityClassName": "text", "spotReplicaNumber": "int32"},
    "SchedulingPolicy": {"minAvailable": "int32", "priority": "int32", "priorityClassName": "text", "queue": "text"},
}
# The pods of Kubernetes 1.23.
PODS_LACK: Lacking = {
    "Container": ["resizePolicy", "restartPolicy", "restartPolicyRules"],
    "EnvVarSource": ["fileKeyRef"],
    "Lifecycle": ["stopSignal"],
    "LifecycleHandler": ["sleep"],
    "PersistentVolumeClaimSpec": ["volumeAttributesClassName"],
    "PodAffinityTerm": ["matchLabelKeys", "mismatchLabelKeys"],
    "PodSecurityContext": ["appArmorProfile", "seLinuxChangePolicy", "supplementalGroupsPolicy"],
    "PodSpec": ["hostUsers", "hostnameOverride", "os", "resourceClaims", "resources", "schedulingGates"],
    "Probe": ["grpc"],
    "ResourceRequirements": ["claims"],
    "SecurityContext": ["appArmorProfile"],
    "TopologySpreadConstraint": ["matchLabelKeys", "minDomains", "nodeAffinityPolicy", "nodeTaintsPolicy"],
    "TypedObjectReference": ["namespace"],
    "Volume": ["image"],
    "VolumeMount": ["recursiveReadOnly"],
    "VolumeProjection": ["clusterTrustBundle", "podCertificate"],
}
