"""A machine with cgroup v2: `python -m tools.cgroup_v2 [COMMAND…]`, by default `python -m tools.real_nodes`.

It is user-mode Linux, a kernel that is a process of this machine and needs no virtualization. Its root is that of this
machine, read-only, under a disk for what is written: so checkout, environment, tool chain and Docker are at their
paths, and nothing of this machine is changed. A Docker daemon runs there, with the image of the real nodes. The exit
code is that of the command.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import docker
import psutil

from tools import docker_daemon, rehearsal_image
from tools.debian import environment, require, unpack
from tools.real_nodes import python_image
from trainform.cli.progress import display
from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.errors import TrainformError
from trainform.local.sandbox.real.containers import Containers
from trainform.local.sandbox.real.load import full_name, load, node_image
from trainform.local.sandbox.real.start import ready_image
from trainform.local.toolchain.cache import cache_folder, partial_folder, remove_partials
from trainform.local.toolchain.ensure import ensure
from trainform.local.toolchain.running import run_logged

ROOT = Path(__file__).parent.parent
SCRIPTS = ROOT / "images" / "cgroup-v2"
CONFIG = SCRIPTS / "kernel.config"
PROGRAMS = {
    "mke2fs": "e2fsprogs", "make": "build-essential", "gcc": "build-essential", "flex": "flex", "bison": "bison",
    "bc": "bc", "xz": "xz-utils",
}  # fmt: skip
# Since 6.16 user-mode Linux needs no ptrace, which takes seven times longer for a system call; since 6.19 it has
# several processors, without which there is no controller `cpuset`. Debian's own lacks nftables.
SOURCE, SUITE = "linux-source-7.3", "trixie-backports"
CPUS, DISK = 2, "40G"  # the disk's file has what was written alone
# User-mode Linux makes up to one mapping of this machine for each page of a program: kube-apiserver has 57,500 with
# Go's default, and 43,000 with this GOGC, which makes it slower. A program that needs more than vm.max_map_count, by
# default 65,530, stalls or gets SIGSEGV.
MAP_COUNT, MAPPINGS = Path("/proc/sys/vm/max_map_count"), 262_144
COLLECT_AT = "20"
SECONDS = 1800
DOCKER_SECONDS = 1200
EXIT = "exit code "
COMMAND = (sys.executable, "-m", "tools.real_nodes")


def run(command: list[str], progress: Progress) -> int:
    """Run a command in the machine; print its console, and return the exit code. `TrainformError` if the
    machine does not end with one."""
    folder = cache_folder() / "cgroup-v2"
    docker_daemon.ensure(progress)
    ensure(progress)
    image = ready_image(progress)
    with hold(folder / "lock", "another machine with cgroup v2", progress):
        remove_partials(folder)
        require(PROGRAMS, folder / "apt.log", progress)
        kernel = ensure_kernel(folder, progress)
        work = partial_folder(folder / "run")
        try:
            disk = ensure_disk(folder, work, image, progress)
            return boot(work, kernel, f"{work / 'written'},{disk}", command)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def ensure_disk(folder: Path, work: Path, image: str, progress: Progress) -> Path:
    """Return a disk on which Docker has the images of the nodes and of the check, and Docker and the nodes have that of
    the rehearsals, if it is built. It is made once, in minutes: the machine itself would need ten times longer."""
    with contextlib.closing(docker.from_env(timeout=DOCKER_SECONDS)) as client:
        images, large = [image, python_image(client, image)], rehearsal_image.image_name()
        images += [large] if client.images.list(large) else []
        disk = folder / f"{hashlib.sha256(repr(images).encode()).hexdigest()[:12]}.disk"
        if not disk.exists():
            for other in folder.glob("*.disk"):
                other.unlink()
            tree = work / "tree"
            with (
                progress.step(f"loading {', '.join(images)} for cgroup v2"),
                docker_daemon.separate(work, tree / "docker" / "data", DOCKER_SECONDS) as daemon,
            ):
                for name in images:
                    daemon.images.load(client.api.get_image(name))
                nodes = [node_image(daemon.images.get(name).attrs, full_name(name)) for name in images[2:]]
                load(daemon.api, Containers(daemon.api, work), image, nodes, progress)
            with progress.step("writing them to a disk"):
                (work / "disk").touch()
                command = ["mke2fs", "-q", "-t", "ext4", "-d", str(tree), str(work / "disk"), DISK]
                subprocess.run(command, env=environment(), check=True)
            (work / "disk").replace(disk)
    return disk


def ensure_kernel(folder: Path, progress: Progress) -> Path:
    """Return the folder with the kernel and busybox; build it if it is missing, in ten minutes."""
    kernel = folder / f"{SOURCE}-{hashlib.sha256(CONFIG.read_bytes()).hexdigest()[:12]}"
    if not kernel.exists():
        log, part = folder / "kernel.log", partial_folder(kernel)
        with progress.step(f"building {SOURCE} as a program"):
            unpack("busybox-static", part, log)
            unpack(SOURCE, part, log, SUITE)
            source = part / SOURCE
            run_logged(["tar", "xf", str(part / "usr" / "src" / f"{SOURCE}.tar.xz")], part, environment(), log)
            make = ["make", "ARCH=um", f"-j{os.cpu_count()}"]
            merge = ["env", "ARCH=um", "scripts/kconfig/merge_config.sh", "-m", ".config", str(CONFIG)]
            for command in ([*make, "x86_64_defconfig"], merge, [*make, "olddefconfig"], [*make, "linux"]):
                run_logged(command, source, environment(), log)
            (source / "linux").rename(part / "linux")
            shutil.rmtree(source)
            shutil.rmtree(part / "usr" / "src")
            if not (part / "bin").exists():  # newer releases have it in /usr
                (part / "usr" / "bin").rename(part / "bin")
        part.replace(kernel)
    return kernel


def program(kernel: Path, command: list[str]) -> str:
    """Return the second program of the machine: settings, then init.sh."""
    variables = environment()
    settings = {name: value for name, value in variables.items() if name in {"HOME", "PATH"} or "TRAINFORM_" in name}
    settings |= {"KERNEL": str(kernel), "CHECKOUT": str(ROOT), "PYTHON": sys.executable}
    if int(MAP_COUNT.read_text()) < MAPPINGS:
        settings["GOGC"] = COLLECT_AT
    settings["DOCKER_DATA"] = str(docker_daemon.daemon_folder())
    lines = [f"export {name}={shlex.quote(value)}" for name, value in settings.items()]
    return "\n".join(["#!/bin/sh", *lines, f"set -- {shlex.join(command)}", (SCRIPTS / "init.sh").read_text()])


def machine(work: Path, kernel: Path, drive: str) -> list[str]:
    """Return the command of the machine. It has no network, and its console is the standard output. drive: a disk, or
    a file for what is written and the disk that it is read from."""
    return [
        "timeout", "--foreground", str(SECONDS), str(kernel / "linux"),
        f"mem={psutil.virtual_memory().total // 2}", f"ncpus={CPUS}", "seccomp=on", f"ubd0={drive}",
        "root=/dev/root", "rootfstype=hostfs", "ro", f"init={SCRIPTS / 'first.sh'}", f"program={work / 'program'}",
        "con=null", "con0=null,fd:1", "quiet",
    ]  # fmt: skip


def boot(work: Path, kernel: Path, drive: str, command: list[str]) -> int:
    """Run a command in a machine with this disk, print its console, and return the command's exit code.
    `TrainformError` if it does not end."""
    (work / "program").write_text(program(kernel, command))
    (work / "program").chmod(0o700)
    started, code = time.monotonic(), ""
    with subprocess.Popen(
        machine(work, kernel, drive), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        for line in filter(None, map(str.strip, process.stdout)):
            print(f"{time.monotonic() - started:4.0f} s | {line}", flush=True)
            code = line.removeprefix(EXIT) if line.startswith(EXIT) else code
    if not code:
        reason = f"the machine with cgroup v2 ended after {time.monotonic() - started:.0f} s without a result"
        raise TrainformError(reason, "its console says why")
    return int(code)


def main(words: list[str]) -> None:
    """Run the command, and exit with its exit code."""
    try:
        sys.exit(run(words or list(COMMAND), display()))
    except TrainformError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: run the same command again")


if __name__ == "__main__":
    main(sys.argv[1:])
