"""The image that the rehearsals' pods run: the real launchers, from Debian and PyPI packages only.

`python -m tools.rehearsal_image` prints its name on standard output and builds it where it is missing (3 minutes, 2.3 GB). The name
holds a hash of everything that goes in, so another input is another image; after a build the images of other inputs are removed.
For people it gets the tag `latest` as well.

Two Debian releases meet here: this machine's apt knows where packages are, and the image gets those of `SUITE`, whose torch,
Open MPI and Python are the ones that training images have today. The packages from PyPI are chosen for the image's Python by the
pip of the host, so containers need no network. What each file of tests/rehearsal/image holds is said in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import platform
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import docker
import docker.errors

from tools import docker_daemon
from tools.debian import NotHereError, environment, require, source_line
from trainform.cli.progress import display
from trainform.errors import TrainformError
from trainform.locking import hold
from trainform.progress import Progress
from trainform.toolchain.cache import cache_folder, partial_folder, remove_partials
from trainform.toolchain.running import run_logged

INPUTS = Path(__file__).parent.parent / "tests" / "rehearsal" / "image"
REPOSITORY = "trainform-rehearsal"
TAG = re.compile(r"[0-9a-f]{12}")  # ours; a tag that somebody gave by hand is left alone
SUITE, PYTHON = "trixie", "3.13"
MACHINE = "x86_64"  # tensorflow-cpu and openmpi of the lock files have no other
PROGRAMS = {"mmdebstrap": "mmdebstrap"}
SETTINGS = ["ENV LANG=C.UTF-8", 'CMD ["sleep", "infinity"]']
IMPORT_SECONDS = 900

SITE = f"usr/local/lib/python{PYTHON}/dist-packages"  # where Debian's Python looks before its own packages
OPENMPI_4 = "opt/openmpi4"
# What no rehearsal reads: headers, manuals, libraries for another Python, torch's own tests.
LEFT_OUT = (f"{SITE}/tensorflow/include", f"{OPENMPI_4}/include", f"{OPENMPI_4}/lib/python*")
EXCLUDED = (
    "/usr/share/doc/*",
    "/usr/share/man/*",
    "/usr/share/info/*",
    "/usr/share/locale/*",
    "/usr/lib/libtorch-test/*",
)
# Lines that are added to a file of a package; each says why.
ADDED = {
    "torch_distributed.add": "usr/lib/python3/dist-packages/torch/distributed/__init__.py",
    "deepspeed_ops.add": f"{SITE}/deepspeed/ops/__init__.py",
}


def image_name(inputs: Path = INPUTS) -> str:
    """`trainform-rehearsal:` and a hash over the files and the commands that make the image."""
    digest = hashlib.sha256()
    place = Path("/")  # the same hash wherever the checkout and the cache are
    commands = [*pip_commands(place, place), debian_command(place, place, ["SUITE"], "SOURCE")]
    digest.update(repr((SUITE, PYTHON, SETTINGS, LEFT_OUT, commands)).encode())
    for path in sorted(inputs.iterdir()):
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode() + content)
    return f"{REPOSITORY}:{digest.hexdigest()[:12]}"


def pip_commands(inputs: Path, work: Path) -> list[list[str]]:
    """pip's words, in order: the tools that build DeepSpeed, the packages of the image's Python, Open MPI 4.

    Nothing is resolved: the lock files are complete, and each file of a package is known by its hash.
    """
    always = ["install", "--quiet", "--no-deps", "--require-hashes", "--no-compile", "--disable-pip-version-check"]
    tree = work / "tree"
    return [
        [*always, "--target", str(work / "build"), "-r", str(inputs / "build.txt")],
        [
            *always, "--no-build-isolation", "--target", str(tree / SITE), "--implementation", "cp",
            "--python-version", PYTHON, "-r", str(inputs / "python.txt"),
        ],
        [*always, "--ignore-installed", "--prefix", str(tree / OPENMPI_4), "-r", str(inputs / "openmpi.txt")],
    ]  # fmt: skip


def debian_command(inputs: Path, work: Path, packages: list[str], source: str) -> list[str]:
    """mmdebstrap's words: packages, then our tree on top, then the additions, then customize.sh inside, which fills /run."""
    hooks = [
        f'sync-in "{work}/tree" /',
        *(f'cat "{inputs}/{name}" >> "$1/{place}"' for name, place in ADDED.items()),
        f'chroot "$1" sh -eu < "{inputs}/customize.sh"',
    ]
    return [
        "mmdebstrap", "--quiet", "--variant=apt", "--skip=cleanup/run", f"--include={','.join(packages)}",
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in EXCLUDED),
        *(f"--customize-hook={hook}" for hook in hooks),
        SUITE, f"{work}/image.tar", source,
    ]  # fmt: skip


def words(path: Path) -> list[str]:
    """The lines of a list, without comments."""
    return [line for line in path.read_text().splitlines() if line and not line.startswith("#")]


def ensure(progress: Progress) -> str:
    """The image's name; built first where Docker has none of that name. Needs a daemon that answers."""
    name = image_name()
    if not is_there(name):
        folder = cache_folder() / "rehearsal-image"
        with hold(folder / "lock", f"building {name}", progress):
            if not is_there(name):  # built by the holder that we waited for
                remove_partials(folder)
                build(name, folder, progress)
                remove_others(name, progress)
    name_for_people(name)
    return name


@contextlib.contextmanager
def engine() -> Iterator[docker.DockerClient]:
    """A connection to Docker; its errors are `TrainformError`."""
    fix = "`python -m tools.docker_daemon` starts a daemon"
    if docker_daemon.version() is None:
        raise TrainformError("no Docker daemon answers", fix)
    try:
        with contextlib.closing(docker.from_env(timeout=IMPORT_SECONDS)) as client:
            yield client
    except (docker.errors.DockerException, OSError) as error:
        raise TrainformError(f"Docker: {error}", fix) from None


def is_there(name: str) -> bool:
    """Whether Docker has the image."""
    with engine() as client:
        try:
            client.images.get(name)
        except docker.errors.ImageNotFound:
            return False
    return True


def build(name: str, folder: Path, progress: Progress) -> None:
    """Make the tree of files, and one image of it at the end: a build that is ended leaves none."""
    if platform.machine() != MACHINE:
        raise NotHereError(
            f"the image's packages are for {MACHINE}, this machine is {platform.machine()}", "use another machine"
        )
    log = folder / "build.log"
    log.unlink(missing_ok=True)
    require(PROGRAMS, log, progress)
    source = source_line(SUITE)
    work = partial_folder(folder / "build")
    try:
        with progress.step("[1/3] rehearsal image: packages of PyPI"):
            for command in pip_commands(INPUTS, work):
                # without torch DeepSpeed compiles nothing: what it would need of CUDA is not there
                variables = {**environment(), "PYTHONPATH": str(work / "build"), "DS_BUILD_OPS": "0"}
                run_logged([sys.executable, "-m", "pip", *command], work, variables, log)
            arrange(work / "tree")
        with progress.step("[2/3] rehearsal image: packages of Debian"):
            run_logged(debian_command(INPUTS, work, words(INPUTS / "debian.txt"), source), work, environment(), log)
        with progress.step("[3/3] rehearsal image: into Docker"):
            bring_in(work / "image.tar", name)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def arrange(tree: Path) -> None:
    """Commands go to a folder on PATH and start the image's Python; what is left out goes."""
    commands = tree / "usr" / "local" / "bin"
    (tree / SITE / "bin").replace(commands)
    for path in commands.iterdir():
        content = path.read_bytes()
        first, newline, rest = content.partition(b"\n")
        if first.startswith(b"#!") and b"python" in first:
            path.write_bytes(b"#!/usr/bin/python3" + newline + rest)
    for pattern in LEFT_OUT:
        for path in tree.glob(pattern):
            shutil.rmtree(path)


def bring_in(archive: Path, name: str) -> None:
    """One layer of the whole tree. The name is given when Docker has all of it."""
    repository, tag = name.split(":")
    with engine() as client:
        client.api.import_image(src=str(archive), repository=repository, tag=tag, changes=SETTINGS)
    if not is_there(name):
        raise TrainformError(f"Docker did not take {name}", "look at the daemon's log; is its disk full?")


def name_for_people(name: str) -> None:
    """`--image trainform-rehearsal` on the command line is this image."""
    repository, _ = name.split(":")
    with engine() as client:
        client.images.get(name).tag(repository, "latest")


def remove_others(name: str, progress: Progress) -> None:
    """Images that this file made of other inputs; those that a container still uses stay."""
    with engine() as client:
        for image in client.images.list(REPOSITORY):
            for other in image.tags:
                if other == name or not TAG.fullmatch(other.removeprefix(f"{REPOSITORY}:")):
                    continue
                try:
                    client.images.remove(other)
                except docker.errors.APIError as error:
                    progress.note(f"{other} stays: {error.explanation}")


def main() -> None:
    """Build what is missing, print the name."""
    try:
        docker_daemon.ensure(display())
        print(ensure(display()))
    except TrainformError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit("\ninterrupted: run the same command again")


if __name__ == "__main__":
    main()
