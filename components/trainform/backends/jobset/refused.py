"""What JobSet's webhook, or the API server when JobSet makes the Jobs, refuses of a JobSet's spec beside its definition.

Source: JobSet 0.12.0, `pkg/webhooks/jobset_webhook.go`; Kubernetes 1.34.4, `pkg/apis/batch/validation`. What the plan decides is not looked at, and
`refused_orders` knows the orders.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trainform.manifests.served.mistake import Mistake
from trainform.manifests.served.run_time import run_time_mistakes
from trainform.spec.names import LABEL_MAX, MEANING, SERVICE_LABEL, matches

REPLACED_WHEN = ("Failed", "TerminatingOrFailed")
IN_PLACE_RESTART = "InPlaceRestart"


def refused(name: str, spec: dict[str, Any]) -> Iterator[Mistake]:
    """Each mistake at its place in the spec. name: that of the JobSet."""
    for job in spec["replicatedJobs"]:
        yield from (found.below(f"replicatedJobs.{job['name']}") for found in _of_job(job))
    first = spec["replicatedJobs"][0]
    if first.get("dependsOn") == []:
        reason = "the first replicated job waits for none, and JobSet refuses the field there even if it is empty"
        yield Mistake(f"replicatedJobs.{first['name']}.dependsOn", None, reason, "remove it")
    yield from _targets(spec)
    if "coordinator" in spec:
        yield from (found.below("coordinator") for found in _coordinator(name, spec))
    if spec.get("failurePolicy", {}).get("restartStrategy") == IN_PLACE_RESTART:
        reason = "JobSet does not have this strategy unless somebody has switched it on"
        yield Mistake("failurePolicy.restartStrategy", IN_PLACE_RESTART, reason, "write Recreate or BlockingRecreate")


def _of_job(job: dict[str, Any]) -> Iterator[Mistake]:
    group = job.get("groupName", "")
    if "groupName" in job and (not matches(SERVICE_LABEL, group) or len(group) > LABEL_MAX):
        yield Mistake("groupName", group, f"the name {MEANING[SERVICE_LABEL][0]}", MEANING[SERVICE_LABEL][1])
    spec = job["template"]["spec"]
    yield from (found.below("template.spec") for found in run_time_mistakes(spec))
    replaced = spec.get("podReplacementPolicy")
    if replaced is not None and replaced not in REPLACED_WHEN:
        reason = "the value is none that a Job takes, so no pod would be made"
        fix = f"write {' or '.join(REPLACED_WHEN)}"
        yield Mistake("template.spec.podReplacementPolicy", replaced, reason, fix)


def _targets(spec: dict[str, Any]) -> Iterator[Mistake]:
    names = [job["name"] for job in spec["replicatedJobs"]]
    for index, name in enumerate(spec.get("successPolicy", {}).get("targetReplicatedJobs", [])):
        if name not in names:
            where = f"successPolicy.targetReplicatedJobs[{index}]"
            yield Mistake(where, name, "there is no replicated job of this name", f"write one of {', '.join(names)}")


def _coordinator(name: str, spec: dict[str, Any]) -> Iterator[Mistake]:
    chosen = spec["coordinator"]
    jobs = {job["name"]: job for job in spec["replicatedJobs"]}
    job = jobs.get(chosen["replicatedJob"])
    if job is None:
        fix = f"write one of {', '.join(jobs)}"
        yield Mistake("replicatedJob", chosen["replicatedJob"], "there is no replicated job of this name", fix)
        return
    numbers = {"jobIndex": job["replicas"], "podIndex": job["template"]["spec"]["completions"]}
    for field, number in numbers.items():
        if not 0 <= chosen.get(field, 0) < number:
            fix = "write 0" if number == 1 else f"write 0 to {number - 1}"
            yield Mistake(field, chosen[field], f"there are {number} of them, counted from 0", fix, ("replicatedJob",))
    host = "-".join([name, job["name"], *(str(chosen.get(field, 0)) for field in numbers)])
    label = f"{host}.{spec['network'].get('subdomain', name)}"
    if len(label) > LABEL_MAX:
        reason = f"JobSet writes the address {label} into a label, and it has {len(label)} characters of {LABEL_MAX}"
        yield Mistake("", None, reason, "remove it, or shorten the experiment's name")
