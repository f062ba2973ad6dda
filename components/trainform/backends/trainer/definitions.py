"""The fields of a TrainJob and of the runtime that it names, as `manifests/served/notation.py` writes them. Source: Kubeflow Trainer 2.3.0."""

from __future__ import annotations

from trainform.backends.jobset.definitions import TYPES as JOBSET
from trainform.manifests.served.notation import Table

KINDS: Table = {
    "trainer.kubeflow.org/v1alpha1/TrainJob": {"spec": "TrainJob"},
    "trainer.kubeflow.org/v1alpha1/TrainingRuntime": {"spec": "TrainingRuntime"},
}
TYPES: Table = {
    "TrainJob": {
        "activeDeadlineSeconds": "int64 >= 1",
        "initializer": "Initializer",
        "managedBy": "text <= 253",
        "runtimePatches": "[RuntimePatch] by manager <= 16",
        "runtimeRef!": "RuntimeRef",
        "suspend": "flag",
        "trainer": "Trainer",
    },
    "Initializer": {"dataset": "InitializerStep", "model": "InitializerStep"},
    "InitializerStep": {
        "env": "[EnvVar] by name <= 128",
        "secretRef": "LocalObjectReference",
        "storageUri": "text <= 2048",
    },
    "RuntimeRef": {"apiGroup": "text <= 253", "kind": "text <= 253", "name!": "text 1..253"},
    "Trainer": {
        "args": "[text <= 1048576] <= 128",
        "command": "[text <= 1048576] <= 128",
        "env": "[EnvVar] by name <= 128",
        "image": "text <= 500",
        "numNodes": "int32",
        "numProcPerNode": "int32",
        "resourcesPerNode": "ResourceRequirements",
    },
    # what a TrainJob may change of its runtime
    "RuntimePatch": {"manager!": "text 1..253", "time": "time", "trainingRuntimeSpec": "RuntimeSpecPatch"},
    "RuntimeSpecPatch": {"template": "JobSetPatch"},
    "JobSetPatch": {"metadata": "TemplateMeta", "spec": "JobSetSpecPatch"},
    "JobSetSpecPatch": {"replicatedJobs": "[ReplicatedJobPatch] by name <= 100"},
    "ReplicatedJobPatch": {"name!": "text 1..253", "template": "JobPatch"},
    "JobPatch": {"metadata": "TemplateMeta", "spec": "JobSpecPatch"},
    "JobSpecPatch": {"template": "PodPatch"},
    "PodPatch": {"metadata": "TemplateMeta", "spec": "PodSpecPatch"},
    "PodSpecPatch": {
        "affinity": "Affinity",
        "containers": "[ContainerPatch] by name <= 64",
        "imagePullSecrets": "[LocalObjectReference] by name <= 64",
        "initContainers": "[ContainerPatch] by name <= 64",
        "nodeSelector": "{text}",
        "schedulingGates": "[PodSchedulingGate] by name <= 16",
        "securityContext": "PodSecurityContext",
        "serviceAccountName": "text <= 253",
        "terminationGracePeriodSeconds": "int64 >= 0",
        "tolerations": "[Toleration] <= 128",
        "volumes": "[Volume] by name <= 128",
    },
    "ContainerPatch": {
        "env": "[EnvVar] by name <= 128",
        "name!": "text 1..253",
        "securityContext": "SecurityContext",
        "volumeMounts": "[VolumeMount] by name <= 128",
    },
    # the runtime
    "TrainingRuntime": {"mlPolicy": "MLPolicy", "podGroupPolicy": "PodGroupPolicy", "template": "JobSetTemplate"},
    "MLPolicy": {
        "flux": "Flux",
        "jax": "mapping",
        "mpi": "MPI",
        "numNodes": "int32",
        "torch": "Torch",
        "xgboost": "mapping",
    },
    "Flux": {"numProcPerNode": "int32"},
    "MPI": {
        "mpiImplementation": "OpenMPI | ''",
        "numProcPerNode": "int32",
        "runLauncherAsNode": "flag",
        "sshAuthMountPath": "text <= 4096",
    },
    "Torch": {"envInjection": "EnvInjection"},
    "EnvInjection": {"targets": "[EnvTarget] by jobName <= 16"},
    "EnvTarget": {"containerNames!": "[text <= 63] <= 8", "jobName!": "text 1..253"},
    "PodGroupPolicy": {"coscheduling": "Coscheduling", "volcano": "VolcanoPolicy"},
    "Coscheduling": {"scheduleTimeoutSeconds": "int32"},
    "VolcanoPolicy": {"networkTopology": "NetworkTopology"},
    "NetworkTopology": {"highestTierAllowed": "integer", "mode": "hard | soft"},
    "JobSetTemplate": {"metadata": "TemplateMeta", "spec": "JobSet"},
    **JOBSET,
}
