"""The fields of a JobSet, as `manifests/served/notation.py` writes them. Source: JobSet 0.12.0."""

from __future__ import annotations

from trainform.manifests.served.notation import Table

KINDS: Table = {"jobset.x-k8s.io/v1alpha2/JobSet": {"spec": "JobSet"}}
TYPES: Table = {
    "JobSet": {
        "coordinator": "Coordinator",
        "failurePolicy": "FailurePolicy",
        "managedBy": "text",
        "network": "Network",
        "replicatedJobs": "[ReplicatedJob] by name",
        "startupPolicy": "StartupPolicy",
        "successPolicy": "SuccessPolicy",
        "suspend": "flag",
        "ttlSecondsAfterFinished": "int32 >= 0",
        "volumeClaimPolicies": "[VolumeClaimPolicy] <= 50",
    },
    "Coordinator": {"jobIndex": "integer", "podIndex": "integer", "replicatedJob!": "text"},
    "FailurePolicy": {
        "maxRestarts": "int32",
        "restartStrategy": "Recreate | BlockingRecreate | InPlaceRestart",
        "rules": "[FailureRule]",
    },
    "FailureRule": {
        "action!": "FailJobSet | RestartJobSet | RestartJobSetAndIgnoreMaxRestarts | RestartJob | RestartJobAndIgnoreMaxRestarts",
        "name!": "text",
        "onJobFailureMessagePatterns": "[text]",
        "onJobFailureReasons": "[text]",
        "targetReplicatedJobs": "[text]",
    },
    "Network": {"enableDNSHostnames": "flag", "publishNotReadyAddresses": "flag", "subdomain": "text"},
    "StartupPolicy": {"startupPolicyOrder!": "AnyOrder | InOrder"},
    "SuccessPolicy": {"operator!": "All | Any", "targetReplicatedJobs": "[text]"},
    # claims that JobSet makes: the plan's own are objects beside it
    "VolumeClaimPolicy": {"retentionPolicy": "RetentionPolicy", "templates": "[VolumeClaim] <= 50"},
    "RetentionPolicy": {"whenDeleted": "Delete | Retain"},
    "VolumeClaim": {
        "apiVersion": "text",
        "kind": "text",
        "metadata": "ObjectMeta",
        "spec": "PersistentVolumeClaimSpec",
    },
    # the Jobs that JobSet makes
    "ReplicatedJob": {
        "dependsOn": "[DependsOn] by name <= 5",
        "groupName": "text",
        "name!": "text",
        "replicas": "int32",
        "template!": "JobTemplate",
    },
    "DependsOn": {"name!": "text", "status!": "Ready | Complete"},
    "JobTemplate": {"metadata": "TemplateMeta", "spec": "Job"},
    "Job": {
        "activeDeadlineSeconds": "int64",
        "backoffLimit": "int32",
        "backoffLimitPerIndex": "int32",
        "completionMode": "text",
        "completions": "int32",
        "managedBy": "text",
        "manualSelector": "flag",
        "maxFailedIndexes": "int32",
        "parallelism": "int32",
        "podFailurePolicy": "PodFailurePolicy",
        "podReplacementPolicy": "text",
        "selector": "LabelSelector",
        "successPolicy": "JobSuccess",
        "suspend": "flag",
        "template!": "PodTemplateSpec",
        "ttlSecondsAfterFinished": "int32",
    },
    "PodFailurePolicy": {"rules!": "[PodFailureRule]"},
    "PodFailureRule": {"action!": "text", "onExitCodes": "ExitCodes", "onPodConditions": "[PodCondition]"},
    "ExitCodes": {"containerName": "text", "operator!": "text", "values!": "[int32]"},
    "PodCondition": {"status": "text", "type!": "text"},
    "JobSuccess": {"rules!": "[JobSuccessRule]"},
    "JobSuccessRule": {"succeededCount": "int32", "succeededIndexes": "text"},
}
