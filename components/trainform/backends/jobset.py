"""JobSet: `jobset.x-k8s.io/v1alpha2`, one replicated job for each group of pods, with our own rendezvous and SSH.

Everything but suspend and ttl is immutable. Ranks follow from the completion index, which every pod of an Indexed Job has as a label.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from trainform.backends.decided import changes, overwritten
from trainform.backends.gangs import QUEUE_LABEL, admission_crds, gang_problems, pod_group, queue_labels
from trainform.backends.replicated_jobs import (
    DECIDED,
    INDEX_VARIABLE,
    OWN_KEYS,
    SHAPE,
    SUFFIX,
    labelled_role,
    replicated_jobs_spec,
)
from trainform.backends.replicated_jobs import INDEX_LABEL as INDEX
from trainform.backends.replicated_jobs import endings as replicated_endings
from trainform.backends.replicated_jobs import templates as replicated_templates
from trainform.backends.replicated_pods import controller_pods
from trainform.backends.runtimes import OF_TRAINER
from trainform.backends.support import Fields, done_by, noted, refused
from trainform.catalog import defaults
from trainform.errors import Problem
from trainform.manifests.env import Operator
from trainform.manifests.manifest import Manifest, job_body
from trainform.manifests.objects import job_metadata
from trainform.manifests.shape import METADATA
from trainform.plan.model import Ending, Plan
from trainform.policy.templates import Template
from trainform.spec.names import LABEL_MAX

API_VERSION = "jobset.x-k8s.io/v1alpha2"
KIND = "JobSet"
INDEX_LABEL = INDEX
ADDS = f"`{INDEX_VARIABLE}`; hostname and subdomain of every pod, as planned"
MAKES = "JobSet (`jobset.x-k8s.io/v1alpha2`), with Volcano's admission a PodGroup"
ENDS = "`successPolicy` with the replicated jobs of the role, all of them where each replica has one (`ports: per-replica`)"
ADMISSIONS = (defaults.VOLCANO, defaults.KUEUE)
IN_PLACE = ("spec.suspend", "spec.ttlSecondsAfterFinished")
_DECIDED = {
    "job": (f"metadata.labels.{QUEUE_LABEL}", *(f"spec.{path}" for path in DECIDED)),
    "pod-group": ("spec.minMember", "spec.queue"),
}

_POLICIES = refused("are lifecycle policies of Volcano, and JobSet has none", "remove them, and say it in `restart`")
FIELDS: Fields = {
    "runtime": OF_TRAINER,
    "queue": done_by("Volcano: `queue` of a PodGroup; Kueue: the label `kueue.x-k8s.io/queue-name`, a LocalQueue"),
    "restart": done_by(
        "never: `backoffLimit: 0`; on-failure, N times: `restartPolicy: OnFailure` with a `backoffLimit`; all-when-evicted: `failurePolicy.maxRestarts`"
    ),
    "max_retry": done_by("`failurePolicy.maxRestarts`, one less: Volcano counts the last failure too"),
    "ttl": done_by("`ttlSecondsAfterFinished`; updates in place"),
    "policies": _POLICIES,
    "roles.*.policies": _POLICIES,
    "network.topology": done_by("Volcano: `networkTopology` of the PodGroup"),
    "roles.*.min_available": done_by("Volcano: counts for `minMember` of the PodGroup, over all roles"),
    "launcher.torchrun.elastic": noted(
        "JobSet has a fixed number of pods: another number of replicas is a new revision here"
    ),
}


def crds(plan: Plan) -> tuple[str, ...]:
    """The JobSet, and what admits it."""
    return ("jobsets.jobset.x-k8s.io", *admission_crds(plan))


def shapes(plan: Plan) -> dict[str, Any]:
    """The JobSet's, and the gang's."""
    group = {"metadata!": METADATA, "spec!": {"minMember!": int, "queue!": str}}
    return {"job": {"metadata!": METADATA, "spec!": SHAPE}, "pod-group": group}


def problems(plan: Plan) -> Iterator[Problem]:
    """Labels of its own, and names: JobSet's webhook counts the random end of pod names too."""
    yield from gang_problems(plan)
    yield from overwritten(plan, "JobSet", OWN_KEYS)
    for role in plan.roles:
        group = list(role.groups())[-1]
        longest = plan.naming.pod_name(plan.job, group.name, max(group.replicas - 1, 0))
        over = len(longest) + SUFFIX - LABEL_MAX
        if 0 < over <= SUFFIX:  # above that the plan has said it
            yield Problem(
                f"roles.{role.name}",
                None,
                f"gives the pod name {longest} with {len(longest)} characters; JobSet takes {LABEL_MAX - SUFFIX}",
                f"shorten the experiment's or the role's name by {over}",
            )


def operator(plan: Plan) -> Operator:
    """The index by the label of Indexed Jobs, which give it in a variable of their own."""
    return Operator(INDEX_LABEL, appended=frozenset([INDEX_VARIABLE]))


def files(plan: Plan) -> dict[str, str]:
    """None."""
    return {}


def further(plan: Plan) -> list[Manifest]:
    """The gang."""
    return pod_group(plan)


def job(plan: Plan) -> Manifest:
    """The JobSet."""
    spec = replicated_jobs_spec(plan, operator(plan))
    body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": job_metadata(plan, queue_labels(plan)), "spec": spec}
    return Manifest("job", body, revision=plan.revision)


def templates(plan: Plan, manifests: Sequence[Manifest]) -> list[Template]:
    """Of each replicated job."""
    return replicated_templates(job_body(manifests)["spec"])


def pods(plan: Plan, manifests: Sequence[Manifest]) -> tuple[list[dict[str, Any]], dict[str, dict[str, str]]]:
    """Those of the Jobs; they need no further object."""
    body = job_body(manifests)
    return controller_pods(body["metadata"], body["spec"]), {}


def endings(plan: Plan, manifests: Sequence[Manifest]) -> tuple[Ending, ...]:
    """By the success policy of the rendered JobSet."""
    return replicated_endings(job_body(manifests)["spec"], labelled_role)


def replanned(key: str, rendered: dict[str, Any], patched: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Queue, names and numbers of pods."""
    return changes(_DECIDED[key], rendered, patched)
