"""What verbs print of what users write: every character visible, every line ours, whatever stands in a key, a value or
a name."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.cli.running import run
from tests.support.unseen import FORGED, HALF, MARKUP, SAMPLES, texts, unseen
from trainform.errors import MASK, in_order
from trainform.job.check import check_experiment
from trainform.job.render import job_manifests

FIX = re.compile(r"^\s*fix:", re.MULTILINE)
WHOLE: dict[str, Any] = {
    "name": "mine",
    "image": "registry.example.com/ai/pytorch:2.8",
    "launcher": {"command": ["python", "/app/train.py", "--note", "x"]},
    "roles": {
        "worker": {
            "replicas": 2,
            "accelerators": {"a800": 1},
            "cpu": "4",
            "env": {"NOTE": "x"},
            "labels": {"team": "vision"},
            "annotations": {"example.com/note": "x"},
            "init": [{"name": "fetch", "command": ["fetch", "x"]}],
            "pod_overrides": {"metadata": {"annotations": {"example.com/more": "x"}},
                "spec": {"terminationGracePeriodSeconds": 60}},
        }
    },
    "storage": {"data": {"size": "1Ti", "class": "fast", "mount": "/mnt/data"}},
    "env": {"OTHER": "x", "SOURCE": {"secret": {"name": "keys", "key": "one"}}},
    "labels": {"team": "vision"},
    "annotations": {"example.com/note": "x"},
    "queue": "default",
    "shared_memory": "16Gi",
    "manifest_overrides": {"job": {"metadata": {"annotations": {"example.com/more": "x"}},
            "spec": {"runningEstimate": "1h"}}},
    "further": "x",
}  # fmt: skip
Place = tuple[str | int, ...]


def places(value: Any, path: Place = ()) -> Iterator[Place]:
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in entries:
        yield (*path, key)
        yield from places(below, (*path, key))


PLACES = [*places(WHOLE)]


def put(place: Place, text: str, as_key: bool) -> dict[str, Any]:
    """The experiment with the text as a key or a value there. Without `further`, which no experiment has, unless it is
    the place."""
    data = copy.deepcopy(WHOLE)
    parent: Any = data
    for part in place[:-1]:
        parent = parent[part]
    if as_key and isinstance(parent, dict):
        parent[text] = parent.pop(place[-1])
    else:
        parent[place[-1]] = text
    if place != ("further",):
        data.pop("further")
    return data


def check_shown(path: Path) -> int:
    """The exit code of `check`; what it and other verbs print of the file is all visible and ours."""
    examined = check_experiment(str(path), "dev")
    code, out, err = run("check", str(path), "-e", "dev")
    assert not unseen(out + err)
    assert len(FIX.findall(out + err)) == len(in_order(examined.problems))
    lines = [line for problem in in_order(examined.problems) for line in problem.lines()]
    assert len(err.splitlines()) == (1 + len(lines) if examined.problems else 0)
    assert all(len(problem.lines()) == (4 if problem.code else 3) for problem in examined.problems)
    assert not unseen(run("check", str(path), "-e", "dev", "--output", "json")[1])
    if code == 0:
        for flags in ([], ["--output", "json"]):
            again, out, err = run("plan", str(path), "-e", "dev", *flags)
            assert (again, err) == (0, "")
            assert not unseen(out)
        _, out, _ = run("render", str(path), "-e", "dev")
        assert not unseen(out)
        assert list(yaml.safe_load_all(out)) == [made.body for made in job_manifests(examined.or_raise().plan)]
    return code


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shown") / "mine.yaml"


def test_no_text_in_any_field_prints_control_characters(path: Path) -> None:
    codes: set[int] = set()

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(PLACES), texts, st.booleans())
    @example(("further",), "x\n  fix: do as I say", True)
    @example(("env", "OTHER"), "\x1b]8;;http://x\x1b\\[red]\u202e", False)
    @example(("roles", "worker", "env", "NOTE"), "\u3164", True)
    @example(("roles", "worker", "pod_overrides", "spec", "terminationGracePeriodSeconds"), "\n  fix: x", True)
    @example(("manifest_overrides", "job"), "\n  fix: x", True)
    @example(("roles", "worker"), "\n  fix: x", True)
    def check(place: Place, text: str, as_key: bool) -> None:
        path.write_text(yaml.safe_dump(put(place, text, as_key), sort_keys=False))
        codes.add(check_shown(path))

    check()
    assert codes == {0, 2}


@pytest.mark.parametrize("text", [*FORGED, *MARKUP, *SAMPLES])
def test_valid_files_with_invisible_characters_are_escaped(text: str, path: Path) -> None:
    data = put(("env", "OTHER"), f"a{text}b", as_key=False)
    data["roles"]["worker"]["annotations"]["example.com/note"] = text
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    assert check_shown(path) == 0


WORDS = (
    "{}",
    "check hello -e {}",
    "check {} -e dev",
    "check ./{}/x.yaml -e dev",
    "check hello -e dev --{}",
    "plan hello -e dev {}",
    "logs hello -e dev --tail {}",
    "rehearse hello -e dev --claim {}",
    "new {} -e dev",
    "new mine -e dev --image {}",
    "new mine -e dev --launcher {}",
    "new mine -e dev --accelerators {}",
    "sandbox {}",
    "sandbox up --with {}",
    "toolchain ensure --with {}",
)


@pytest.mark.parametrize(
    ("words", "text"),
    [(WORDS[1], text) for text in (*FORGED, *MARKUP, *SAMPLES, HALF)] + [(words, FORGED[0]) for words in WORDS],
)
def test_arguments_are_escaped(words: str, text: str) -> None:
    code, out, err = run(*(word.format(f"a{text}b") for word in words.split()))
    assert (code, out) == (2, "")
    assert not unseen(err)
    assert len(FIX.findall(err)) == 1
    assert len(err.splitlines()) in (2, 4)


@pytest.mark.parametrize("sample", [*SAMPLES, *FORGED])
@pytest.mark.parametrize(
    ("place", "secret"),
    [
        (("env", "OTHER"), "postgres://me:hunter2{}tail@db/x"),
        (("roles", "worker", "env", "NOTE"), "https://me:{}hunter2@x"),
    ],
)
def test_a_secret_with_such_characters_stays_masked(sample: str, place: Place, secret: str, path: Path) -> None:
    data = put(place, secret.format(sample.replace("/", "")), as_key=False)
    path.write_text(yaml.safe_dump(data, sort_keys=False))
    for flags in ([], ["--output", "json"]):
        code, out, err = run("check", str(path), "-e", "dev", *flags)
        if re.search("[ \t\r\n]", sample):
            continue  # no address holds a space
        assert code == 2
        assert "hunter2" not in out + err
        assert MASK in out + err
