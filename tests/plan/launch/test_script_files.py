"""The `.sh` files: every shell reads them, and pods get them without the lines for their readers. `make lint` runs
shellcheck on the files; here it reads what is assembled of them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.samples import environment, plan
from trainform import defaults
from trainform.plan.launch import scripts
from trainform.plan.launch.launch import FILES
from trainform.plan.launch.scripts import script, source

NAMES = sorted(path.name for path in Path(scripts.__file__).parent.glob("*.sh"))
START = "start.sh"

names = pytest.mark.parametrize("name", NAMES)


def shellcheck(text: str) -> str:
    """The findings of shellcheck in this program for a POSIX shell."""
    program = Path(sys.executable).parent / "shellcheck"
    done = subprocess.run(
        [program, "--shell", "sh", "-"], input=text, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    return done.stdout


def sections(name: str) -> set[str]:
    """The names of the script's sections."""
    return {each for line in re.findall(r"^#: (.*)", source(name), re.MULTILINE) for each in line.split()}


def whole(name: str) -> str:
    """The script with all its sections."""
    return script(name, sections(name))


def test_the_three_shells_are_three_programs(shell: Path) -> None:
    """A link to /bin/sh under each name would hide what a shell of images does not know."""
    version = subprocess.run(
        [shell, "-c", 'echo "${BASH_VERSION:+bash}"'], capture_output=True, text=True, timeout=20, check=True
    ).stdout.strip()
    program = shell.resolve().read_bytes()
    found = version if version else "busybox" if b"BusyBox v" in program else "dash"
    assert shell.resolve().name == found


@names
def test_every_shell_reads_the_file_and_what_pods_get(name: str, shell: Path) -> None:
    for text in (source(name), whole(name)):
        done = subprocess.run([shell, "-n"], input=text, capture_output=True, text=True, timeout=20, check=False)
        assert (done.returncode, done.stderr) == (0, "")


SCRIPT = {"script": "/app/train.py"}
LAUNCHERS: list[dict[str, Any]] = [
    {"torchrun": SCRIPT},
    {"torchrun": {**SCRIPT, "elastic": {"min_nodes": 1, "max_nodes": 4}}},
    {"accelerate": SCRIPT},
    {"deepspeed": SCRIPT},
    {"deepspeed": {**SCRIPT, "role": "launcher"}},
    {"mpi": {"command": ["python", "/app/train.py"]}},
    {"tensorflow": {"command": ["python", "/app/train.py"]}},
    {"command": ["python", "/app/train.py"]},
]


BEHIND_SERVICES = {"host": True, "addresses": "service"}
WORLDS: list[tuple[dict[str, Any], dict[str, Any]]] = [(launcher, {}) for launcher in LAUNCHERS] + [
    (launcher, BEHIND_SERVICES) for launcher in LAUNCHERS if launcher.keys() & {"accelerate", "tensorflow", "command"}
]


@pytest.mark.parametrize("where", [{}, {"cluster": environment(admission="none", queues={}), "backend": "jobset"}])
@pytest.mark.parametrize(("launcher", "network"), WORLDS)
def test_shellcheck_finds_nothing_in_the_assembled_launch_scripts(
    launcher: dict[str, Any], network: dict[str, Any], where: dict[str, Any]
) -> None:
    """The sections of start.sh that a job needs, and the line that starts its launcher."""
    roles: dict[str, Any] = {"worker": {"replicas": 2, "accelerators": {"a800": 1}}}
    if "role" in next(iter(launcher.values())):
        roles["launcher"] = {"ranked": False}
    elif "deepspeed" in launcher or "mpi" in launcher:
        roles = {"master": {"accelerators": {"a800": 1}}, **roles}
    files = plan(launcher=launcher, roles=roles, network=network, ssh={}, **where).files
    assembled = {name: files[name] for name in (defaults.LAUNCH_SCRIPT, "command.sh", "serve.sh") if name in files}
    assert defaults.LAUNCH_SCRIPT in assembled
    assert {name: found for name, text in assembled.items() if (found := shellcheck(text))} == {}


@names
def test_pods_get_no_line_that_is_for_readers_of_the_file(name: str) -> None:
    kept = whole(name)
    assert not re.search(r"^\s*#[#:]|shellcheck", kept, re.MULTILINE)
    told_apart = [line for line in source(name).splitlines() if not re.match(r"\s*#[#:]|\s*# shellcheck ", line)]
    assert [line for line in kept.splitlines() if line] == [line for line in told_apart if line]


@names
def test_a_script_names_only_files_that_pods_find(name: str) -> None:
    """The scripts have the launch volume's path in them; its one home for everything else is `defaults`."""
    paths = set(re.findall(r"/etc/trainform[\w./-]*", whole(name)))
    assert paths <= {f"{defaults.LAUNCH_MOUNT}/{file}" for file in FILES}


def test_a_script_has_the_sections_that_are_asked_for() -> None:
    assert script(START).endswith("\nset -eu\n")
    assert script(START, {"sshd"}) == f"{script(START)}/bin/sh {defaults.LAUNCH_MOUNT}/sshd.sh background\n"
    waiting = script(START, {"wait-for-rank-0"}).removeprefix(script(START)).splitlines()
    assert [line.split()[0] for line in waiting] == ["trap", "/bin/sh", "wait"], "a section may be one of several names"


def test_a_word_is_left_out() -> None:
    assert script("accelerate.sh", without=["--multi_gpu"]) == script("accelerate.sh").replace("  --multi_gpu \\\n", "")


def test_a_name_that_the_file_does_not_have_is_an_error() -> None:
    with pytest.raises(KeyError, match=r"start\.sh has no section rnak"):
        script(START, {"rank", "rnak"})
    with pytest.raises(KeyError, match=r"mpirun\.sh has no line for --multi_gpu"):
        script("mpirun.sh", without=["--multi_gpu"])
