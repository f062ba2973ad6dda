"""The table of add-ons: other operators that a sandbox can run, each only if the user names it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from trainform.local.sandbox.addons.addon import AddOn, Manifest, Webhooks, config_file
from trainform.local.sandbox.api import Api
from trainform.local.sandbox.certificates import WebhookCertificates
from trainform.local.sandbox.cluster_objects import webhooks_admit
from trainform.local.sandbox.components import LAST_WAVE, Component, Context
from trainform.local.sandbox.folder import encoded
from trainform.local.sandbox.ports import LOOPBACK, is_open
from trainform.local.toolchain import addons as parts

Ready = Callable[[Api, Mapping[str, int]], bool]


def _health(name: str) -> str:
    """Return the name of a component's port for health checks."""
    return f"{name}-health"


def _file_arguments(addon: str) -> Callable[[Context], list[str]]:
    """Return the function for the arguments of a controller that reads the add-on's configuration file."""
    return lambda context: [
        f"--config={config_file(context.layout, addon)}",
        f"--kubeconfig={context.layout.kubeconfig}",
    ]


def _configuration(api_version: str, context: Context, name: str) -> dict[str, Any]:
    """Return the settings of all controllers with a configuration file: health and webhooks on loopback, no metrics."""
    return {
        "apiVersion": api_version,
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"{LOOPBACK}:{context.ports[_health(name)]}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {
            "host": LOOPBACK,
            "port": context.ports[name],
            "certDir": str(WebhookCertificates(context.layout.pki).folder),
        },
    }


def _gangs(context: Context) -> list[str]:
    """Return the option of an operator that then makes a gang of every job, and gives its pods to Volcano."""
    return ["--gang-scheduler-name=volcano"] if context.gangs else []


def _webhooks_admit(path: str, kind: str, spec: Manifest) -> Ready:
    return lambda api, ports: webhooks_admit(api, path, kind, spec)


def _listens(name: str) -> Ready:
    return lambda api, ports: is_open(ports[name])


# --- training operator (kubeflow.org/v1): PyTorchJob, TFJob and MPIJob

_OPERATOR = "training-operator"
# TFJob last: MPIJob has no webhook (1.9), and when the webhook of the last kind answers, all answer.
_OPERATOR_KINDS = ("pytorchjob", "tfjob")
_TF_POD = {"spec": {"containers": [{"name": "tensorflow", "image": "probe"}]}}


def _operator_arguments(context: Context) -> list[str]:
    arguments = [f"--kubeconfig={context.layout.kubeconfig}", f"--host={LOOPBACK}"]
    arguments += [f"--webhook-server-port={context.ports[_OPERATOR]}"]
    arguments += [f"--cert-dir={WebhookCertificates(context.layout.pki).folder}"]
    arguments += [f"--health-probe-bind-address={LOOPBACK}:{context.ports[_health(_OPERATOR)]}"]
    kinds = _OPERATOR_KINDS if context.mpi_operator else ("mpijob", *_OPERATOR_KINDS)
    arguments += [f"--enable-scheme={kind}" for kind in kinds]
    return [*arguments, *_gangs(context)]


KUBEFLOW = AddOn(
    name="kubeflow",
    part=parts.TRAINING_OPERATOR,
    component=Component(_OPERATOR, "training-operator", LAST_WAVE, _operator_arguments, _OPERATOR),
    ports=(_OPERATOR, _health(_OPERATOR)),
    needs=("mpi-operator",),
    ready=_webhooks_admit(
        "kubeflow.org/v1/namespaces/default/tfjobs",
        "TFJob",
        {"tfReplicaSpecs": {"Worker": {"replicas": 1, "template": _TF_POD}}},
    ),
    webhooks=Webhooks(
        names={"ValidatingWebhookConfiguration": "validator.training-operator.kubeflow.org"},
        resources=frozenset({"pytorchjobs", "tfjobs"}),
    ),
)

# --- mpi-operator (kubeflow.org/v2beta1): MPIJob, instead of that of the training operator. It has no webhooks.

_MPI = "mpi-operator"


def _mpi_arguments(context: Context) -> list[str]:
    address = f"{LOOPBACK}:{context.ports[_MPI]}"
    return [
        f"--kubeconfig={context.layout.kubeconfig}",
        f"--health-probe-bind-address={address}",
        *_gangs(context),
    ]


MPI_OPERATOR = AddOn(
    name=_MPI,
    part=parts.MPI_OPERATOR,
    component=Component(_MPI, "mpi-operator", LAST_WAVE, _mpi_arguments, _MPI),
    ports=(_MPI,),
    ready=_listens(_MPI),
)

# --- Kueue: admits the jobs of these frameworks that name a queue. It does not manage single pods.

_KUEUE = "kueue-controller-manager"
_KUEUE_NAMESPACE = "kueue-system"
_KUEUE_CERTIFICATES = "kueue-webhook-server-cert"
_KUEUE_FRAMEWORKS = (
    "batch/job",
    "jobset.x-k8s.io/jobset",
    "kubeflow.org/mpijob",  # v2beta1 alone
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "trainer.kubeflow.org/trainjob",
)


def _kueue_configuration(context: Context) -> dict[str, Any]:
    return {
        **_configuration("config.kueue.x-k8s.io/v1beta2", context, _KUEUE),
        "namespace": _KUEUE_NAMESPACE,
        "leaderElection": {"leaderElect": False},
        # If disabled, Kueue (0.19) reads files below /etc; if enabled, the certificates of its Secret.
        "internalCertManagement": {"enable": True, "webhookSecretName": _KUEUE_CERTIFICATES},
        # Its API of pending workloads would listen on all interfaces and write below the root folder.
        "featureGates": {"VisibilityOnDemand": False},
        "clientConnection": {"qps": 300, "burst": 500},
        "integrations": {"frameworks": [*_KUEUE_FRAMEWORKS]},
    }


def _kueue_objects(certificates: WebhookCertificates) -> dict[str, Manifest]:
    files = {
        "ca.crt": certificates.authority,
        "ca.key": certificates.authority_key,
        "tls.crt": certificates.server,
        "tls.key": certificates.server_key,
    }
    data = {name: encoded(path) for name, path in files.items()}
    path = f"/api/v1/namespaces/{_KUEUE_NAMESPACE}"
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": _KUEUE_CERTIFICATES}, "data": data}
    return {
        path: {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _KUEUE_NAMESPACE}},
        f"{path}/secrets/{_KUEUE_CERTIFICATES}": secret,
    }


KUEUE = AddOn(
    name="kueue",
    part=parts.KUEUE,
    component=Component(_KUEUE, "kueue", LAST_WAVE, _file_arguments("kueue"), _KUEUE),
    ports=(_KUEUE, _health(_KUEUE)),
    needs=("kube-scheduler",),
    ready=_webhooks_admit("kueue.x-k8s.io/v1beta2/resourceflavors", "ResourceFlavor", {}),
    webhooks=Webhooks(
        names={
            "MutatingWebhookConfiguration": "kueue-mutating-webhook-configuration",
            "ValidatingWebhookConfiguration": "kueue-validating-webhook-configuration",
        },
        resources=frozenset(
            {"clusterqueues", "cohorts", "resourceflavors", "workloads"}
            | {f"{framework.rpartition('/')[2]}s" for framework in _KUEUE_FRAMEWORKS}
        ),
    ),
    configuration=_kueue_configuration,
    objects=_kueue_objects,
    # Kueue waits until it has set its certificate authority in the conversion of each of these CRDs.
    conversions=tuple(
        f"{plural}.kueue.x-k8s.io"
        for plural in ("clusterqueues", "cohorts", "localqueues", "multikueueclusters", "workloads")
    ),
)

# --- JobSet (jobset.x-k8s.io/v1alpha2), which Trainer uses

_JOBSET = "jobset-controller-manager"
# The webhooks for pods are called for pods of JobSets only.
_JOBSET_PODS = {"matchExpressions": [{"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}]}
_PROBE_POD = {"spec": {"containers": [{"name": "node", "image": "probe"}]}}


def _jobset_configuration(context: Context) -> dict[str, Any]:
    return {
        **_configuration("config.jobset.x-k8s.io/v1alpha1", context, _JOBSET),
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
    }


JOBSET = AddOn(
    name="jobset",
    part=parts.TRAINER,
    component=Component(_JOBSET, "jobset", LAST_WAVE, _file_arguments("jobset"), _JOBSET),
    ports=(_JOBSET, _health(_JOBSET)),
    needs=("kube-scheduler",),
    ready=_webhooks_admit(
        "jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets",
        "JobSet",
        {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": _PROBE_POD}}}]},
    ),
    webhooks=Webhooks(
        names={
            "MutatingWebhookConfiguration": "jobset-mutating-webhook-configuration",
            "ValidatingWebhookConfiguration": "jobset-validating-webhook-configuration",
        },
        resources=frozenset({"jobsets", "pods"}),
        selectors={"mpod.kb.io": _JOBSET_PODS, "vpod.kb.io": _JOBSET_PODS},
    ),
    configuration=_jobset_configuration,
)

# --- Kubeflow Trainer (trainer.kubeflow.org/v1alpha1): TrainJobs, which run as JobSets made from runtimes

_TRAINER = "trainer-controller-manager"
# As in the project's installation: a runtime with this label is not validated.
_VALIDATED = {
    "matchExpressions": [
        {"key": "trainer.kubeflow.org/webhook-validation", "operator": "NotIn", "values": ["disabled"]}
    ]
}
_TRAINER_NODE = {
    "name": "node",
    "template": {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": _PROBE_POD},
    },
}


def _trainer_environment(context: Context) -> dict[str, str]:
    # Trainer (2.3) looks for its webhooks' certificates below the folder for temporary files.
    return {"TMPDIR": str(context.layout.pki)}


def _trainer_configuration(context: Context) -> dict[str, Any]:
    shared = _configuration("config.trainer.kubeflow.org/v1alpha1", context, _TRAINER)
    del shared["webhook"]["certDir"]
    return shared | {"certManagement": {"enable": False}}


TRAINER = AddOn(
    name="trainer",
    part=parts.TRAINER,
    component=Component(
        _TRAINER, "trainer-controller-manager", LAST_WAVE, _file_arguments("trainer"), _TRAINER, _trainer_environment
    ),
    ports=(_TRAINER, _health(_TRAINER)),
    # Trainer watches JobSets, and ends if their CRD is not served.
    needs=("jobset",),
    ready=_webhooks_admit(
        "trainer.kubeflow.org/v1alpha1/namespaces/default/trainingruntimes",
        "TrainingRuntime",
        {"mlPolicy": {"numNodes": 1}, "template": {"spec": {"replicatedJobs": [_TRAINER_NODE]}}},
    ),
    webhooks=Webhooks(
        names={
            "MutatingWebhookConfiguration": "defaulter.trainer.kubeflow.org",
            "ValidatingWebhookConfiguration": "validator.trainer.kubeflow.org",
        },
        resources=frozenset({"trainjobs", "trainingruntimes", "clustertrainingruntimes"}),
        selectors={
            "validator.clustertrainingruntime.trainer.kubeflow.org": _VALIDATED,
            "validator.trainingruntime.trainer.kubeflow.org": _VALIDATED,
        },
    ),
    configuration=_trainer_configuration,
)

# --- KubeDL (training.kubedl.io/v1alpha1). It has no webhooks.

_KUBEDL = "kubedl"


def _kubedl_arguments(context: Context) -> list[str]:
    # auto: served kinds only. With all kinds KubeDL (0.5) waits for a CRD of OpenKruise, and ends.
    arguments = ["--enable-leader-election=false", "--workloads=auto", *_gangs(context)]
    # KubeDL's job queue crashes (0.5): the API server refuses the status of a waiting job.
    arguments += ["--feature-gates=JobCoordinator=false"]
    arguments += [f"--controller-metrics-addr={LOOPBACK}:{context.ports[_KUBEDL]}"]
    # A second metrics server would listen on all interfaces; without a port KubeDL (0.5) logs an error.
    return [*arguments, "--metrics-addr=-1"]


def _kubedl_environment(context: Context) -> dict[str, str]:
    # KubeDL connects to the API server before it reads its options.
    return {"KUBECONFIG": str(context.layout.kubeconfig)}


KUBEDL = AddOn(
    name="kubedl",
    part=parts.KUBEDL,
    component=Component(_KUBEDL, "kubedl", LAST_WAVE, _kubedl_arguments, _KUBEDL, _kubedl_environment),
    ports=(_KUBEDL,),
    ready=_listens(_KUBEDL),
)

# --- the scheduler of Kubernetes, for pods that Volcano does not place

_SCHEDULER = "kube-scheduler"


def _scheduler_arguments(context: Context) -> list[str]:
    files, kubeconfig = context.certificates, context.layout.kubeconfig
    arguments = [f"--kubeconfig={kubeconfig}", f"--authentication-kubeconfig={kubeconfig}"]
    arguments += [f"--authorization-kubeconfig={kubeconfig}", "--leader-elect=false", "--profiling=false"]
    arguments += [f"--bind-address={LOOPBACK}", f"--secure-port={context.ports[_SCHEDULER]}"]
    return [*arguments, f"--tls-cert-file={files.server}", f"--tls-private-key-file={files.server_key}"]


SCHEDULER = AddOn(
    name=_SCHEDULER,
    part=parts.KUBE_SCHEDULER,
    component=Component(_SCHEDULER, "kube-scheduler", LAST_WAVE, _scheduler_arguments, _SCHEDULER),
    ports=(_SCHEDULER,),
    ready=_listens(_SCHEDULER),
)

# In the order of waiting: Kueue's webhooks are called for every job of an operator.
ADDONS = {addon.name: addon for addon in (KUEUE, KUBEFLOW, MPI_OPERATOR, JOBSET, TRAINER, KUBEDL, SCHEDULER)}
