"""The fields of Volcano's Job, as `manifests/served/notation.py` writes them. Source: Volcano 1.14.1."""

from __future__ import annotations

from trainform.manifests.served.notation import Table

_EVENT = "* | PodPending | PodRunning | PodFailed | PodEvicted | Unknown | TaskCompleted | OutOfSync | CommandIssued | JobUpdated | TaskFailed"

KINDS: Table = {"batch.volcano.sh/v1alpha1/Job": {"spec": "Job"}}
TYPES: Table = {
    "Job": {
        "maxRetry": "int32 >= 0",
        "minAvailable": "int32 >= 0",
        "minSuccess": "int32 >= 1",
        "networkTopology": "NetworkTopology",
        "plugins": "{[text]}",
        "policies": "[Policy]",
        "priorityClassName": "object-name",
        "queue": "object-name",
        "runningEstimate": "text",
        "schedulerName": "text <= 63",
        "tasks": "[Task]",
        "ttlSecondsAfterFinished": "int32 >= 0",
        "volumes": "[JobVolume]",
    },
    "Task": {
        "dependsOn": "DependsOn",
        "maxRetry": "int32 >= 0",
        "minAvailable": "int32 >= 0",
        "name": "label",
        "partitionPolicy": "Partitions",
        "policies": "[Policy]",
        "replicas": "int32 >= 0",
        "template": "PodTemplateSpec",
        "topologyPolicy": "none | best-effort | restricted | single-numa-node",
    },
    "DependsOn": {"iteration": "text", "name": "[text]"},
    "Partitions": {
        "minPartitions": "int32 >= 0",
        "networkTopology": "NetworkTopology",
        "partitionSize!": "int32 >= 1",
        "totalPartitions!": "int32 >= 1",
    },
    "Policy": {"action": "text", "event": _EVENT, "events": f"[{_EVENT}]", "exitCode": "int32", "timeout": "text"},
    "NetworkTopology": {"highestTierAllowed": "integer >= 0", "highestTierName": "object-name", "mode": "hard | soft"},
    "JobVolume": {
        "mountPath!": "mount-path >= 1",
        "volumeClaim": "PersistentVolumeClaimSpec",
        "volumeClaimName": "text <= 253",
    },
}
