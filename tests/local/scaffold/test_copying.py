"""Copies of experiments: the named values change, and nothing else in the text."""

from __future__ import annotations

import difflib

import pytest

from tests.support.repository import tracked
from trainform.errors import InputError
from trainform.local.scaffold.copying import copied_text
from trainform.spec.layers import merge_patch
from trainform.spec.read import parse_mapping
from trainform.spec.trial import merge_assignments, read_assignments

TEXT = """\
# the title
name: one   # the name
image: registry.example.com/ai/pytorch:1
launcher:
  torchrun:
    script: /app/train.py   # the script
    args:   # in this order
      - --epochs
      - "90"

    # how the nodes meet
    max_restarts: 3
roles:
  node: {replicas: 2, cpu: 4}   # two nodes
prepare:
  - name: data
    image: busybox:1
    command: [cp]
env:
  NOTE: |
    two
    lines

  # the last comment
  LAST: "1"
labels: {}
"""


def changes(*fields: str, text: str = TEXT) -> list[str]:
    """Return the removed and added lines, without that of the name."""
    copied = copied_text(text, "one.yaml", "two", read_assignments(fields))
    diff = [*difflib.unified_diff(text.splitlines(), copied.splitlines(), n=0)][2:]
    lines = [f"{line[0]} {line[1:]}" for line in diff if line[0] != "@"]
    for line in ("- name: one   # the name", "+ name: two   # the name"):
        lines.remove(line)
    return lines


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("image=busybox:2", ["- image: registry.example.com/ai/pytorch:1", "+ image: busybox:2"]),
        (
            'launcher.torchrun.args=[--lr, "0.1", a]',
            [
                "-     args:   # in this order",
                "-       - --epochs",
                '-       - "90"',
                '+     args: ["--lr", "0.1", a]   # in this order',
            ],
        ),
        ("launcher.torchrun.max_restarts=4", ["-     max_restarts: 3", "+     max_restarts: 4"]),
        (
            "roles.node.replicas=4",
            ["-   node: {replicas: 2, cpu: 4}   # two nodes", "+   node: {replicas: 4, cpu: 4}   # two nodes"],
        ),
        (
            "roles.node={memory: 8Gi, cpu: null}",
            ["-   node: {replicas: 2, cpu: 4}   # two nodes", '+   node: {replicas: 2, memory: "8Gi"}   # two nodes'],
        ),
        (
            "roles.node.replicas=null",
            ["-   node: {replicas: 2, cpu: 4}   # two nodes", "+   node: {cpu: 4}   # two nodes"],
        ),
        ("prepare.data.image=busybox:2", ["-     image: busybox:1", "+     image: busybox:2"]),
        ("env.NOTE=one line", ["-   NOTE: |", "-     two", "-     lines", "+   NOTE: one line"]),
        ("env.NOTE=null", ["-   NOTE: |", "-     two", "-     lines"]),
        ("env.LR=1e-4", ['+   LR: "1e-4"']),
        ("labels.team=a, b", ["- labels: {}", '+ labels: {team: "a, b"}']),
        ("queue=research", ["+ queue: research"]),
        ("queue=null", []),
        ("storage.data={mount: /data, size: 1Gi}", ['+ storage: {data: {mount: "/data", size: "1Gi"}}']),
    ],
)
def test_only_the_field_changes(field: str, expected: list[str]) -> None:
    assert changes(field) == expected


def test_several_fields() -> None:
    assert changes("env.LR=1", "env.LAST=2") == ['-   LAST: "1"', "+   LAST: 2", "+   LR: 1"]


def test_every_experiment_of_the_repository_is_copied() -> None:
    fields = read_assignments(["env.LR=0.1", "labels.sweep=lr", "shared_memory=1Gi"])
    for path in tracked("experiments/*.yaml"):
        text = path.read_text()
        expected = merge_patch(parse_mapping(text, "").data, {**merge_assignments(fields), "name": "other"})
        assert parse_mapping(copied_text(text, path.name, "other", fields), "").data == expected


@pytest.mark.parametrize(
    ("text", "field", "reason"),
    [
        (f"{TEXT}annotations: &a {{x: y}}\nowner: *a\n", "annotations.x=z", "without a change of something else"),
        (TEXT, "prepare.data=null", "without a change of something else"),
        (TEXT, "rolse.node.replicas=2", "there is no `rolse`"),
        (TEXT, "name=three", "the name is that of the objects"),
        ("a: [", "image=x", "is not YAML"),
    ],
)
def test_values_that_cannot_be_set(text: str, field: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        copied_text(text, "one.yaml", "two", read_assignments([field]))
    assert reason in caught.value.problems[0].reason
