"""A pod's main container on this machine: a shell on the rendered files, in the environment that the kubelet would hand
in.

The launchers are stand-ins that only print how they were called; the real ones run in `tests/local/rehearsal`. sshd.sh
and wait.sh are stand-ins too; `test_scripts` starts them as they are.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.support.samples import job
from trainform import defaults
from trainform.backends.volcano.controller import controller_objects
from trainform.job.render import job_manifests
from trainform.plan.launch.scripts import script
from trainform.plan.model import Plan

Process = subprocess.Popen[str]
SAY = f"""#!{sys.executable} -IS
import json, os, sys
print(json.dumps([sys.argv, dict(os.environ)]))
"""
ASKED = 'echo "${0##*/} $*" >> "${0%/*}/asked"\n'
LAUNCHERS = ("torchrun", "accelerate", "deepspeed", "mpirun", "python")
RUN = ("run.sh", "message.awk")  # in every job with a script
LAST = 60.0  # seconds until a test gives up
TERMINATION_LOG = "/dev/termination-log"
STAND_INS = ("sshd.sh", "wait.sh")


@dataclasses.dataclass(frozen=True)
class Started:
    """Words and environment of what a pod starts in the end, and which scripts were asked before."""

    called: list[str]
    env: dict[str, str]
    asked: list[str]

    def options(self, script: str = "/app/train.py") -> dict[str, str]:
        """`--name value` pairs before the script."""
        flags = self.called[: self.called.index(script)]
        return {flags[i]: flags[i + 1] for i in range(len(flags) - 1) if flags[i].startswith("-")}

    @property
    def tf_config(self) -> Any:
        """TF_CONFIG as TensorFlow reads it."""
        return json.loads(self.env["TF_CONFIG"])


def install(folder: Path, shell: Path) -> Path:
    """A folder for PATH with this shell as `sh`, and launchers that print how they were called."""
    (folder / "sh").symlink_to(shell)
    for name in LAUNCHERS:
        tool = folder / name
        tool.write_text(SAY)
        tool.chmod(0o755)
    return folder


def start(made: Plan, role: str, index: int, tools: Path, **environ: str) -> Started:
    """What pod `index` of the role starts, with the shell in `tools` as /bin/sh. `environ`: what the image itself has
    set."""
    words, variables = kubelet(made, role, index)
    mount = tools / "mount"
    mount.mkdir(exist_ok=True)
    for name, text in made.files.items():
        (mount / name).write_text(ASKED if name in STAND_INS else here(text, mount, tools / "sh"))
    (mount / "asked").write_text("")
    done = subprocess.run(
        [here(word, mount, tools / "sh") for word in words],
        env={"PATH": f"{tools}:/usr/bin:/bin", **environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    called, seen = json.loads(done.stdout)
    asked = [line.replace(str(mount), defaults.LAUNCH_MOUNT) for line in (mount / "asked").read_text().splitlines()]
    called = [word.replace(str(mount), defaults.LAUNCH_MOUNT) for word in called]
    return Started([Path(called[0]).name, *called[1:]], seen, asked)


def run(shell: Path, script: str, *words: str, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """The script in this shell, with these variables and PATH alone. Carriage returns stay what they are."""
    command = [str(shell), "-c", script, "script", *words]
    everything = {"PATH": os.environ["PATH"], **env}
    done = subprocess.run(command, capture_output=True, timeout=60, check=False, env=everything)
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


class Container:
    """Process 1 of containers on this machine: `run.sh` or `stay.sh` in this shell, with a log of the termination."""

    def __init__(self, folder: Path, shell: Path, path: str) -> None:
        self.folder, self.shell, self.path = folder, shell, path
        self.log = folder / "termination-log"
        self.log.touch()
        for name, sections in (("run.sh", ()), ("stay.sh", ("stay",))):
            (folder / name).write_text(here(script("run.sh", sections), folder, shell))
        (folder / "message.awk").write_text(script("message.awk"))
        self._started: list[Process] = []

    def start(self, *words: str, first: str = "run.sh", to_files: bool = False, **environ: str) -> Process:
        """Start a command. The script takes orphans over, as process 1 does."""
        output, errors = (self.folder / name for name in ("output", "errors"))
        with output.open("wb") as out, errors.open("wb") as err:
            process = subprocess.Popen(
                [str(self.shell), str(self.folder / first), *words],
                env={"PATH": self.path, "TMPDIR": str(self.folder), **environ},
                stdout=out if to_files else subprocess.PIPE,
                stderr=err if to_files else subprocess.PIPE,
                text=True,
                start_new_session=True,
                preexec_fn=_take_orphans,
            )
        self._started.append(process)
        return process

    def run(self, *words: str, first: str = "run.sh", **environ: str) -> Ended:
        """Run a command to its end."""
        code = self.start(*words, first=first, to_files=True, **environ).wait(timeout=LAST)
        output, errors = ((self.folder / name).read_bytes().decode() for name in ("output", "errors"))
        return Ended(code, output, errors, self.log.read_text() if self.log.exists() else "")

    def fails(self, errors: str, **environ: str) -> str:
        """Return the message of a command that writes this to standard error, and fails."""
        written = self.folder / "written"
        written.write_bytes(errors.encode())
        ended = self.run("sh", "-c", 'cat "$0" >&2; exit 1', str(written), **environ)
        assert (ended.code, ended.errors) == (1, errors)
        return ended.message

    def close(self) -> None:
        """End all processes, as the container does with its first one."""
        for process in self._started:
            end_all(process)
            process.communicate(timeout=LAST)


class Ended(NamedTuple):
    """The end of a container."""

    code: int
    output: str
    errors: str
    message: str


def _take_orphans() -> None:
    """Make this process the parent of orphans below it (PR_SET_CHILD_SUBREAPER)."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def end_all(process: Process) -> None:
    """End all processes, since a container ends with its first one."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def here(text: str, mount: Path, shell: Path) -> str:
    """The text with the launch volume, its log of the termination and /bin/sh where they are on this machine."""
    text = text.replace(TERMINATION_LOG, str(mount / "termination-log"))
    return text.replace(defaults.LAUNCH_MOUNT, str(mount)).replace("/bin/sh", str(shell))


def kubelet(made: Plan, role: str, index: int) -> tuple[list[str], dict[str, str]]:
    """Command and environment of the main container as the kubelet works them out for the controller's pod."""
    bodies = [manifest.body for manifest in job_manifests(made)]
    pods, config_maps = controller_objects(job(made))
    config_maps |= {body["metadata"]["name"]: body["data"] for body in bodies if body["kind"] == "ConfigMap"}
    name = [pod.name for pod in made.pods() if pod.role == role][index]
    found = next(pod for pod in pods if pod["metadata"]["name"] == name)
    main = found["spec"]["containers"][0]
    variables: dict[str, str] = {}
    for entry in main.get("env", []):  # of entries with the same name the last one counts
        source = entry.get("valueFrom", {})
        if "fieldRef" in source:
            label = re.fullmatch(r"metadata\.labels\['(.+)'\]", source["fieldRef"]["fieldPath"])
            value = found["metadata"]["labels"][label[1]] if label else f"<{source['fieldRef']['fieldPath']}>"
        elif "configMapKeyRef" in source:
            value = config_maps[source["configMapKeyRef"]["name"]][source["configMapKeyRef"]["key"]]
        elif "secretKeyRef" in source:
            value = f"<{source['secretKeyRef']['name']}/{source['secretKeyRef']['key']}>"
        else:
            value = _expanded(entry.get("value", ""), variables)
        variables[entry["name"]] = value
    return [_expanded(word, variables) for word in [*main["command"], *main.get("args", [])]], variables


def _expanded(text: str, known: dict[str, str]) -> str:
    """`$(NAME)` of a known variable is its value, `$$` a dollar sign, anything else stays (Kubernetes'
    `expansion.Expand`)."""

    def value(match: re.Match[str]) -> str:
        return "$" if match[0] == "$$" else known.get(match[1], match[0])

    return re.sub(r"\$\$|\$\(([^)]*)\)", value, text)
