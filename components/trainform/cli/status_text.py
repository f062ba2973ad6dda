"""The status of a job as sections for people. Of many pods those with the same role and state are one row."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

from trainform.cluster.live_drift import age
from trainform.cluster.phases import ENDED, ENDED_PODS, Phase, PodState
from trainform.console.sections import Block, Item, Row, Section, Table, bounded, counted, sentence
from trainform.errors import list_names
from trainform.running.failure import error_line
from trainform.running.model import End, Failure, JobStatus, PodStatus, Reason
from trainform.running.status import MOST_NODES

MOST_PODS = 32
"""Pods that have a row each; of more than these only such as need attention."""
MOST_NAMED = 10
TROUBLE = frozenset({PodState.FAILED, PodState.RESTARTING, PodState.LOST})
MOST_FIRST = 3  # pods that may have failed first, by name
COLUMNS = ("pod", "rank", "state", "restarts", "last output", "node")
GROUPS = ("pods", "role", "state", "restarts", "last output", "nodes")


def sections(found: JobStatus, error: str = "") -> list[Section]:
    """Return the parts of the status, the most important first. error: why there is no newer one."""
    title = found.stack.rpartition("/")[2] or f"{found.experiment} in {found.environment}"
    return bounded(
        [
            Section(title, (_header(found),), found.phase),
            Section("Not connected", (Item(f"Read at {found.read_at}. Trying again: {error}"),) if error else ()),
            Section("Why it waits", tuple(map(_reason, found.reasons))),
            _failures(found),
            Section("Pods", tuple(_pods(found))),
            Section("Not read", tuple(Item(sentence(f"{part}: {why}")) for part, why in found.not_read.items())),
        ]
    )


def _header(found: JobStatus) -> Item:
    name = f"{found.namespace}/{found.job}" if found.job else found.namespace
    begun = [_before(found.created, found, "created"), _before(found.ended, found, "ended")]
    live = any(pod.state not in ENDED_PODS for pod in found.pods)
    runs, ran = age(found.started, found.ended or (found.read_at if live else "")), "run" if live else "ran"
    states = Counter(pod.state for pod in found.pods)
    placed = f"{found.placed} of {found.needed} placed" if found.needed and found.phase not in ENDED else ""
    restarts = counted(found.restarts, "restart") if found.restarts else ""
    cost = "" if found.cost is None else f" ({found.cost.amount:.2f} {found.cost.currency})"
    rows = {
        "note": sentence(found.message),
        "phase": "from the job object (its pods are gone)" if found.phase_from_job else "",
        "queue": found.queue,
        "pods": _joined([placed, *(f"{count} {state}" for state, count in sorted(states.items())), restarts]),
        "uses": _joined(f"{count} {kind}" for kind, count in found.accelerators.items()),
        "time": _joined([*begun, f"its pods {ran} for {runs}{cost}" if runs else ""]),
    }
    shown = tuple(Row(label, text, verbatim=label == "queue") for label, text in rows.items() if text)
    return Item(_joined([name, found.backend, f"fault: {found.fault}" if found.fault else ""]), shown)


def _before(time: str, found: JobStatus, what: str = "") -> str:
    """Return how long ago something happened: `created 40 s ago`; "" if that is unknown."""
    ago = age(time, found.read_at)
    return f"{what} {ago} ago".lstrip() if ago else ""


def _reason(reason: Reason) -> Item:
    rows = [Row("held by", holder.text) for holder in reason.holders]
    rows += [Row("fix", reason.fix)] if reason.fix else []
    return Item(sentence(reason.text), tuple(rows), code=reason.code, where=reason.object)


def headline(found: JobStatus) -> str:
    """Return the reason for the phase on one line; "" if it needs none, or if that is unknown."""
    if found.reasons:
        return found.reasons[0].text
    if found.failure is None or found.phase is Phase.RUNNING:
        return sentence(found.message)
    end = found.failure.end
    error = "" if end is None else error_line(end) or end.message.rpartition("\n")[2]
    return _joined([_failure(found.failure).text, error], " ")


def _failures(found: JobStatus) -> Section:
    failure = found.failure
    title = "Why it failed" if found.phase in ENDED else "Last failure or restart"
    return Section(title, () if failure is None else (_failure(failure),))


def _failure(failure: Failure) -> Item:
    if failure.end is None:
        return Item(sentence(failure.note))
    ranks = f"rank {_either(failure.ranks)}" if failure.ranks else ""
    others = f"{counted(failure.cascade, 'other')} ended within {failure.cascade_seconds} s" if failure.cascade else ""
    text = _joined([_joined([ranks, _cause(failure.end)], ": "), others], "; ")
    rows = [Row("", line, verbatim=True) for line in failure.end.message.splitlines()]
    rows += [Row("note", sentence(failure.note))] if failure.note else []
    return Item(sentence(text), tuple(rows), where=_either(failure.pods))


def _either(names: Sequence[object]) -> str:
    """Return the names as alternatives: `3 or 5`."""
    shown = " or ".join(map(str, names[:MOST_FIRST]))
    return f"{shown} or {len(names) - MOST_FIRST} others" if len(names) > MOST_FIRST else shown


def _cause(end: End) -> str:
    """Return an end in words: `exit in data (exit code 1), fault: workload`."""
    code = "" if end.exit_code is None else f"exit code {end.exit_code}"
    known = _joined([code, "" if end.signal is None else f"signal {end.signal}"])
    where = f" in {end.container}" if end.container else ""
    return f"{end.cause}{where}{f' ({known})' if known else ''}, fault: {end.fault or 'unknown'}"


def _pods(found: JobStatus) -> Iterator[Block]:
    many = len(found.pods) > MOST_PODS
    if many:
        yield _table((GROUPS, *_groups(found)))
    named = [pod for pod in found.pods if not many or pod.state in TROUBLE]
    shown = named[:MOST_NAMED] if many else named
    if shown:
        yield _table((COLUMNS, *(_row(pod, found) for pod in shown)))
    if len(named) > len(shown):
        yield Item(f"And {len(named) - len(shown)} more; `--output json` has all pods.")


def _table(rows: Sequence[tuple[str, ...]]) -> Table:
    """Return the table without columns that have no value."""
    kept = [column for column in zip(*rows, strict=True) if any(column[1:])]
    return Table(tuple(zip(*kept, strict=True)))


def _row(pod: PodStatus, found: JobStatus) -> tuple[str, ...]:
    rank, output = "" if pod.rank is None else str(pod.rank), _before(pod.last_output, found)
    return f"{pod.role}/{pod.index}", rank, pod.reason or pod.state, str(pod.restarts), output, pod.node


def _groups(found: JobStatus) -> Iterator[tuple[str, ...]]:
    groups: dict[tuple[str, str], list[PodStatus]] = defaultdict(list)
    for pod in found.pods:
        groups[pod.role, pod.reason or pod.state].append(pod)
    for (role, state), pods in groups.items():
        last = max(pod.last_output for pod in pods)
        restarts = str(sum(pod.restarts for pod in pods))
        nodes = list_names(sorted({pod.node for pod in pods if pod.node}), MOST_NODES)
        yield str(len(pods)), role, state, restarts, _before(last, found), nodes


def _joined(texts: Iterable[str], gap: str = ", ") -> str:
    return gap.join(filter(None, texts))
