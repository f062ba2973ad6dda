"""The facts of a preview: its steps with their values, and the live objects that they touch.

Versions and status of objects and fields of controllers are left out, since they change by themselves.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainform.backends.backend import JOB_TYPES
from trainform.cluster.live_drift import drift_of, utc_now
from trainform.cluster.live_objects import Live, key_of
from trainform.cluster.phases import ENDED, phase_of, reported
from trainform.deployed.releases.release_files import git_line
from trainform.errors import TrainformError
from trainform.manifests.manifest import Manifest, mapping
from trainform.review import steps
from trainform.review.changes import masked_changes
from trainform.review.job_objects import applied
from trainform.review.preview import Preview, State, Step
from trainform.spec.environment import Environment
from trainform.stacks.drift.live_reads import Reads
from trainform.stacks.saved.file import keyed
from trainform.stacks.saved.gather import Facts, Source
from trainform.stacks.saved.saved_review import SavedReview

PROVIDERS = "pulumi:providers:"
COMPARED = (PROVIDERS, steps.COMPONENT)
"""Types that are compared although nothing happens to them: versions of providers, and inputs that name a cause."""
AUTONAMED = "pulumi.com/autonamed"
NO_CLUSTER = "The cluster is not compared: no environment says where it is."
NOT_STARTED = ("", "Pending", "Created", "Queuing", "Suspended")
CHOSEN_LATER = "[a name that the engine chooses at apply]"


def preview_facts(preview: Preview, environment: Environment | None, source: Source) -> tuple[Facts, list[str]]:
    """Return the facts, and which objects could not be read. TrainformError if the preview failed or is incomplete."""
    if preview.failed:
        raise TrainformError("the preview fails:", "", preview.failed.splitlines())
    if preview.incomplete:
        raise TrainformError(
            "the preview is incomplete", "run it with the version of Pulumi that trainform is tested with"
        )
    objects, unread = ({}, [NO_CLUSTER]) if environment is None else touched(preview, environment)
    return {
        "object": source.hash_secrets(objects),
        "step": source.hash_secrets(planned(preview, source.key)),
    }, unread


def saved_review(facts: Facts, preview: Preview, environment: Environment | None, source: Source) -> SavedReview:
    """Return the review with the facts that were gathered and those of its preview."""
    found, unread = preview_facts(preview, environment, source)
    commit = git_line(source.root, "rev-parse", "HEAD")
    return SavedReview(at=utc_now(), stack=source.stack, commit=commit, facts={**facts, **found}, not_compared=unread)


# --- steps


def planned(preview: Preview, key: bytes) -> dict[str, Any]:
    """Return what the engine does to each resource, by its kind and name. key: of the hashes of masked values."""
    changing = [step for step in preview.steps if steps.action(step) != "none" or step.type.startswith(COMPARED)]
    names = [*filter(None, map(_chosen_name, changing))]
    found = dict[str, Any]()
    for step in sorted(changing, key=lambda step: (step.urn, step.operation)):
        name = f"{step.kind} {step.name}"
        while name in found:
            name += "'"
        found[name] = _planned(step, lambda masked: keyed(key, _mask_names(masked, names)))
    planned_steps: dict[str, Any] = _mask_names(found, names)
    return planned_steps


def _mask_names(data: Any, names: list[str]) -> Any:
    text = json.dumps(data)
    for name in names:
        text = text.replace(name, CHOSEN_LATER)
    return json.loads(text)


def _planned(step: Step, hashed: Callable[[Any], str]) -> dict[str, Any]:
    """Return what the engine does to the resource. hashed: with a key."""
    state = State({}) if step.new is None else step.new
    # A kubeconfig in a provider may have a token for minutes; the UID of the cluster is compared.
    hidden = [] if step.type.startswith(PROVIDERS) else _hidden(state.unmasked(), state.inputs)
    options = {
        "type": step.type,
        "parent": state.parent,
        "provider": state.provider.rpartition("::")[0],  # without the id of a provider that is replaced
        "keep": state.keep,
        "protect": state.protect,
        "secrets": [each.path for each in masked_changes(step)],
        **({"masked": hashed(hidden)} if hidden else {}),
    }
    return {"(operation)": step.operation, **state.inputs, "(options)": options}


def _hidden(value: Any, shown: Any) -> list[Any]:
    """Return the values that the preview masks."""
    if isinstance(value, dict) and isinstance(shown, dict) and value.keys() == shown.keys():
        return [[key, found] for key, item in value.items() if (found := _hidden(item, shown[key]))]
    if isinstance(value, list) and isinstance(shown, list) and len(value) == len(shown):
        return [[at, found] for at, item in enumerate(value) if (found := _hidden(item, shown[at]))]
    return [] if value == shown else [value]


def _chosen_name(step: Step) -> str:
    """Return the name of a new object if the provider draws another one in each preview; else ""."""
    if step.old is not None or step.new is None or not step.is_object:
        return ""
    metadata = mapping(step.new.inputs.get("metadata"))
    is_drawn = mapping(metadata.get("annotations")).get(AUTONAMED) == "true"
    return str(metadata.get("name", "")) if is_drawn else ""


# --- live objects


def touched(preview: Preview, environment: Environment) -> tuple[dict[str, Any], list[str]]:
    """Return the live objects that the engine touches: None, or UID, phase of a job, and fields that differ from what
    was applied. Objects that cannot be read come second, as sentences. Raises `ClusterError`."""
    named = {key_of(each.body): each for each in _named_objects(preview, environment.namespace.name)}
    with Reads(environment.cluster.context) as reads:
        live = reads.objects(named.values())
    found, unread = dict[str, Any](), list[str]()
    for key in sorted(named):
        if live[key].reason:
            unread.append(f"{key[1]} {key[3]} is not compared: {live[key].reason}.")
        else:  # the whole key where two groups have the kind, or two namespaces the name
            name = f"{key[1]}/{key[3]}"
            found[name if name not in found else "/".join(key)] = _touched(named[key], live[key])
    return found, unread


def _touched(named: Manifest, live: Live) -> dict[str, Any] | None:
    if live.body is None:
        return None
    fields = {drift.path: drift.live for drift in drift_of(named.body, live.body)}
    is_job = f"{named.body['apiVersion']}:{named.body['kind']}" in JOB_TYPES
    phase = {"phase": _phase(live.body)} if is_job else {}
    return {"uid": str(mapping(live.body.get("metadata")).get("uid", "")), **phase, **fields}


def _phase(job: Mapping[str, Any]) -> str:
    """Return pending, running or finished from the job's status: a replaced job loses its progress."""
    if phase_of(job, None) in ENDED:
        return "finished"
    return "pending" if reported(mapping(job.get("status"))) in NOT_STARTED else "running"


def _named_objects(preview: Preview, namespace: str) -> Iterator[Manifest]:
    """Yield the objects after the change, then those before it with their fields as applied last."""
    changing = [step for step in preview.steps if step.is_object and steps.action(step) != "none"]
    for after in (True, False):
        for step in changing:
            state = step.new if after else step.old
            if state is None:
                continue
            body = {**steps.body(step, state), **applied(state)}
            body["metadata"] = {"namespace": namespace, **mapping(body.get("metadata"))}
            if isinstance(body["metadata"].get("name"), str):
                keys = ("apiVersion", "kind", "metadata") if after else body
                yield Manifest("", {key: body[key] for key in keys})
