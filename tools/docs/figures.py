"""The figures of the documentation, made from text: `docs/figures/*.svg`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from tools.contracts import layers as packages
from tools.docs.svg import Box, around, arrow, column, figure, height_of, row, text, title_of, width_of

EDGE, GAP = 24, 20  # around a figure, between the layers

# The layers, lowest first, each with the first of its rooms in the order that the tests hold.
FIRST_ROOMS = {
    "what everything stands on": "defaults",
    "what a user writes": "spec",
    "what will run, and what is invalid": "plan",
    "one folder for each operator": "backends",
    "two files to one checked job": "job",
    "the edge: the live cluster, and Pulumi": "cluster",
}
COMMANDS = "cli"
APART = ("local",)  # not a step from two files to a change
KINDS = {"resources": "main"}  # the only one that imports Pulumi


def layers() -> dict[str, list[str]]:
    """Return the rooms of each layer, lowest first."""
    order = [room for room in packages() if room not in {COMMANDS, *APART}]
    starts = [order.index(room) for room in FIRST_ROOMS.values()]
    return {name: order[start:end] for name, start, end in zip(FIRST_ROOMS, starts, [*starts[1:], None], strict=True)}


def layers_figure() -> str:
    """Return the figure of the rooms: each imports only those below it."""
    words, width = max(map(width_of, ([name] for name in FIRST_ROOMS))) - 40, 580
    left, y, height = EDGE + words, EDGE + 48.0, height_of([""]) + GAP
    boxes, labels = row(left, y, [COMMANDS], width), [("the verbs of the command line", y)]
    for name, rooms in reversed(layers().items()):
        y += height
        boxes += row(left, y, rooms, width)
        labels.append((name, y))
    middle = (boxes[0].y + boxes[-1].y + boxes[-1].height) / 2
    others = column(left + width + 3 * GAP, middle, [[name] for name in APART if name in packages()], gap=3)
    frame = around(others)
    parts = [
        *(text(EDGE, top + height_of([""]) / 2 + 4.5, name, "quiet", "start") for name, top in labels),
        title_of(frame, "next to them"),
        *(structs.replace(box, kind=KINDS.get(box.lines[0], "box")).draw() for box in [*boxes, *others]),
        frame.draw(),
    ]
    title = "The layers of the code: a package imports only those below it, and resources alone imports Pulumi."
    bottom = max(box.y + box.height for box in [*boxes, frame])
    return figure(_behind([frame], EDGE), bottom + EDGE, title, parts)


def stack_figure() -> str:
    """Return the figure of a stack: from two files to the pods."""
    middle, far = 150, 100
    files = column(
        EDGE,
        middle,
        [
            ("experiments/resnet.yaml", "written by a researcher:", "image, launcher, roles"),
            ("environments/dev.yaml", "written by the platform team:", "accelerators, queues, limits"),
        ],
        gap=40,
    )
    [stack] = column(_behind(files, 50), middle, [("stack resnet.dev", "plan", "manifests", "state")], "main")
    objects = column(
        _behind([stack], far),
        middle,
        [("PersistentVolumeClaim", "stays, with keep: true"), ("Service",), ("ConfigMap",), ("Job resnet-5c1035",)],
    )
    frame, job = around(objects), objects[-1]
    pods = column(
        _behind([frame], 50), job.middle, [("pod node-0", "8 accelerators"), ("pod node-1", "8 accelerators")], "pod"
    )
    parts = [
        *(arrow(box, stack) for box in files),
        arrow(stack, frame, ["preview", "up", "destroy"]),
        *(arrow(job, pod) for pod in pods),
        title_of(frame, "objects in the cluster"),
        title_of(pods[0], "made by the operator"),
        *(box.draw() for box in [*files, stack, *objects, *pods, frame]),
    ]
    title = (
        "An experiment and an environment make a stack; preview, up and destroy act on its objects in the cluster, "
        "and the operator makes the pods."
    )
    return figure(_behind(pods, EDGE), pods[-1].y + pods[-1].height + EDGE, title, parts)


def _behind(boxes: Sequence[Box], gap: float) -> float:
    return max(box.x + box.width for box in boxes) + gap
