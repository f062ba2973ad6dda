"""Messages have path, value, reason and fix, and never contain a secret."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.console.secrets.samples import SHAPES
from tests.support.unseen import texts, unseen
from trainform import errors
from trainform.console.secrets import is_secret
from trainform.errors import (
    MASK,
    ClusterError,
    InputError,
    Problem,
    TrainformError,
    in_order,
    shorten,
    without_credentials,
)


def problem(path: str, value: object, **place: object) -> Problem:
    return Problem(path, value, "is wrong", "write it right", **place)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (
            problem("queue", "nihgt", source="a.yaml", line=8),
            "a.yaml:8: queue = nihgt\n  why: is wrong\n  fix: write it right",
        ),
        (problem("", None, source="a.yaml", line=0), "a.yaml: (whole file)\n  why: is wrong\n  fix: write it right"),
        (problem("roles.worker.replicas", 0), "roles.worker.replicas = 0\n  why: is wrong\n  fix: write it right"),
        (problem("ranked", False), "ranked = false\n  why: is wrong\n  fix: write it right"),
        (problem("name", ""), 'name = ""\n  why: is wrong\n  fix: write it right'),
        (problem("env", [{"name": "HF_TOKEN", "value": "x"}]), "env = […]\n  why: is wrong\n  fix: write it right"),
    ],
)
def test_a_problem_as_text(found: Problem, text: str) -> None:
    assert str(found) == text


def test_findings_that_read_alike_are_printed_once() -> None:
    """Such as those of two roles; each needs its own waiver."""
    found = InputError(problem("image", "a", code="TF-IMG-1", fingerprint=each) for each in ("0" * 16, "1" * 16))
    rule = f"  rule: TF-IMG-1, finding {'0' * 16}, {'1' * 16}"
    assert str(found) == f"1 problem:\nimage = a\n  why: is wrong\n  fix: write it right\n{rule}"
    assert len(found.as_dict()["problems"]) == 2  # type: ignore[arg-type]


def test_a_problem_as_data() -> None:
    assert problem("env.HF_TOKEN", "hf_abc", source="a.yaml", line=3).as_dict() == {
        "source": "a.yaml", "line": 3, "path": "env.HF_TOKEN", "value": MASK, "reason": "is wrong",
        "fix": "write it right",
        "code": "", "fingerprint": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("value", "secret"),
    [
        ("postgres://trainer:hunter2@db.example.com/runs", True),
        ("https://:pass@example.com", True),
        ("http://:hunter2@example.com", True),
        ("postgres://trainer:hunter2/a@db.example.com", True),
        ("postgres://trainer:hun/ter/2@db.example.com/runs", True),
        ("https://$(NAME):$(TOKEN)@example.com", False),
        ("https://:$(TOKEN)@example.com", False),
        ("https://[::1]:8443/a@b", False),
        ("https://example.com:8443/a@b", False),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nabc", True),
        ("-----BEGIN CERTIFICATE-----", False),
        ("postgres://trainer:hun\x1cter2@db.example.com/runs", True),
        ("postgres://trainer:hun\u2028ter2@db.example.com/runs", True),
        ("see http://a and b@c", False),
        (5, False),
    ],
)
def test_values_that_are_secrets(value: object, secret: bool) -> None:
    assert is_secret("DATABASE", value) is secret


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "https://trainer:hunter2@proxy.example.com:3128/a refuses",
            f"https://{MASK}@proxy.example.com:3128/a refuses",
        ),
        ("http://:p@ss@10.0.0.1", f"http://{MASK}@10.0.0.1"),
        ("https://hf_abc@example.com", f"https://{MASK}@example.com"),
        ("https://example.com:8443/a@b", "https://example.com:8443/a@b"),
        ("unix:///var/run/docker.sock", "unix:///var/run/docker.sock"),
        ("Illegal header value b'Bearer hf abc'", f"Illegal header value b'Bearer {MASK}"),
        ("Basic dHJhaW5lcjpodW50ZXIy\n", f"Basic {MASK}"),
    ],
)
def test_texts_of_others_lose_their_credentials(text: str, shown: str) -> None:
    assert without_credentials(text) == shown


@pytest.mark.parametrize(
    "path",
    ["env.HF_TOKEN", "roles.worker.env.HF_TOKEN", "env.HF_TOKEN.value", "roles.worker.init[0].env.HF_TOKEN.secret.key"],
)
def test_secrets_are_masked_wherever_they_stand(path: str) -> None:
    assert problem(path, "hf_abc").shown_value == MASK


@pytest.mark.parametrize(
    "path", ["image", "roles.worker.image", "prepare[0].image", "prepare[0].git.repository", "git.repository"]
)
@pytest.mark.parametrize(
    "address",
    [
        "https://user:S3CRET/x@h/a",
        "https://:S3CRET@h/a",
        "https://user:S3C\nRET@h/a",
        "https://user:S3C\tRET@h/a",
        "https://user:S3C RET@h/a",
        "user:S3CRET@h:a",
        "https:/u:S3CRET@h/a",
        "u:12/S3CRET@h",
        "https://h/a?access_token=S3CRET",
        "u:S3CRET@h/a@sha256:5",
    ],
)
def test_addresses_that_may_hold_a_password_are_masked(path: str, address: str) -> None:
    assert problem(path, address).shown_value == MASK


@pytest.mark.parametrize(
    "address",
    [
        "registry:5000/a@sha256:abc",
        "registry:5000/A@sha256:" + "a" * 10,
        "registry.example.com:5000/ai/A:1.0@sha256:" + "b" * 8,
        "ai/A@sha256:abc",
        "git@host:path with space",
        "https://git@host/a b",
        "https://host:8443/a b",
        "https://trainer:$(TOKEN)@host/a b",
    ],
)
def test_addresses_without_a_password_are_shown(address: str) -> None:
    assert problem("image", address).shown_value == address
    assert problem("git.repository", address).shown_value == address


@pytest.mark.parametrize(
    "address",
    [
        "user:S3CRET@registry.example.com/app:1",
        "user:S3C/RET@registry.example.com/app:1",
        "docker://user:S3CRET@registry.example.com/app:1@latest",
        "user:12/x:S3CRET@registry",
        "user:S3CRET@registry",
        "user/x:S3CRET@registry.example.com/app",
        "registry.example.com/app:1?token=S3CRET@latest",
        "registry.example.com/app:hf_" + "a1B2c3D4e5F6" * 3 + "@latest",
    ],
)
def test_a_malformed_image_that_may_hold_a_login_is_masked(address: str) -> None:
    assert problem("roles.worker.image", address).shown_value == MASK


@pytest.mark.parametrize(
    "place",
    [
        "env.HF_HOME.secret.name",
        "env.HF_HOME.secret.key",
        "image_pull_secrets[0]",
        "ssh.secret",
        "prepare[0].git.key",
        "prepare[0].git.key.name",
        "prepare[0].git.key.key",
        "roles.worker.pod_overrides.spec.containers.main.env.HF_HOME.valueFrom.secretKeyRef.name",
        "roles.worker.pod_overrides.spec.containers.main.env.HF_HOME.valueFrom.secretKeyRef.key",
        "roles.worker.pod_overrides.spec.containers.main.envFrom[0].secretRef.name",
        "roles.worker.pod_overrides.spec.imagePullSecrets[0].name",
        "roles.worker.pod_overrides.spec.volumes.token.secret.secretName",
        "roles.worker.pod_overrides.spec.volumes.token.projected.sources[0].secret.name",
        "roles.worker.pod_overrides.spec.volumes.token.csi.nodePublishSecretRef.name",
    ],
)
def test_what_is_no_name_of_a_secret_may_be_the_secret(place: str) -> None:
    assert problem(place, "correct horse battery staple").shown_value == MASK
    assert problem(place, "registry-login").shown_value == "registry-login"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("env.DB_PASSWORD=hunter2.x", "env.[secret]"),
        ("roles.worker.env.DB_PASSWORD", "roles.worker.env.DB_PASSWORD"),
        ("spec.containers.side.env.--db-password=hunter2Zq6.value", "spec.containers.side.env.[secret]"),
        ("spec.containers.side.env.--db-password=hunt.er2Zq6.value", "spec.containers.side.env.[secret]"),
        ("httpGet.httpHeaders.X-Api-Key: hunter2Zq9v.name", "httpGet.httpHeaders.[secret]"),
        (
            "spec.containers.side.volumeMounts.--token=hunter2Zq8.mountPath",
            "spec.containers.side.volumeMounts.[secret]",
        ),
        (
            "roles.worker.pod_overrides.spec.containers.main.args[1]",
            "roles.worker.pod_overrides.spec.containers.main.args[1]",
        ),
    ],
)
def test_a_key_that_holds_a_secret_is_not_shown(path: str, shown: str) -> None:
    found = problem(path, None)
    assert found.lines()[0] == found.as_dict()["path"] == shown


def test_a_role_may_be_called_secret() -> None:
    assert problem("roles.secret.replicas", 0).shown_value == "0"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\n  b", "a\n  b"),
        pytest.param(10**5000, "a whole number of thousands of digits", id="digits"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
        ({"a": 1}, "{…}"),
        ([1], "[…]"),
        (True, "true"),
        (1.5, "1.5"),
    ],
)
def test_values_are_short(value: object, shown: str) -> None:
    assert shorten(value) == shown


@pytest.mark.parametrize("field", ["key", "name"])
def test_what_is_written_in_place_of_the_name_of_a_secret_is_not_shown(field: str) -> None:
    path = f"roles.worker.env.OUT.secret.{field}"
    assert problem(path, "correct horse battery").shown_value == MASK
    assert problem(path, "wandb-api.key").shown_value == "wandb-api.key"


def test_problems_are_told_once_by_file_and_line() -> None:
    late, early = problem("a", 1, source="b.yaml", line=9), problem("z", 1, source="b.yaml", line=2)
    other, unknown = problem("m", 1, source="a.yaml", line=50), problem("name", None, source="b.yaml")
    assert in_order([late, early, other, unknown, late]) == [other, unknown, early, late]
    assert InputError([late, early, late]).problems == [early, late]


def test_equal_problems_are_shown_once() -> None:
    assert str(InputError([problem("a", 1)])).startswith("1 problem:\n")
    assert str(InputError([problem("a", 1), problem("b", 1)])).startswith("2 problems:\n")


def test_of_very_many_problems_the_first_are_shown() -> None:
    few, many = (InputError(problem(f"env.A{index:05}", index) for index in range(count)) for count in (50, 40_000))
    assert str(few).count("  why: ") == 50
    assert str(few).endswith("fix: write it right")
    assert str(many).startswith("40000 problems:\n")
    assert str(many).splitlines()[-1] == "and 39950 more, which `trainform check --output json` has all"
    assert "env.A00049" in str(many)
    assert len(str(many).splitlines()) == 1 + 50 * 3 + 1
    machines = many.as_dict()["problems"]
    assert isinstance(machines, list)
    assert len(machines) == 40_000


@given(texts, texts, st.lists(texts, max_size=3))
def test_every_part_of_an_error_is_one_line(message: str, fix: str, others: list[str]) -> None:
    """Whatever an API server, Docker, a log or a user wrote into it."""
    problems = InputError([Problem(text, text, message, fix, text) for text in {message, fix, *others}])
    several = ClusterError(message, findings=[(text, fix) for text in others])
    for error, lines, fixes in (
        (TrainformError(message, fix, others), 1 + len(others) + (fix != ""), int(fix != "")),
        (several, 1 + 2 * len(others), len(others)),
        (problems, 1 + 3 * len(problems.problems), len(problems.problems)),
    ):
        shown = str(error)
        assert not unseen(shown)
        assert len(shown.split("\n")) == lines
        if not message.lstrip().startswith("fix:") and not any(text.lstrip().startswith("fix:") for text in others):
            assert len(re.findall(r"^\s*fix:", shown, re.MULTILINE)) == fixes


def test_the_tree_of_errors_is_documented() -> None:
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    kinds = [kind for kind in found if issubclass(kind, TrainformError)]
    assert kinds == found, "one base"
    assert {kind.__name__: kind.exit_code for kind in kinds if kind.exit_code != 1} == {
        "CommandLineError": 2,
        "InputError": 2,
    }
    assert errors.__doc__ is not None
    assert all(kind.__name__ in errors.__doc__ for kind in kinds)
    assert str(TrainformError("it broke", "mend it")) == "it broke\n  fix: mend it"
    assert str(TrainformError("it broke")) == "it broke"
    assert (
        str(TrainformError("it broke", "mend it", ["a", "  fix: b"])) == "it broke\n  | a\n  |   fix: b\n  fix: mend it"
    )
    assert (
        str(ClusterError("2 problems:", findings=[("a", "b"), ("c", "d")])) == "2 problems:\na\n  fix: b\nc\n  fix: d"
    )


def test_no_error_shows_a_secret_that_it_quotes() -> None:
    """A record, an annotation or an address of a backend is quoted as somebody else has written it."""
    for secret in SHAPES:
        error = ClusterError(f"revision {secret} is missing", f"look at {secret}", [(f"{secret} is", f"not {secret}")])
        other = TrainformError("it ended:", details=[f"error: {secret}", "and more"])
        for told in (*error.lines(), *other.lines(), str(error.as_dict()), str(other.as_dict())):
            assert secret not in told
            assert repr(secret)[1:-1] not in told
        assert str(error).splitlines() == [MASK] * 4
        assert str(other).splitlines() == ["it ended:", MASK, "  | and more"]
