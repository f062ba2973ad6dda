"""What is not as it was when a review was saved, in the words of the files. Pure functions of two lists of facts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from trainform.manifests.shapes import mapping
from trainform.review.difference import Difference, differences, shown
from trainform.review.engine_events import name_of
from trainform.review.stand_ins import CHANGED_MASK, MASKED
from trainform.review.steps import RECORD
from trainform.saved.model import Document, Facts, Moved, Planned, Setting, State, Touched, What
from trainform.saved.program import PACKS
from trainform.saved.steps import PROVIDERS
from trainform.spec.stack import NAMESPACE

COMPONENTS = f"{NAMESPACE}:"
MOST_FIELDS = 20
"""Fields of one object that are told."""


def moved_place(saved: Facts, backend: str) -> list[Moved]:
    """The backend, without which there is no state to compare."""
    return [*_one("backend", "backend", saved.backend, backend, "The states of stacks are kept in another backend.")]


def moved_facts(saved: Facts, now: Facts) -> list[Moved]:
    """Everything from which a preview follows and that is not as it was."""
    return [
        *moved_place(saved, now.backend),
        *_one("backend", "name", saved.project, now.project, "The project has another name."),
        *_cluster(saved, now),
        *_one("engine", "pulumi", saved.engine, now.engine, "Another version of the engine runs."),
        *_one("trainform", "trainform", saved.trainform, now.trainform, "Another version of trainform runs."),
        *_settings(saved.config, now.config),
        *_document("experiment", "", saved.experiment, now.experiment, "The experiment says something else."),
        *_document("environment", "environment.", saved.environment, now.environment,
            "The environment says something else."),
        *_files("program", "A file of the program", saved.program, now.program),
        *_policy(saved.policy, now.policy),
        *_files("variable", "A variable of the shell for Pulumi's Kubernetes provider", saved.variables, now.variables),
        *_state(saved.state, now.state),
    ]  # fmt: skip


def _one(what: What, path: str, was: Any, now: Any, sentence: str) -> Iterator[Moved]:
    if was != now:
        yield Moved(what=what, path=path, was=was, now=now, sentence=sentence)


def _cluster(saved: Facts, now: Facts) -> Iterator[Moved]:
    """Another cluster. One cluster may be reached by several contexts and addresses."""
    if saved.cluster is None:
        return
    server = "no environment says where it is" if now.cluster is None else now.cluster.server
    sentence = f"The kubeconfig ({server}) leads to another cluster."
    yield from _one(
        "cluster", "cluster.uid", saved.cluster.uid, None if now.cluster is None else now.cluster.uid, sentence
    )


def _settings(saved: Mapping[str, Setting], now: Mapping[str, Setting]) -> Iterator[Moved]:
    for key in _keys(saved, now):
        was, will = saved.get(key), now.get(key)
        if _hash(was) != _hash(will):
            sentence = (
                f"The config of the stack has {_word(was, will, 'now', 'no longer', 'another value of')} `{key}`."
            )
            before, after = (None if each is None else each.shown for each in (was, will))
            yield Moved(what="config", path=key, was=before, now=after, sentence=sentence)


def _hash(value: Setting | Document | None) -> str:
    return "" if value is None else value.hash


def _word(was: object, now: object, made: str, gone: str, other: str) -> str:
    """How to say what has become of something."""
    return made if was is None else gone if now is None else other


def _document(what: What, prefix: str, was: Document | None, now: Document | None, sentence: str) -> Iterator[Moved]:
    """The fields of a file that differ. What looks like a secret has the same shown value on both sides."""
    if _hash(was) == _hash(now):
        return
    if was is None or now is None:
        became = "was not there, or could not be read" if was is None else "is not there, or cannot be read"
        yield Moved(what=what, path=what, sentence=f"{sentence[:-1]}: it {became}.")
        return
    found = differences(was.shown, now.shown)
    if not found:
        path, before, after = f"{prefix}(a secret)", MASKED, CHANGED_MASK
        yield Moved(what=what, path=path, was=before, now=after, sentence=f"{sentence[:-1]} where it holds a secret.")
    yield from _differences(what, prefix, found, sentence)


def _differences(what: What, prefix: str, found: Iterable[Difference], sentence: str) -> Iterator[Moved]:
    for difference in found:
        was, now = shown(difference)
        yield Moved(what=what, path=f"{prefix}{difference.path}", was=was, now=now, sentence=sentence)


def _policy(saved: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Moved]:
    """The packs on this machine: whether there are any, then their files."""
    if bool(saved) == bool(now):
        yield from _files("policy", "A file of a policy pack", saved, now)
        return
    judged = (
        "The review was judged by a policy pack, and none is named now."
        if saved
        else "The review was judged without a policy pack, and one is named now."
    )
    yield Moved(what="policy", path=PACKS, sentence=judged)


def moved_packs(saved: Mapping[str, str], now: Mapping[str, str]) -> list[Moved]:
    """The packs that have judged a preview, also those of a service."""
    sentence = "Other policy packs judge the preview."
    return [
        Moved(what="policy", path=name, was=saved.get(name), now=now.get(name), sentence=sentence)
        for name in _keys(saved, now)
        if saved.get(name) != now.get(name)
    ]


def _files(what: What, subject: str, saved: Mapping[str, str], now: Mapping[str, str]) -> Iterator[Moved]:
    for path in _keys(saved, now):
        if saved.get(path) != now.get(path):
            word = _word(saved.get(path), now.get(path), "was not there", "is gone", "has changed")
            yield Moved(what=what, path=path, sentence=f"{subject} {word}.")


def _keys(saved: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [*saved, *(key for key in now if key not in saved)]


# --- the state


def _state(saved: State, now: State) -> Iterator[Moved]:
    """What has become of the state: what is deployed in the words of the experiment, then that it was written."""
    yield from _deployed(saved, now)
    if saved.pending != now.pending:
        yield Moved(what="state", path="pending operations", sentence="A `pulumi up` was interrupted.")
    if saved != now:
        sentence = "The state was written since the review: by an `up`, a `refresh`, an `import` or a `destroy`."
        yield Moved(what="state", path="written", was=saved.written, now=now.written, sentence=sentence)


def _deployed(saved: State, now: State) -> Iterator[Moved]:
    for name in _keys(saved.deployed, now.deployed):
        sentence = f"Something else is deployed of {name}."
        yield from _document("deployed", "", saved.deployed.get(name), now.deployed.get(name), sentence)


def _type(urn: str) -> str:
    return urn.split("::")[2].rpartition("$")[2] if urn.count("::") > 2 else ""


def _kind(urn: str) -> str:
    return _type(urn).rpartition(":")[2] if _type(urn) else "A resource"


def _name(urn: str) -> str:
    return name_of(urn) if name_of(urn) else urn


# --- the cluster


def moved_objects(saved: Iterable[Touched], now: Iterable[Touched]) -> list[Moved]:
    """The live objects that are not as they were. One that could not be read is not compared."""
    before, after = ({_identity(each): each for each in objects} for objects in (saved, now))
    both = [(before[key], after[key]) for key in before if key in after]
    return [moved for was, will in both if not (was.unread or will.unread) for moved in _object(was, will)]


def _identity(each: Touched) -> tuple[str, ...]:
    return each.api_version.rpartition("/")[0], each.kind, each.namespace, each.name


def _object(was: Touched, now: Touched) -> Iterator[Moved]:
    path = f"{was.kind}/{was.name}"
    if was.uid != now.uid:
        change = "was made" if not was.uid else "is gone" if not now.uid else "was deleted and made anew"
        yield Moved(
            what="object", path=path, was=was.uid, now=now.uid,
            sentence=f"{was.kind} {was.name} {change} in the cluster."
        )  # fmt: skip
        return
    for field in _keys(was.fields, now.fields):
        if was.fields.get(field) != now.fields.get(field) or (field in was.fields) != (field in now.fields):
            sentence = f"{was.kind} {was.name} was changed in the cluster by somebody else."
            yield Moved(what="object", path=f"{path}: {field}", was=was.fields.get(field), now=now.fields.get(field),
                sentence=sentence)  # fmt: skip


# --- the steps


def moved_steps(saved: Iterable[Planned], now: Iterable[Planned]) -> list[Moved]:
    """The steps of the engine that are others than those that were reviewed."""
    before, after = ({(each.urn, each.operation == "delete"): each for each in steps} for steps in (saved, now))
    found = {key: [*_step(before.get(key), after.get(key))] for key in _step_keys(before, after)}
    whole = [moved for (urn, _), each in found.items() if not _is_component(urn) for moved in each]
    # a component says nothing more than its objects, unless it alone is another
    return whole if whole else [moved for each in found.values() for moved in each]


def _is_component(urn: str) -> bool:
    return _type(urn).startswith(COMPONENTS)


StepKey = tuple[str, bool]
Steps = Mapping[StepKey, Planned]


def _step_keys(before: Steps, after: Steps) -> list[StepKey]:
    return [*before, *(key for key in after if key not in before)]


def _step(was: Planned | None, now: Planned | None) -> Iterator[Moved]:
    either = now if was is None else was
    if was == now or either is None:
        return
    subject = f"{_kind(either.urn)} {_name(either.urn)}"
    what: What = "provider" if _type(either.urn).startswith(PROVIDERS) else "step"
    operations = [None if each is None else each.operation for each in (was, now)]
    if was is None or now is None or (was.operation != now.operation and what == "step"):
        sentence = f"The engine would do something else to {subject}."
        yield Moved(what=what, path=_name(either.urn), was=operations[0], now=operations[1], sentence=sentence)
        return
    found = differences(_values(was), _values(now))
    plain = [each for each in found if not _of_record(was, each)]
    sentence = (
        "Another version or setting of the provider is used." if what == "provider" else f"{subject} would be another."
    )
    yield from _differences(what, f"{_name(was.urn)}: ", (plain if plain else found)[:MOST_FIELDS], sentence)


def _values(step: Planned) -> dict[str, Any]:
    options = {
        "operation": step.operation,
        "parent": step.parent,
        "provider": step.provider,
        "keep": step.keep,
        "protect": step.protect,
    }
    return {**step.inputs, "(options)": options}


def _of_record(step: Planned, difference: Difference) -> bool:
    """True for the text of a record of what is deployed, whose parts other steps have in the words of the files."""
    return mapping(step.inputs.get("data")).keys() >= RECORD and difference.keys[:1] == ("data",)
