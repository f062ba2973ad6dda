"""`check`, `plan` and `render` of several: environments alone, all stacks, and values that are tried."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.running import run
from tests.rules.limits.cases import TOKEN
from trainform.job.check import check_platform
from trainform.manifests.manifest import to_yaml
from trainform.project import known_stacks

VERBS = ["check", "plan", "render"]


def listed(*words: str, code: int = 0) -> list[dict[str, Any]]:
    ended, out, _ = run(*words, "--output", "json")
    assert ended == code
    data = json.loads(out)
    found: list[dict[str, Any]] = data["experiments"] if isinstance(data, dict) else data
    return found


@pytest.mark.parametrize("verb", VERBS)
def test_all_stacks_of_the_project_or_of_an_environment(verb: str, whole_project: Path) -> None:
    assert [entry["stack"] for entry in listed(verb, "--all")] == known_stacks()
    assert [entry["stack"] for entry in listed(verb, "--all", "-e", "prod")] == ["prod"]
    assert [entry["stack"] for entry in listed(verb, "resnet.dev", "dev")] == ["resnet.dev", "dev"]


@pytest.mark.parametrize("verb", VERBS)
def test_one_that_is_wrong_hides_no_other_and_decides_the_exit_code(verb: str, whole_project: Path) -> None:
    path = whole_project / "stacks" / "experiments" / "mnist.yaml"
    path.write_text(f"{path.read_text()}queue: nowhere\n")
    entries = listed(verb, "--all", code=2)
    assert [entry["stack"] for entry in entries if not entry["ok"]] == ["mnist.dev"]
    assert [problem["line"] > 0 for entry in entries for problem in entry["problems"]] == [True]
    code, _, err = run(verb, "--all")
    assert (code, err.count("why:")) == (2, 1)


@pytest.mark.parametrize("verb", VERBS)
def test_a_stack_that_is_wrong_is_one_of_them(verb: str, whole_project: Path) -> None:
    (whole_project / "stacks" / "Pulumi.broken.dev.yaml").write_text("config: {trainform:experiment: hello}\n")
    entries = listed(verb, "--all", code=2)
    assert [entry["stack"] for entry in entries if not entry["ok"]] == ["broken.dev"]
    assert len(entries) == len(known_stacks())


@pytest.mark.parametrize("secret", [TOKEN, "password=hunter2Zq9"])
@pytest.mark.parametrize("key", ["experiment", "environment"])
@pytest.mark.parametrize("verb", VERBS)
def test_a_secret_in_the_place_of_a_name_is_not_shown(verb: str, key: str, secret: str, whole_project: Path) -> None:
    config = {"trainform:experiment": "hello", "trainform:environment": "dev", f"trainform:{key}": secret}
    (whole_project / "stacks" / "Pulumi.broken.dev.yaml").write_text(yaml.safe_dump({"config": config}))
    for words in (["--output", "json"], ["hello.dev", "--output", "json"], []):
        code, out, err = run(verb, "broken.dev", *words)
        assert code == 2
        assert not any(part in out + err for part in (TOKEN, "hunter2"))


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("words", [("hello",), ("hello.dev",)])
def test_all_goes_with_an_environment_and_nothing_else(verb: str, words: tuple[str, ...]) -> None:
    code, _, err = run(verb, "--all", *words)
    assert code == 2
    assert "--all cannot be used with" in err


def test_an_environment_alone(whole_project: Path) -> None:
    manifests = check_platform("prod").or_raise().manifests
    assert run("render", "-e", "prod") == run("render", "prod") == (0, to_yaml(manifests), "")
    bodies = [manifest.body for manifest in manifests]
    assert json.loads(run("render", "-e", "prod", "--output", "json")[1]) == bodies
    assert json.loads(run("plan", "-e", "prod", "--output", "json")[1]) == {
        "environment": "prod",
        "objects": bodies,
    }
    out = run("plan", "-e", "prod")[1]
    assert out.startswith("prod: an environment in the namespace ai-production\n")
    assert all(manifest.body["metadata"]["name"] in out for manifest in manifests)


def test_a_tried_value_is_said_in_every_output() -> None:
    words = ("resnet", "-e", "dev", "--set", "roles.node.replicas=4", "-q")
    tried = "roles.node.replicas=4"
    assert run("check", *words)[1].endswith(f"; tried, in no file: {tried}\n")
    assert listed("check", *words)[0]["tried"] == [tried]
    assert run("plan", *words)[1].splitlines()[1] == f"Tried, in no file: {tried}"
    assert json.loads(run("plan", *words, "--output", "json")[1])["tried"] == [tried]
    rendered = run("render", *words)[1]
    assert rendered.startswith(f"# tried with --set {tried}: in no file, and `pulumi up` applies other objects\n")
    code, out, err = run("render", *words[:-1], "--output", "json")
    assert (code, err) == (0, rendered.partition("\n")[0] + "\n")
    assert json.loads(out) == list(yaml.safe_load_all(rendered))
    assert run("render", "resnet", "-e", "dev")[1] != rendered


def test_a_tried_secret_is_not_shown() -> None:
    for verb in VERBS:
        code, out, err = run(verb, "resnet", "-e", "dev", "--set", "env.API_TOKEN=hunter2hunter2")
        assert code == 2
        assert "hunter2" not in out + err


@pytest.mark.parametrize("verb", VERBS)
def test_a_tried_value_needs_an_experiment(verb: str) -> None:
    code, _, err = run(verb, "-e", "dev", "--set", "queue=night")
    assert code == 2
    assert "--set changes an experiment, and none is named" in err


def test_a_value_is_not_tried_where_something_is_applied_or_reviewed() -> None:
    for words in (("review", "resnet.dev"), ("rehearse", "resnet", "-e", "dev"), ("new", "bert", "-e", "dev")):
        code, _, err = run(*words, "--set", "queue=night")
        assert code == 2
        assert "--set" in err
