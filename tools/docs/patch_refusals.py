"""What the webhooks of operators refuse of merge patches: examples, each tried on every operator."""

from __future__ import annotations

from collections.abc import Sequence

from tools.docs.refusals import Example


def _job(spec: str) -> str:
    """The patch of the job object with this spec."""
    return f"{{manifest_overrides: {{job: {{spec: {spec}}}}}}}"


def _policies(policies: str) -> str:
    return _job(f"{{policies: [{policies}]}}")


def _worker(task: str) -> str:
    return _job(f"{{tasks: {{worker: {task}}}}}")


def _partitions(partitions: str) -> str:
    return _worker(f"{{partitionPolicy: {partitions}}}")


def _replica(kind: str, spec: str, others: str = "") -> str:
    """The patch of the pods of a replica type (`pytorchReplicaSpecs.Master`)."""
    field, _, name = kind.partition(".")
    return f"{{{others}manifest_overrides: {{job: {{spec: {{{field}: {{{name}: {{template: {{spec: {spec}}}}}}}}}}}}}}}"


def _volume(volume: str) -> str:
    return _job(f"{{volumes: [{volume}]}}")


def _set_job(job: str) -> str:
    return _job(f"{{replicatedJobs: {{worker: {job}}}}}")


def _coordinator(coordinator: str, others: str = "") -> str:
    return f"{{{others}manifest_overrides: {{job: {{spec: {{coordinator: {coordinator}}}}}}}}}"


def _runtime_patch(template: str, manager: str = "example.com/mine") -> str:
    return _job(f"{{runtimePatches: [{{manager: {manager}, trainingRuntimeSpec: {{template: {template}}}}}]}}")


def _runtime_job(job: str) -> str:
    return _runtime_patch(f"{{spec: {{replicatedJobs: [{job}]}}}}")


def _runtime_pods(pods: str) -> str:
    return _runtime_job(f"{{name: node, template: {{spec: {{template: {pods}}}}}}}")


_FAILED = "{event: PodFailed, action: RestartJob}"
_LONG = "w" * 38

PATCHES: Sequence[Example] = (
    # Volcano's Job
    Example("a patch by which more pods must succeed than can", _job("{minSuccess: 9}")),
    Example("a patch with a policy for NUMA, of pods without whole cores", _worker("{topologyPolicy: single-numa-node}")),
    Example("a patch with an action that Volcano does not have", _policies("{exitCode: 3, action: Sleep}")),
    Example("a patch with a policy upon an event and an exit code", _policies("{event: PodFailed, exitCode: 3, action: AbortJob}")),
    Example("a patch with a policy upon success", _policies("{exitCode: 0, action: AbortJob}")),
    Example("a patch with a policy upon PodPending without a timeout", _policies("{event: PodPending, action: AbortJob}")),
    Example("a patch with a policy upon an event of Volcano's own", _policies("{event: PodRunning, action: AbortJob}")),
    Example("a patch with two policies for one event", _policies(f"{_FAILED}, {_FAILED}")),
    Example("a patch with a policy for every event beside others", _policies(f"{_FAILED}, {{event: '*', action: AbortJob}}")),
    Example("a patch with partitions that are not all pods of the task", _partitions("{partitionSize: 3, totalPartitions: 2}")),
    Example("a patch with partitions that are not the gang's", _partitions("{partitionSize: 1, totalPartitions: 2, minPartitions: 1}")),
    Example(
        "a patch with a tier that has a number and a name",
        _partitions("{partitionSize: 1, totalPartitions: 2, minPartitions: 2, networkTopology: {highestTierAllowed: 1, highestTierName: rack}}"),
    ),
    Example("a patch with a volume that is mounted nowhere", _volume("{volumeClaimName: datasets}")),
    Example("a patch with two volumes at one path", _volume("{mountPath: /data, volumeClaimName: a}, {mountPath: /data, volumeClaimName: b}")),
    Example("a patch with a volume over the system's folders", _volume("{mountPath: /usr, volumeClaimName: a}")),
    Example("a patch with a volume without a claim", _volume("{mountPath: /data}")),
    Example("a patch with a volume whose claim no claim can be called", _volume("{mountPath: /data, volumeClaimName: UPPER_case}")),
    Example("a patch with a time that Volcano cannot read", _job("{runningEstimate: 1Gi}")),
    # JobSet
    Example("a patch by which the first replicated job waits for none", _job("{replicatedJobs: {master: {dependsOn: []}}}")),
    Example("a patch with the strategy InPlaceRestart", _job("{failurePolicy: {restartStrategy: InPlaceRestart}}")),
    Example("a patch with a name of a group that no label takes", _set_job("{groupName: UPPER_case}")),
    Example("a patch with a value of podReplacementPolicy that a Job does not have", _set_job("{template: {spec: {podReplacementPolicy: Never}}}")),
    Example(
        "a patch with the success of a replicated job that is not there",
        _job("{successPolicy: {operator: All, targetReplicatedJobs: [other]}}"),
        operators=("jobset",),
    ),
    Example("a patch with a coordinator in a replicated job that is not there", _coordinator("{replicatedJob: other}")),
    Example("a patch with a coordinator that is not there", _coordinator("{replicatedJob: worker, podIndex: 9}")),
    Example(
        "a patch with a coordinator whose address is too long for a label",
        _coordinator(f"{{replicatedJob: {_LONG}}}", f"roles: {{{_LONG}: {{replicas: 2}}}}, "),
    ),
    # Trainer's runtimePatches
    Example("a patch of the runtime by a manager without a domain", _runtime_patch("{}", "mine")),
    Example("a patch of a replicated job that the runtime does not have", _runtime_job("{name: other}")),
    Example("a patch of the runtime that chooses a queue", _runtime_patch("{metadata: {labels: {kueue.x-k8s.io/queue-name: mine}}}")),
    Example("a patch of the runtime with a label of JobSet's own", _runtime_pods("{metadata: {labels: {jobset.sigs.k8s.io/job-index: '1'}}}")),
    Example("a patch of a container that the runtime does not have", _runtime_pods("{spec: {containers: [{name: other}]}}")),
    Example("a patch of the variables of Trainer's own container", _runtime_pods("{spec: {containers: [{name: node, env: [{name: A, value: b}]}]}}")),
    # the jobs of replica specs
    Example("a patch with a `successPolicy` that the operator does not know", _job("{successPolicy: Some}"), operators=("kubeflow", "kubedl")),
    Example("a patch with a word that the operator does not know", _job("{runPolicy: {cleanPodPolicy: Some}, cleanPodPolicy: Some}")),
    Example(
        "a patch with a second port of a container whose port the operator draws",
        _replica("pytorchReplicaSpecs.Master", "{containers: {pytorch: {ports: {metrics: {containerPort: 9100}}}}}", "network: {host: true}, "),
        operators=("kubedl",),
    ),
    Example(
        "a patch of a launcher of `mpi` without the token of its account",
        _replica(
            "mpiReplicaSpecs.Launcher", "{automountServiceAccountToken: false}", "launcher: {mpi: {command: [python, /app/train.py], role: launcher}}, "
            "roles: {launcher: {ranked: false}, worker: {replicas: 2}}, ",
        ),
        operators=("kubeflow",),
    ),
)  # fmt: skip
"""Over the same experiment as `refusals.EXAMPLES`."""
