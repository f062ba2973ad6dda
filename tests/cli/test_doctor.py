"""`trainform doctor` as a person calls it: on machines, with kubeconfigs and servers that are not as they should be."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from tests.conftest import ROOT
from tests.support.websites import WEB_PAGE, Answer, website
from trainform.local.doctor.checks import FILES_ALONE, VERBS

SECRET = "s3cret"  # noqa: S105 - of these kubeconfigs and addresses
Doctor = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A machine with nothing on it."""
    for name in ("bin", "home", "cache", "here"):
        (tmp_path / name).mkdir()
    return {
        "PATH": str(tmp_path / "bin"),
        "HOME": str(tmp_path / "home"),
        "TRAINFORM_CACHE": str(tmp_path / "cache"),
        "DOCKER_HOST": f"unix://{tmp_path}/docker.sock",
        "NO_PROXY": "127.0.0.1",
        "PYTHONWARNINGS": "error",
    }


@pytest.fixture
def doctor(tmp_path: Path, environ: dict[str, str]) -> Doctor:
    """Runs it in a folder that is in no project, or in the folder `cwd`; never with a traceback or a raw control
    character."""

    def run(*words: str, cwd: Path = tmp_path / "here") -> subprocess.CompletedProcess[str]:
        # after `make demo` the repository has a sandbox that is up
        elsewhere = {"TRAINFORM_SANDBOX": str(tmp_path / "no-sandbox")} if cwd == ROOT else {}
        done = subprocess.run(
            [sys.executable, "-m", "trainform", "doctor", *words],
            cwd=cwd,
            env={**elsewhere, **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert "Traceback" not in done.stderr, done.stderr
        assert all(letter.isprintable() or letter == "\n" for letter in done.stdout + done.stderr)
        return done

    return run


def as_data(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.stderr == ""
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def use(environ: dict[str, str], tmp_path: Path, server: str, user: dict[str, Any], context: str = "lab") -> None:
    """A kubeconfig with one context, which is the current one."""
    content = {
        "current-context": context,
        "clusters": [{"name": "it", "cluster": {"server": server}}],
        "contexts": [{"name": context, "context": {"cluster": "it", "user": "me", "namespace": "team-vision"}}],
        "users": [{"name": "me", "user": user}],
    }
    (tmp_path / "kubeconfig").write_text(yaml.safe_dump(content))
    environ["KUBECONFIG"] = str(tmp_path / "kubeconfig")


def script(tmp_path: Path, name: str, *lines: str) -> None:
    path = tmp_path / "bin" / name
    path.write_text("\n".join(["#!/bin/sh", *lines]) + "\n")
    path.chmod(0o755)


def test_a_machine_with_nothing_on_it(doctor: Doctor) -> None:
    done = doctor()
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"this machine: python {platform.python_version()}"
    assert lines[1] == f"ready: {', '.join(FILES_ALONE)}"
    for line in (
        "not ready: preview, review, apply, up, environment, destroy, promote, history (pulumi, kubeconfig missing)",
        "not ready: rollback (pulumi missing)",
        "not ready: drift, stacks, diff (kubeconfig missing)",
        "not ready: rehearse (docker missing)",
        "not checked: cluster: needs kubeconfig",
        "missing: pulumi: not on PATH",
        "  fix: trainform toolchain ensure --pulumi-only",
        "  fix: trainform toolchain ensure",
    ):
        assert line in lines


@pytest.mark.parametrize("columns", [80, 40])
def test_fixes_are_not_broken(doctor: Doctor, environ: dict[str, str], tmp_path: Path, columns: int) -> None:
    """A fix is pasted into a shell."""
    environ["COLUMNS"] = str(columns)
    environ["KUBECONFIG"] = str(tmp_path / "a folder" / "with a long name" / "kubeconfig")
    lines = doctor().stdout.splitlines()
    for name, check in as_data(doctor("--output", "json"))["checks"].items():
        assert not check["fix"] or f"  fix: {check['fix']}" in lines, name


def test_doctor_as_json(doctor: Doctor) -> None:
    answer = as_data(doctor("--output", "json", "--for", "check,plan", "--for", "render"))
    assert answer.keys() == {"ready", "asked", "checks", "verbs"}
    assert (answer["ready"], answer["asked"]) == (True, ["check", "plan", "render"])
    assert answer["checks"]["pulumi"] == {
        "state": "missing",
        "found": "not on PATH",
        "fix": "trainform toolchain ensure --pulumi-only",
        "needed_for": ["preview", "review", "apply", "up", "environment", "destroy", "promote", "history", "rollback"],
        "details": {},
    }
    assert answer["checks"]["python"]["state"] == "ok"
    assert answer["checks"]["python"]["details"]["path"] == sys.executable
    assert answer["verbs"]["rehearse"] == {"ready": False, "missing": ["docker"], "not_checked": []}
    assert answer["verbs"]["up"]["not_checked"] == ["pulumi_login", "cluster", "identity", "operators"]
    assert list(answer["verbs"]) == list(VERBS)


@pytest.mark.parametrize(
    ("verbs", "code"),
    [("new,check,plan,render,schema", 0), ("check,up", 1), ("rehearse", 1), ("test", 1)],
)  # fmt: skip
def test_the_exit_code_depends_on_the_chosen_commands(doctor: Doctor, verbs: str, code: int) -> None:
    assert doctor("--for", verbs).returncode == code


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--for", "upp,check,down"], "--for = upp, down"),
        (["-e", "dev"], "there is no project here"),
        (["--jason"], "No such option"),
        (["up"], "unexpected extra argument"),
    ],
)
def test_wrong_words(doctor: Doctor, words: list[str], reason: str) -> None:
    done = doctor(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in " ".join("".join(letter for letter in done.stderr if letter not in "│╭╮╰╯─").split())


def test_an_invalid_environment_is_an_error(doctor: Doctor, tmp_path: Path) -> None:
    (tmp_path / "here" / "lab.yaml").write_text("name: lab\nnamespace: {name: team-vision}\nqueus: {}\n")
    done = doctor("-e", "./lab.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "./lab.yaml:3: queus" in done.stderr


def test_twelve_checks_with_an_environment(doctor: Doctor) -> None:
    with_one, without = (
        as_data(doctor(*words, "--output", "json", cwd=ROOT))["checks"].keys() for words in (("-e", "dev"), ())
    )
    assert len(with_one) == 12
    assert with_one - without == {"environment", "rights", "environment_rights"}


# --- the way to the cluster


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (WEB_PAGE, "does not answer as a Kubernetes API"),
        ((200, "application/json", b'{"gitVersion": 5}'), "does not answer as a Kubernetes API"),
        ((401, "text/html", b"<html>Log in</html>"), "refuses the credentials of the kubeconfig"),
    ],
)
def test_a_server_that_is_no_kubernetes_api(
    doctor: Doctor, environ: dict[str, str], tmp_path: Path, answer: Answer, found: str
) -> None:
    with website(answer) as server:
        use(environ, tmp_path, server, {"token": SECRET})
        told = as_data(doctor("--output", "json"))
    assert told["checks"]["kubeconfig"]["state"] == "ok"
    assert told["checks"]["cluster"]["state"] == "missing"
    assert found in told["checks"]["cluster"]["found"]
    assert told["checks"]["operators"]["found"] == "needs cluster"
    assert "cluster" in told["verbs"]["up"]["missing"]


def test_a_command_for_credentials_that_hangs_is_ended(doctor: Doctor, environ: dict[str, str], tmp_path: Path) -> None:
    """As one that opens a browser and waits."""
    script(tmp_path, "login", f"echo $$ > {tmp_path}/id", "read line < /dev/tty || while :; do /bin/sleep 1; done")
    command = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": str(tmp_path / "bin" / "login")}
    use(environ, tmp_path, "https://127.0.0.1:1", {"exec": command})
    checks = as_data(doctor("--output", "json", "--timeout", "2"))["checks"]
    assert checks["cluster"]["found"] == "no answer within 2 s"
    number = int((tmp_path / "id").read_text())
    assert not psutil.pid_exists(number) or psutil.Process(number).status() == psutil.STATUS_ZOMBIE


# --- the sandbox


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one environment, whose sandbox has ended."""
    folder = tmp_path / "project"
    (folder / "stacks" / "environments").mkdir(parents=True)
    (folder / "Pulumi.yaml").write_text("name: mine\n")
    (folder / "stacks" / "environments" / "dev.yaml").write_text(
        "name: dev\nnamespace: {name: team-vision}\ncluster: {context: dev-cluster}\n"
    )
    (folder / ".trainform" / "sandbox" / "logs").mkdir(parents=True)
    return folder


@pytest.mark.parametrize("words", [(), ("-e", "dev")])
def test_the_shell_of_a_sandbox_that_has_ended(
    doctor: Doctor, environ: dict[str, str], project: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    sandbox = project / ".trainform" / "sandbox"
    environ["KUBECONFIG"] = str(sandbox / "kubeconfig")
    environ["PULUMI_BACKEND_URL"] = f"file://{sandbox}/pulumi-state?metadata=skip"
    checks = as_data(doctor(*words, "--output", "json", cwd=project))["checks"]
    fix = 'trainform sandbox up -e dev && eval "$(trainform sandbox env)"'
    assert {name: checks[name]["fix"] for name in ("pulumi", "kubeconfig")} == dict.fromkeys(
        ("pulumi", "kubeconfig"), fix
    )
    assert "sandbox" not in checks["docker"]["fix"]
    shown = doctor(*words, cwd=project).stdout
    assert shown.count(fix) == 1


# --- programs


def test_output_of_other_programs_is_escaped(doctor: Doctor, environ: dict[str, str], tmp_path: Path) -> None:
    script(tmp_path, "pulumi", r"printf 'v3.259.0\033[2J\007\n'")
    use(environ, tmp_path, "https://127.0.0.1:1", {"token": SECRET}, context="lab\x1b]0;owned\x07\u202e")
    done = doctor()
    assert r"v3.259.0\x1b[2J\x07" in done.stdout
    assert r"lab\x1b]0;owned\x07\u202e" in done.stdout
    assert doctor("--output", "json").returncode == 0


# --- secrets


def test_no_secret_is_shown(doctor: Doctor, environ: dict[str, str], tmp_path: Path) -> None:
    use(environ, tmp_path, f"https://me:{SECRET}@127.0.0.1:1", {"username": "me", "password": SECRET})
    environ["DOCKER_HOST"] = f"tcp://me:{SECRET}@127.0.0.1:1"
    environ["PULUMI_BACKEND_URL"] = f"https://me:{SECRET}@states.example.com?key={SECRET}"
    environ["PULUMI_ACCESS_TOKEN"] = SECRET
    script(
        tmp_path,
        "pulumi",
        "if [ $1 = version ]; then echo v3.259.0; exit; fi",
        'echo "error: cannot open $PULUMI_BACKEND_URL" >&2; exit 1',
    )
    environ["HTTPS_PROXY"] = f"http://me:{SECRET}@127.0.0.1:1"
    for done in (doctor(), doctor("--output", "json")):
        assert SECRET not in done.stdout + done.stderr
        assert "https://127.0.0.1:1" in done.stdout
