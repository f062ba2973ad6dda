"""What a user's `runtimePatches` of a TrainJob must not have, beside what they make of the pods: what Trainer's webhook refuses, and what would change
the job beside its pods.

Source: Kubeflow Trainer 2.3.0, `pkg/runtime/core` (`newRuntimeInfo`) and `pkg/runtime/framework/plugins/jobset` (`Validate`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainform.backends.gangs import QUEUE_ANNOTATION, QUEUE_LABEL
from trainform.backends.jobset.spec import OWN_KEYS
from trainform.backends.patched_objects import is_one_of
from trainform.backends.trainer.runtime import ANCESTOR_LABEL, NODE
from trainform.backends.trainer.runtime_rules import replicated_jobs
from trainform.backends.workloads import value_at
from trainform.errors import list_names
from trainform.manifests.served.mistake import Mistake
from trainform.manifests.shapes import mapping, mappings

_MANAGER = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/[A-Za-z0-9/._~%!$&'()*+,;=:-]+")
_KINDS = ("initContainers", "containers")
_QUEUE = "the plan decides the queue", "remove it, and write `queue`"
_PART = "by this label Trainer finds the replicated job that a TrainJob counts", "remove it"
# Labels and annotations by which a patch would change the job: of the JobSet, and of a Job in it.
_OF_JOBS = {QUEUE_ANNOTATION: _QUEUE, QUEUE_LABEL: _QUEUE, ANCESTOR_LABEL: _PART}


def patch_mistakes(spec: Mapping[str, Any], runtime: Mapping[str, Any]) -> Iterator[Mistake]:
    """Each mistake at its place in the TrainJob's spec. runtime: the spec of the runtime that it names."""
    jobs = {job["name"]: value_at(job, "template.spec.template.spec") for job in replicated_jobs(runtime)}
    for index, patch in enumerate(spec.get("runtimePatches", [])):
        where = f"runtimePatches[{index}]"
        if not _MANAGER.fullmatch(patch["manager"]):
            reason, fix = "the name has no domain, and Trainer wants one", "write it like example.com/mine"
            yield Mistake(f"{where}.manager", patch["manager"], reason, fix)
        template = mapping(value_at(patch, "trainingRuntimeSpec.template"))
        place = f"{where}.trainingRuntimeSpec.template"
        yield from (found.below(place) for found in _of_metadata(template))
        for each in mappings(mapping(template.get("spec")).get("replicatedJobs")):
            yield from (found.below(f"{place}.spec.replicatedJobs.{each['name']}") for found in _of_job(each, jobs))


def image_mistakes(spec: Mapping[str, Any]) -> Iterator[Mistake]:
    """What the API server refuses of the TrainJob's image in a pod, and Trainer's definition does not: at its place in the TrainJob."""
    from trainform.manifests.served.validation import mistakes  # which only a patch needs
    from trainform.manifests.served.words import WORDS

    image = value_at(spec, "trainer.image")
    if image is not None:
        yield from (found.below("spec.trainer.image") for found in mistakes(image, WORDS["image"]))


def _of_job(patch: Mapping[str, Any], jobs: Mapping[str, Any]) -> Iterator[Mistake]:
    if patch["name"] not in jobs:
        yield Mistake(
            "name", patch["name"], "the runtime has no such replicated job", f"write one of {list_names(jobs)}"
        )
        return
    template = mapping(patch.get("template"))
    yield from (found.below("template") for found in _of_metadata(template))
    pods = mapping(value_at(template, "spec.template"))
    found = (*_of_pods(pods), *_of_containers(mapping(pods.get("spec")), mapping(jobs[patch["name"]])))
    yield from (mistake.below("template.spec.template") for mistake in found)


def _of_metadata(template: Mapping[str, Any]) -> Iterator[Mistake]:
    for field in ("labels", "annotations"):
        for key, value in mapping(mapping(template.get("metadata")).get(field)).items():
            if key in _OF_JOBS:
                yield Mistake(f"metadata.{field}.{key}", value, *_OF_JOBS[key])


def _of_pods(template: Mapping[str, Any]) -> Iterator[Mistake]:
    for field in ("labels", "annotations"):
        for key, value in mapping(mapping(template.get("metadata")).get(field)).items():
            if is_one_of(key, OWN_KEYS):
                yield Mistake(f"metadata.{field}.{key}", value, "the key is set by JobSet itself", "choose another key")


def _of_containers(patch: Mapping[str, Any], pod: Mapping[str, Any]) -> Iterator[Mistake]:
    known = [each["name"] for kind in _KINDS for each in mappings(pod.get(kind))]
    for kind in _KINDS:
        for container in mappings(patch.get(kind)):
            name = container["name"]
            if name not in known:
                reason, fix = "the runtime has no such container there", f"write one of {list_names(known)}"
                yield Mistake(f"spec.{kind}.{name}.name", name, reason, fix)
            elif container.get("env") and name == NODE:
                fix = "remove it, and write `env`"
                yield Mistake(
                    f"spec.{kind}.{name}.env", None, f"Trainer takes no variables for {NODE} from a patch", fix
                )
