"""SSH on a runtime of Trainer's own: who may use its key, and waiting for the pods that serve."""

from __future__ import annotations

import platform
import stat
import subprocess
from pathlib import Path

from tests.backends.trainer.samples import MPI, MPI_APART, ON_MPI, plan_on, with_jobs
from tools import shells
from trainform.console.progress import SILENT


def test_the_launcher_waits_for_the_other_pods(tmp_path: Path) -> None:
    """For those of Trainer's list, as long as `network.wait` says, and not for itself: it runs no sshd."""
    planned = plan_on(MPI, **ON_MPI, network={"wait": "90s"})
    assert {variable.name: variable.value for variable in planned.roles[0].env}["TRAINFORM_WAIT_SECONDS"] == "90"
    ended = launched(
        planned.files, tmp_path, f"job-node-0-0.job slots=2\n{platform.node()}.job slots=2\njob-node-0-1.job slots=2\n"
    )
    assert ended.stdout.splitlines() == ["wait.sh ssh job-node-0-0.job job-node-0-1.job", "mpirun -np 4 ./train"]


def test_a_wait_in_vain_is_told_and_mpirun_has_the_last_word(tmp_path: Path) -> None:
    """Its options may say more of how ssh reaches the others, such as a port."""
    planned = plan_on(MPI_APART, **{**ON_MPI, "roles": {"launcher": {"ranked": False}, "worker": {"replicas": 2}}})
    ended = launched(planned.files, tmp_path, "job-node-0-0.job slots=1\n", status=1)
    assert ended.stdout.splitlines() == ["wait.sh ssh job-node-0-0.job", "mpirun -np 4 ./train"]
    assert "starting mpirun all the same" in ended.stderr


def test_a_single_pod_waits_for_none() -> None:
    alone = with_jobs(MPI, {"node": None})
    planned = plan_on(alone, **{**ON_MPI, "roles": {"launcher": {}}})
    assert [*planned.files] == ["launch.sh", "run.sh", "message.awk"]


def launched(files: dict[str, str], folder: Path, hosts: str, status: int = 0) -> subprocess.CompletedProcess[str]:
    """The launch script with stand-ins for what it starts, which say how they were called."""
    (folder / "hostfile").write_text(hosts)
    for name, ends in (("wait.sh", status), ("mpirun", 0)):
        stand_in = folder / name
        stand_in.write_text(f'#!/bin/sh\n[ "$1" = --version ] && exit\necho "${{0##*/}} $*"\nexit {ends}\n')
        stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
    (folder / "launch.sh").write_text(files["launch.sh"].replace("/etc/trainform", str(folder)))
    return subprocess.run(
        [shells.shell("dash", SILENT), folder / "launch.sh", "./train"],
        env={"PATH": f"{folder}:/usr/bin:/bin", "NUM_PROCESSES": "4",
            "PRTE_MCA_prte_default_hostfile": str(folder / "hostfile")},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
