"""The picture as a flowchart of Mermaid's, which GitHub draws. No name can become a statement, a tag or a link: each is
quoted, and in it stand only letters and digits as they are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from trainform.review.model import Mark, Picture, PictureEdge, PictureNode
from trainform.review.picture.words import KINDS, condensed, cut, plain, used_by

MOST = (
    12,
    6,
    3,
    1,
)  # parts of a kind: beyond 12 the lines cannot be told from each other, and fewer where the text is too long
LINES = 32  # for each of so many parts: with all of them below the 500 that Mermaid draws
LARGEST = 50_000  # characters that Mermaid takes: beyond them GitHub shows an error in the place of the picture
LONGEST = 60  # characters of a line
# The same in GitHub's light and dark: each has its own letters.
STYLES: Mapping[Mark, str] = {
    "same": "fill:#f6f8fa,stroke:#59636e,color:#1f2328",
    "added": "fill:#dafbe1,stroke:#1a7f37,color:#0f3d1d",
    "removed": "fill:#ffebe9,stroke:#cf222e,color:#6e0d14,stroke-dasharray:4 4",
    "changed": "fill:#fff8c5,stroke:#9a6700,color:#4d3300,stroke-width:2px",
}
ARROWS: Mapping[Mark, str] = {"same": "-->", "added": "==>", "removed": "-.->", "changed": "-->"}
ALL_ROLES = "all roles"
TOO_LARGE = "Too large to be drawn. The list of its parts says it in words"
_KEPT = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,/-()→…")


def render(picture: Picture) -> str:
    """The flowchart, without the fence around it and without a line feed at its end."""
    texts = (_flowchart(condensed(picture, most), most * LINES) for most in MOST)
    return next((text for text in texts if len(text) < LARGEST), f'flowchart LR\n  n0["{TOO_LARGE}"]')


def _flowchart(picture: Picture, most: int) -> str:
    """The flowchart with at most so many lines, those that change first."""
    ids = {node.id: f"n{place}" for place, node in enumerate(picture.nodes)}
    return "\n".join(["flowchart LR", *_parts(picture, ids), *_lines(picture, ids, most), *_styles(picture, ids)])


def text(words: str, longest: int = LONGEST) -> str:
    """The words as they may stand in a quoted text: other characters than letters and digits by their numbers. Mermaid
    reads a colon in a line as a style, `//` as an address and a word with `@` as a shape."""
    return "".join(letter if letter in _KEPT else f"#{ord(letter)};" for letter in cut(words, longest)).replace("//",
        "/#47;")  # fmt: skip


def _parts(picture: Picture, ids: Mapping[str, str]) -> Iterator[str]:
    for kind, (one, several) in KINDS.items():
        nodes = [node for node in picture.nodes if node.kind == kind]
        if nodes:
            yield f'  subgraph {kind}s["{one if len(nodes) == 1 else several}"]'
            yield from (f'    {ids[node.id]}["{_label(node)}"]' for node in nodes)
            yield "  end"


def _label(node: PictureNode) -> str:
    """The lines of a part. The first one begins with a word of ours: Mermaid takes `1.` and `-` at the beginning for a
    list."""
    name = KINDS[node.kind][0] if node.kind == "rendezvous" else f"{KINDS[node.kind][0]} {node.name}"
    mark = "" if node.change == "same" else f" ({node.change})"
    facts = (f"{text(fact.label)} {text(plain(node, fact), 2 * LONGEST)}" for fact in node.facts)
    return "\n".join([f"{text(name)}{mark}", *facts])


def _lines(picture: Picture, ids: Mapping[str, str], most: int) -> Iterator[str]:
    edges = [*_edges(picture)]
    if len(edges) > most:
        edges = sorted(edges, key=lambda edge: edge[-1] == "same")[:most]
    for start, end, label, change in edges:
        said = f'|"{text(label)}"|' if label else ""
        yield f"  {ids[start]} {ARROWS[change]}{said} {ids[end]}"


def _edges(picture: Picture) -> Iterator[tuple[str, str, str, Mark]]:
    """The lines. What all of several roles use is one line from the job."""
    job = next((node.id for node in picture.nodes if node.kind == "job"), None)
    roles = [node for node in picture.nodes if node.kind == "role"]
    together = {
        (end, label, change)
        for end, label, change, names in used_by(picture)
        if job is not None and len(names) == len(roles) > 1
    }
    for edge in picture.edges:
        if not _is_of(edge, together):
            yield edge.start, edge.end, edge.label, edge.change
    for end, label, change in sorted(together):
        if job is not None:
            yield job, end, f"{ALL_ROLES} {label}".strip(), change


def _is_of(edge: PictureEdge, together: set[tuple[str, str, Mark]]) -> bool:
    return edge.start.startswith("role/") and (edge.end, edge.label, edge.change) in together


def _styles(picture: Picture, ids: Mapping[str, str]) -> Iterator[str]:
    for mark, style in STYLES.items():
        marked = [ids[node.id] for node in picture.nodes if node.change == mark]
        if marked:
            yield f"  classDef {mark} {style}"
            yield f"  class {','.join(marked)} {mark}"
