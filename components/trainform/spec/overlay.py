"""An experiment in one environment: the experiment's file with the merge patch for the environment applied."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, structs

from trainform.defaults import MOST_OVERLAYS
from trainform.errors import Problem, list_names
from trainform.spec.experiment import NOT_PATCHED, OVERLAYS, Experiment
from trainform.spec.layers import Layer
from trainform.spec.load import LoadResult, parse
from trainform.spec.names import did_you_mean
from trainform.spec.read import NOWHERE, Source
from trainform.spec.trial import OPTION, Assignment, merge_assignments, unknown_places

TOO_MANY = "has more than"  # the reason if a merged list or mapping has too many entries
NOTHING: Mapping[str, Any] = {}


def apply_overlay(
    loaded: LoadResult[Experiment], name: str, known: Collection[str] = (), tried: Sequence[Assignment] = ()
) -> LoadResult[Experiment]:
    """Return the experiment in the environment `name`, with every problem of its overlays.

    known: the names of the project's environments, empty if unknown. tried: values of `--set`, which are applied last.
    """
    data = _data(loaded)
    overlays = data.get(OVERLAYS, {})
    if data is NOTHING or not (overlays or tried):
        return loaded
    reader = _Overlays(loaded, {key: value for key, value in data.items() if key != OVERLAYS})
    problems = list(loaded.problems)
    chosen: tuple[Layer, ...] = ()
    for other, patch in itertools.islice(overlays.items() if isinstance(overlays, dict) else (), MOST_OVERLAYS):
        if not isinstance(patch, dict):  # `load` has reported it
            continue
        layer = reader.layer(f"{OVERLAYS}.{other}.", patch)
        problems += [
            *_wrong_keys(other, patch, loaded.source),
            *_unknown_environment(other, {*known, name} if known else (), loaded.source),
        ]
        if other == name:
            chosen = (layer,)
        else:
            problems += reader.read((layer,)).problems
    if tried:
        below = chosen[-1].merged if chosen else reader.base
        problems += unknown_places(tried, below)
        chosen = (*chosen, reader.layer(OPTION, merge_assignments(tried), chosen, in_file=False))
    read = reader.read(chosen)
    model = read.model if read.model is None or not overlays else read.model.attach_base(loaded.model)
    return structs.replace(read, model=model, problems=(*problems, *read.problems), data=loaded.data)


def merged(experiment: Experiment, name: str) -> Experiment:
    """Return the experiment in the environment. Raises `InputError` with every problem of its overlays."""
    return apply_overlay(LoadResult(experiment, (), NOWHERE), name).or_raise()


class _Overlays(Struct, frozen=True):
    """The overlays of an experiment."""

    loaded: LoadResult[Experiment]
    base: dict[str, Any]  # data of the experiment, without the overlays

    def layer(
        self, place: str, patch: Mapping[str, Any], below: tuple[Layer, ...] = (), *, in_file: bool = True
    ) -> Layer:
        kept = {key: value for key, value in patch.items() if key not in NOT_PATCHED}
        return Layer(place, kept, below[-1].merged if below else self.base, in_file)

    def read(self, layers: tuple[Layer, ...]) -> LoadResult[Experiment]:
        """Return the model with the layers applied, and the problems that the layers cause."""
        source = structs.replace(self.loaded.source, layers=layers)
        data = layers[-1].merged if layers else self.base
        parsed = parse(Experiment, data, _merged_texts(source))
        reported = {(problem.path, problem.reason) for problem in self.loaded.problems}
        found = tuple(
            _explain_layer(problem, source.locate(problem), layers)
            for problem in parsed.problems
            if (problem.path, problem.reason) not in reported or any(layer.sets(problem.path) for layer in layers)
        )
        model, given = parsed.model, self.loaded.model
        if model is not None and given is not None and not any("runtime" in layer.patch for layer in layers):
            model = model.model_copy(update={"runtime": given.runtime})  # its file may have been read already
        return structs.replace(parsed, model=model, problems=found, source=source)


def _explain_layer(problem: Problem, located: Problem, layers: tuple[Layer, ...]) -> Problem:
    """Return the problem at its place. If its place is in no layer, the reason names the last layer as the cause."""
    if not layers:
        return located
    if located.path != problem.path:
        kept = layers[-1].kept(problem.path) if TOO_MANY in problem.reason else []
        more = f"; null removes what the file has already: `{kept[0]}: null`" if kept else ""
        return dataclasses.replace(located, fix=f"{located.fix}{more}")
    return dataclasses.replace(located, reason=f"with {layers[-1].place.rstrip('. ')}, {located.reason}")


def _data(loaded: LoadResult[Experiment]) -> Mapping[str, Any]:
    """Return the data of the experiment's file, or of the model under the names of the file."""
    if loaded.data is not None:
        return loaded.data
    return NOTHING if loaded.model is None else loaded.model.model_dump(by_alias=True, exclude_unset=True)


def _wrong_keys(name: str, patch: Mapping[str, Any], source: Source) -> Iterator[Problem]:
    for key, (reason, fix) in NOT_PATCHED.items():
        if key in patch:
            yield source.locate(Problem(f"{OVERLAYS}.{name}.{key}", patch[key], reason, fix))


def _unknown_environment(name: str, known: Collection[str], source: Source) -> Iterator[Problem]:
    """Yield a problem if no environment has the name. known: the names, empty if unknown."""
    if known and name not in known:
        others = f"known: {list_names(sorted(known))}; or run `trainform new -e {name}`"
        reason = "no file of stacks/environments/ has the name of this environment"
        yield source.locate(Problem(f"{OVERLAYS}.{name}", None, reason, did_you_mean(name, known) or others))


def _merged_texts(source: Source) -> dict[str, str]:
    """Return `Source.written` by paths in the merged data."""
    others = f"{OVERLAYS}."
    written = {path: text for path, text in source.written.items() if not path.startswith(others)}
    for layer in source.layers:
        written = {path: text for path, text in written.items() if not layer.sets(path)}
        own = len(layer.place)
        written |= {path[own:]: text for path, text in source.written.items() if path.startswith(layer.place)}
    return written
