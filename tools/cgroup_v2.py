"""A virtual machine with cgroup v2: `python -m tools.cgroup_v2 [COMMAND…]`, by default `python -m tools.real_nodes`.

QEMU boots Debian's kernel with this machine's root, which it reads by virtio-9p, under a disk for what is written: so
checkout, environment, tool chain and Docker are at their paths, and nothing of this machine is changed. A Docker daemon
runs there, with the image of the real nodes. Without hardware virtualization QEMU emulates the processor, ten times
slower. The exit code is that of the command.
"""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import docker

from tools import docker_daemon
from tools.debian import environment, require, unpack
from tools.real_nodes import python_image
from trainform.cli.progress import display
from trainform.console.locking import hold
from trainform.console.progress import Progress
from trainform.errors import TrainformError
from trainform.local.sandbox.real.start import ready_image
from trainform.local.toolchain.cache import cache_folder, partial_folder, remove_partials
from trainform.local.toolchain.ensure import ensure
from trainform.local.toolchain.running import run_logged

ROOT = Path(__file__).parent.parent
SCRIPTS = ROOT / "images" / "cgroup-v2"
PROGRAMS = {
    "qemu-system-x86_64": "qemu-system-x86", "mke2fs": "e2fsprogs", "modprobe": "kmod", "cpio": "cpio",
}  # fmt: skip
KERNEL = "linux-image-amd64"  # with 9p, which the kernel for clouds lacks
MODULES = ("virtio_pci", "virtio_blk", "9pnet_virtio", "9p", "ext4", "crc32c_generic", "overlay")
CPUS, MEMORY, DISK = 2, "8G", "40G"  # the disk's file has what was written alone
SECONDS, EMULATED_SECONDS = 600, 1800
DOCKER_SECONDS = 1200
EXIT = "exit code "
LOAD = f"""
for archive in "$@"; do
  "$0" -c 'import docker, sys; docker.from_env(timeout={DOCKER_SECONDS}).images.load(sys.stdin.buffer)' <"$archive"
done
"$0" -m tools.docker_daemon stop
"""
COMMAND = (sys.executable, "-m", "tools.real_nodes")


def run(command: list[str], progress: Progress) -> int:
    """Run a command in the virtual machine; print its console, and return the exit code. `TrainformError` if the
    machine does not end with one."""
    folder = cache_folder() / "cgroup-v2"
    docker_daemon.ensure(progress)
    ensure(progress)
    image = ready_image(progress)
    with hold(folder / "lock", "another virtual machine", progress):
        remove_partials(folder)
        require(PROGRAMS, folder / "apt.log", progress)
        kernel = ensure_kernel(folder, progress)
        work = partial_folder(folder / "run")
        if accelerator()[0] == "tcg":
            progress.note("QEMU emulates the processor, since this machine has no hardware virtualization")
        try:
            write_initrd(work, kernel)
            disk = ensure_disk(folder, work, kernel, image, progress)
            return boot(work, kernel, f"file={disk},snapshot=on", command)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def ensure_disk(folder: Path, work: Path, kernel: Path, image: str, progress: Progress) -> Path:
    """Return a disk on which Docker has the images of the nodes and of the check. It is made once: where QEMU emulates,
    this takes minutes."""
    with contextlib.closing(docker.from_env(timeout=DOCKER_SECONDS)) as client:
        images = (image, python_image(client, image))
    disk = folder / f"{images[1].replace(':', '-')}.disk"
    if not disk.exists():
        for other in folder.glob("*.disk"):
            other.unlink()
        archives = [work / "node.tar", work / "python.tar"]
        with contextlib.closing(docker.from_env(timeout=DOCKER_SECONDS)) as client:
            for archive, name in zip(archives, images, strict=True):
                with archive.open("wb") as file:
                    file.writelines(client.api.get_image(name))
        (work / "disk").touch()
        subprocess.run(["mke2fs", "-q", "-t", "ext4", str(work / "disk"), DISK], env=environment(), check=True)
        with progress.step(f"loading {image} in a virtual machine"):
            command = ["sh", "-euc", LOAD, sys.executable, *map(str, archives)]
            if boot(work, kernel, f"file={work / 'disk'}", command):
                raise TrainformError(f"{image} cannot be loaded in the virtual machine", "its console says why")
        (work / "disk").replace(disk)
    return disk


def ensure_kernel(folder: Path, progress: Progress) -> Path:
    """Return the unpacked kernel with its modules and busybox; fetch it if it is missing. It is not installed."""
    listed = subprocess.run(["apt-cache", "depends", KERNEL], capture_output=True, text=True, check=True).stdout
    package = next(line.split()[1] for line in listed.splitlines() if line.split()[0] == "Depends:")
    kernel = folder / package
    if not kernel.exists():
        log, part = folder / "kernel.log", partial_folder(kernel)
        with progress.step(f"fetching {package}"):
            for each in (package, "busybox-static"):
                unpack(each, part, log)
            for name in ("bin", "lib"):  # newer releases have both in /usr
                if not (part / name).exists():
                    (part / "usr" / name).rename(part / name)
            run_logged(["depmod", "--basedir", str(part), version(part)], folder, environment(), log)
        part.replace(kernel)
    return kernel


def version(kernel: Path) -> str:
    """Return the kernel's version, such as 6.1.0-30-amd64."""
    return next((kernel / "lib" / "modules").iterdir()).name


def write_initrd(work: Path, kernel: Path) -> None:
    """Write the first root of the virtual machine: busybox, modules of the kernel, and initrd.sh."""
    initrd = work / "initrd"
    (initrd / "bin").mkdir(parents=True)
    shutil.copy(kernel / "bin" / "busybox", initrd / "bin")
    shutil.copy(SCRIPTS / "initrd.sh", initrd / "init")
    find = ["modprobe", "--dirname", str(kernel), "--set-version", version(kernel), "--all", "--show-depends", *MODULES]
    printed = subprocess.run(find, env=environment(), capture_output=True, text=True, check=True).stdout
    modules = dict.fromkeys(line.split()[1] for line in printed.splitlines() if line.startswith("insmod "))
    for module in modules:
        shutil.copy(module, initrd)
    (initrd / "modules").write_text("".join(f"{Path(module).name}\n" for module in modules))
    names = "".join(f"{path.relative_to(initrd)}\n" for path in sorted(initrd.rglob("*")))
    pack = ["cpio", "--quiet", "--create", "--format=newc", "--file", str(work / "initrd.img")]
    subprocess.run(pack, cwd=initrd, input=names, text=True, check=True)


def program(kernel: Path, command: list[str]) -> str:
    """Return the second program of the virtual machine: settings, then init.sh."""
    variables = environment()
    settings = {name: value for name, value in variables.items() if name in {"HOME", "PATH"} or "TRAINFORM_" in name}
    settings |= {"KERNEL": str(kernel), "CHECKOUT": str(ROOT), "PYTHON": sys.executable}
    settings["DOCKER_DATA"] = str(docker_daemon.daemon_folder())
    lines = [f"export {name}={shlex.quote(value)}" for name, value in settings.items()]
    return "\n".join(["#!/bin/sh", *lines, f"set -- {shlex.join(command)}", (SCRIPTS / "init.sh").read_text()])


def accelerator() -> tuple[str, str]:
    """Return QEMU's accelerator and processor. A machine without virtualization in its processor may have /dev/kvm too,
    but runs only kernels that are made for that. Emulated AES makes Go's maps six times slower."""
    flags = Path("/proc/cpuinfo").read_text().split()
    usable = os.access("/dev/kvm", os.R_OK | os.W_OK) and ("vmx" in flags or "svm" in flags)
    return ("kvm", "host") if usable else ("tcg", "max,aes=off")


def qemu(work: Path, kernel: Path, drive: str) -> list[str]:
    """Return the command of the virtual machine. It has no network, and its console is the standard output."""
    kind, processor = accelerator()
    seconds = EMULATED_SECONDS if kind == "tcg" else SECONDS
    return [
        "timeout", "--foreground", str(seconds),
        "qemu-system-x86_64", "-accel", kind, "-cpu", processor, "-smp", str(CPUS), "-m", MEMORY,
        "-nodefaults", "-no-reboot", "-display", "none", "-serial", "stdio",
        "-kernel", str(kernel / "boot" / f"vmlinuz-{version(kernel)}"), "-initrd", str(work / "initrd.img"),
        "-append", f"console=ttyS0 loglevel=4 panic=-1 mitigations=off program={work / 'program'}",
        "-virtfs", "local,path=/,mount_tag=root,security_model=none,readonly=on,multidevs=remap",
        "-drive", f"{drive},format=raw,if=virtio,cache=unsafe",
    ]  # fmt: skip


def boot(work: Path, kernel: Path, drive: str, command: list[str]) -> int:
    """Run a command in a virtual machine with this disk, print its console, and return the command's exit code.
    `TrainformError` if it does not end."""
    (work / "program").write_text(program(kernel, command))
    (work / "program").chmod(0o700)
    started, code = time.monotonic(), ""
    with subprocess.Popen(
        qemu(work, kernel, drive), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace"
    ) as machine:
        assert machine.stdout is not None
        for line in filter(None, map(str.strip, machine.stdout)):
            print(f"{time.monotonic() - started:4.0f} s | {line}", flush=True)
            code = line.removeprefix(EXIT) if line.startswith(EXIT) else code
    if not code:
        reason = f"the virtual machine ended after {time.monotonic() - started:.0f} s without a result"
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
