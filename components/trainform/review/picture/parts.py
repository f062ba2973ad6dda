"""The parts of a picture of a job."""

from typing import Literal

from pydantic import Field

from trainform.console.report_part import Part


class PictureFact(Part):
    """Something that a part of the picture says of itself, before and after; null: it is not there."""

    label: str
    before: str | None = None
    after: str | None = None


Mark = Literal["same", "added", "removed", "changed", "restarted"]


class PictureNode(Part):
    """A part of the picture. A role is one part, however many pods it has."""

    id: str = Field(description="Unique in its picture: role/worker.")
    kind: Literal["queue", "job", "role", "claim"]
    name: str
    change: Mark
    facts: list[PictureFact] = Field(default=[])


class PictureEdge(Part):
    """A line from one part of the picture to another."""

    start: str
    end: str
    label: str = Field(default="", description="Where a claim is mounted.")
    change: Mark


class Picture(Part):
    """What a job consists of, before and after."""

    job: str
    nodes: list[PictureNode]
    edges: list[PictureEdge]
