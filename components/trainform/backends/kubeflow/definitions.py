"""The fields of the jobs of Kubeflow's training-operator, as `manifests/served/notation.py` writes them. Source: training-operator 1.9.3."""

from __future__ import annotations

from trainform.manifests.served.notation import Lacking, Table

KINDS: Table = {
    "kubeflow.org/v1/PyTorchJob": {"spec": "PyTorchJob"},
    "kubeflow.org/v1/TFJob": {"spec": "TFJob"},
    "kubeflow.org/v1/MPIJob": {"spec": "MPIJob"},
}
TYPES: Table = {
    "PyTorchJob": {
        "elasticPolicy": "ElasticPolicy",
        "nprocPerNode": "text",
        "pytorchReplicaSpecs!": "{ReplicaSpec}",
        "runPolicy": "RunPolicy",
    },
    "TFJob": {
        "enableDynamicWorker": "flag",
        "runPolicy": "RunPolicy",
        "successPolicy": "text",
        "tfReplicaSpecs!": "{ReplicaSpec}",
    },
    "MPIJob": {
        "cleanPodPolicy": "text",
        "mainContainer": "text",
        "mpiReplicaSpecs!": "{ReplicaSpec}",
        "runPolicy": "RunPolicy",
        "slotsPerWorker": "int32",
    },
    "ReplicaSpec": {"replicas": "int32", "restartPolicy": "text", "template": "PodTemplateSpec"},
    "RunPolicy": {
        "activeDeadlineSeconds": "int64",
        "backoffLimit": "int32",
        "cleanPodPolicy": "text",
        "managedBy": "text",
        "schedulingPolicy": "SchedulingPolicy",
        "suspend": "flag",
        "ttlSecondsAfterFinished": "int32",
    },
    "SchedulingPolicy": {
        "minAvailable": "int32",
        "minResources": "{quantity}",
        "priorityClass": "text",
        "queue": "text",
        "scheduleTimeoutSeconds": "int32",
    },
    "ElasticPolicy": {
        "maxReplicas": "int32",
        "maxRestarts": "int32",
        "metrics": "[anything]",  # of an autoscaler
        "minReplicas": "int32",
        "nProcPerNode": "int32",
        "rdzvBackend": "text",
        "rdzvConf": "[Setting]",
        "rdzvHost": "text",
        "rdzvId": "text",
        "rdzvPort": "int32",
        "standalone": "flag",
    },
    "Setting": {"key": "text", "value": "text"},
}
# The pods of an older Kubernetes.
PODS_LACK: Lacking = {
    "Container": ["restartPolicyRules"],
    "EnvVarSource": ["fileKeyRef"],
    "Lifecycle": ["stopSignal"],
    "PodSecurityContext": ["seLinuxChangePolicy"],
    "PodSpec": ["hostnameOverride", "resources"],
    "VolumeProjection": ["podCertificate"],
}
