"""Which volumes of a job stay where and as they are, whatever becomes of the job: claim, mount path, and all that a pod
sees of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from trainform.plan.roles import claim_name
from trainform.review import steps
from trainform.review.fate import Fate
from trainform.review.mounts import Seen, claim_said, mounts
from trainform.spec.experiment import Experiment
from trainform.spec.storage import Volume

WORDS_OF_CLAIM = len(claim_said("").split(" "))
Places = set[tuple[str, str, str]]
"""Role, path, and what stands there."""


def kept_volumes(happens: Fate) -> list[tuple[str, str, Volume]]:
    """The volumes of which claim, mount path and all else that a pod sees are unchanged, also by overrides: name, claim
    and volume. Those whose claim is made, replaced or deleted, or about whose claim the preview says nothing that could
    be known, are not among them."""
    if happens.before is None or happens.after is None or happens.before.model is None or happens.after.model is None:
        return []
    old, new = happens.before.model, happens.after.model
    was, will = mounts(happens.job, old=True), mounts(happens.job, old=False)
    both = [role for role in will if role in was]
    seen = _by_claim(was, both), _by_claim(will, both)
    claims = {steps.name(step): steps.fate(step) for step in steps.of_kind(happens.job.steps, steps.CLAIM)}
    return [
        (key, claim_name(new, key), volume)
        for key, volume in new.storage.items()
        if key in old.storage
        and _mounted(old, key) == _mounted(new, key)
        and _claim_stays(claims, new, key)
        and _seen_alike(seen, claim_said(claim_name(new, key)), volume.mount, both)
    ]


def _seen_alike(seen: Iterable[Mapping[str, Places]], claim: str, path: str, roles: Sequence[str]) -> bool:
    """True if the pods of each role that stays see the claim at the same paths, and at this one, as far as the preview
    has pods."""
    was, will = (side.get(claim, set()) for side in seen)
    return was == will and (not roles or any(at == path for _, at, _ in will))


def _by_claim(seen: Seen, roles: Iterable[str]) -> Mapping[str, Places]:
    """Where the pods of the roles see each claim, and as what."""
    found: dict[str, Places] = defaultdict(set)
    for place in ((role, path, said) for role in roles for path, texts in seen[role].items() for said in texts):
        found[" ".join(place[-1].split(" ")[:WORDS_OF_CLAIM])].add(place)
    return found


def _mounted(experiment: Experiment, key: str) -> tuple[object, ...]:
    volume = experiment.storage[key]
    return claim_name(experiment, key), volume.mount, volume.sub_path, volume.read_only, volume.roles


def _claim_stays(claims: Mapping[str, steps.Fate], experiment: Experiment, key: str) -> bool:
    """claims: what happens to those of the job."""
    if experiment.storage[key].claim is not None:  # one that exists: this stack does not touch it
        return True
    return claims.get(claim_name(experiment, key), "none") in ("none", "update")
