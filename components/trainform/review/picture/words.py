"""What the picture says: the words of its parts and marks, and its text alternative."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trainform.escaping import display_width, escaped
from trainform.review.model import Mark, Picture, PictureEdge, PictureFact, PictureNode

KINDS: Mapping[str, tuple[str, str]] = {
    "queue": ("Queue", "Queues"),
    "job": ("Job", "Jobs"),
    "role": ("Role", "Roles"),
    "shape": ("Node shape", "Node shapes"),
    "rendezvous": ("Rendezvous", "Rendezvous"),
    "claim": ("Claim", "Claims"),
    "secret": ("Secret", "Secrets"),
}
"""The kinds of parts in the order in which they are read, each as one and as several."""
SIGNS: Mapping[Mark, str] = {"same": "", "added": "+ ", "removed": "- ", "changed": "~ "}
LEGEND: Mapping[Mark, str] = {"same": "unchanged", "added": "added", "removed": "removed",
    "changed": "changed: before → after"}  # fmt: skip
MOST_NAMED = 3
ELLIPSIS = "…"
LONGEST = 400  # characters of a text that is shown in full somewhere


def cut(text: str, room: int) -> str:
    """The text on one line in so many columns. What is left out is left out of its first half: names, tags and folders
    differ at their ends."""
    text = escaped(text)
    if display_width(text) <= room:
        return text
    head = room // 3
    begin, end = _within(text, head), _within(text[::-1], room - head - 1)[::-1]
    return f"{begin}{ELLIPSIS}{end}"


def _within(text: str, room: int) -> str:
    """The longest beginning of the text that has room."""
    taken = 0
    for place, letter in enumerate(text):
        taken += display_width(letter)
        if taken > room:
            return text[:place]
    return text


def whole(text: str) -> str:
    """The text on one line, with an end: a preview may hold names of any length."""
    text = escaped(text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}{ELLIPSIS}"


def said(fact: PictureFact) -> str:
    """The fact before and after, once where it stays."""
    shown = ["none" if value is None else value for value in (fact.before, fact.after)]
    return " → ".join(dict.fromkeys(shown))


def plain(node: PictureNode, fact: PictureFact) -> str:
    """What the fact says of a part, which has one side alone if it is added or removed."""
    if node.change == "added":
        return str(fact.after)
    return str(fact.before) if node.change == "removed" else said(fact)


def title(picture: Picture) -> str:
    """The picture's name."""
    return f"Picture of the job {whole(picture.job)}"


def described(picture: Picture) -> list[str]:
    """The picture as sentences, for those who do not see it."""
    names = {node.id: node.name for node in picture.nodes}
    return [_described(node, picture.edges, names) for kind in KINDS for node in picture.nodes if node.kind == kind]


def _described(node: PictureNode, edges: Iterable[PictureEdge], names: Mapping[str, str]) -> str:
    name = "" if node.kind == "rendezvous" else f" {whole(node.name)}"
    mark = "" if node.change == "same" else f" ({node.change})"
    told = [f"{whole(fact.label)} {whole(plain(node, fact))}" for fact in node.facts]
    if node.kind == "role":
        told += [_line(edge, names) for edge in edges if edge.start == node.id]
    return f"{KINDS[node.kind][0]}{name}{mark}{': ' if told else ''}{'; '.join(told)}."


def _line(edge: PictureEdge, names: Mapping[str, str]) -> str:
    kind = edge.end.partition("/")[0]
    mark = "" if edge.change == "same" else f" ({edge.change})"
    thing = "the rendezvous" if kind == "rendezvous" else f"{KINDS[kind][0].lower()} {whole(names[edge.end])}"
    label = whole(edge.label)
    how = f" at {label}" if label.startswith("/") else f" ({label})" if label else ""
    return f"{thing}{how}{mark}"


def users(ends: Sequence[str], every: int, room: int) -> str:
    """The roles that use something, of so many: all of them, or the first ones by name."""
    if len(ends) == every and every > 1:
        return "both roles" if every == 2 else f"all {every} roles"
    listed = ", ".join(ends)
    if len(ends) <= MOST_NAMED or len(listed) <= room:
        return listed
    return f"{', '.join(ends[:MOST_NAMED])} and {len(ends) - MOST_NAMED} more"


def used_by(picture: Picture) -> Iterator[tuple[str, str, Mark, list[str]]]:
    """What roles use, by part and by how it is used: the part's id, the place, the mark, and the names of the roles."""
    roles = {node.id: node.name for node in picture.nodes if node.kind == "role"}
    others = {node.id for node in picture.nodes if node.kind in ("rendezvous", "claim", "secret")}
    found: dict[tuple[str, str, Mark], list[str]] = {}
    for edge in picture.edges:
        if edge.start in roles and edge.end in others:
            found.setdefault((edge.end, edge.label, edge.change), []).append(roles[edge.start])
    return ((*key, names) for key, names in found.items())
