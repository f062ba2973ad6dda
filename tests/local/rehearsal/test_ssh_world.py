"""The SSH identity among real pods: real sshd and ssh in containers that are set up as kubelet would set them up."""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator

import pytest
from msgspec import structs

from tests.local.rehearsal.ssh_pods import ROOT, SECRET, Cluster, Pod, docker
from trainform import defaults
from trainform.manifests.ssh_files import Names, identity_files
from trainform.plan.launch.scripts import script

pytestmark = pytest.mark.proof("every case of SSH between pods")

TRAINER = 1000
HOMES = {ROOT: "/root", TRAINER: "/home/trainer"}
NAMES = Names("sdxl-lora", "ai", "sdxl-lora")
DEAD = "dead.sdxl-lora"  # has an address that nobody answers at
SERVING = script("serve.sh")
SERVE = ["/bin/sh", "-c", SERVING]
LAUNCH = ["/bin/sh", "-c", script("start.sh", {"sshd"}) + "exec sleep 600"]
# of sshd and the shells; LC_CTYPE is Python's own doing
ONLY_A_SESSION = re.compile(r"SSH_.*|USER|LOGNAME|SHELL|MAIL|PWD|OLDPWD|SHLVL|_|LC_CTYPE")
NASTY = {
    "PATH": "/opt/some tool/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "NCCL_DEBUG": "INFO",
    "LD_LIBRARY_PATH": "/opt/lib a:/opt/lib b",
    "QUOTES": """it's "quoted" `date` \\ and $HOME $(id)""",
    "LINES": "first\n  second\n\n'third\n",
    "SPACES": "  at both ends  ",
    "LETTERS": "Ёлка, 漢字, 😀",
    "EMPTY": "",
    "UID": "7",
}


@pytest.fixture(scope="module")
def cluster(image: str) -> Iterator[Cluster]:
    label = f"trainform-ssh-{os.getpid()}"
    docker("network", "create", "--label", label, label)
    made = Cluster(image, label)
    yield made
    made.remove()


@dataclasses.dataclass(frozen=True)
class Pair:
    """A pod that launches and one that serves."""

    names: Names
    launcher: Pod
    worker: Pod

    @property
    def address(self) -> str:
        return f"{self.worker.name}.{self.names.service}"


@pytest.fixture(scope="module", params=[(ROOT, 22), (TRAINER, 2222)], ids=["root", "trainer"])
def pair(cluster: Cluster, request: pytest.FixtureRequest) -> Pair:
    """As root on the usual port and as another user on one of its own; the worker has other variables than the
    launcher."""
    user, port = request.param
    names = structs.replace(NAMES, folder=f"{HOMES[user]}/.ssh", port=port)
    home = {"HOME": HOMES[user]}
    worker = cluster.start(names, SERVE, user=user, env={**NASTY, **home, "RANK": "1"}, options=("-w", "/usr/share"))
    launcher = cluster.start(names, LAUNCH, user=user, env={**home, "RANK": "0"})
    both = [f"{pod.name}.{names.service}" for pod in (worker, launcher)]
    done = launcher.wait(both, 60)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    return Pair(names, launcher, worker)


PRINT_ENV = "python3 -c 'import json, os; print(json.dumps(dict(os.environ)))'"


@pytest.mark.shows("SSH between pods")
def test_a_session_sees_exactly_the_pod_s_variables(pair: Pair) -> None:
    there = json.loads(pair.launcher.output(f'ssh {pair.address} "$COMMAND"', COMMAND=PRINT_ENV))
    inspected = json.loads(docker("inspect", "--format", "{{json .Config.Env}}", pair.worker.container).stdout)
    own = {"HOSTNAME": pair.worker.name, **dict(entry.split("=", 1) for entry in inspected)}
    assert {name: there.get(name) for name in own} == own
    assert [name for name in there if name not in own and not ONLY_A_SESSION.fullmatch(name)] == []
    assert pair.launcher.output(f"ssh {pair.address} pwd") == "/usr/share\n"


def test_files_are_copied(pair: Pair) -> None:
    sent = f"echo text >/tmp/sent; scp -q /tmp/sent {pair.address}:/tmp/there"
    pair.launcher.output(f"{sent} && scp -q {pair.address}:/tmp/there /tmp/back")
    assert pair.launcher.output("cat /tmp/back") == "text\n"


def test_every_name_of_a_pod_reaches_it(pair: Pair) -> None:
    full = f"{pair.address}.{pair.names.namespace}.svc.cluster.local"
    for host in (pair.worker.name, pair.address, full):
        assert pair.launcher.output(f"ssh {host} hostname") == f"{pair.worker.name}\n"
    # Docker knows bare names, a cluster does not
    output = pair.launcher.run(f"ssh -v {pair.worker.name} true").stderr
    assert f"Connecting to {pair.address} " in output


def test_a_password_is_not_asked_for(pair: Pair) -> None:
    options = "-o IdentityFile=none -o IdentitiesOnly=yes -o PreferredAuthentications=password,keyboard-interactive"
    done = pair.launcher.run(f"ssh {options} {pair.address} true")
    assert (done.returncode, "Permission denied (publickey)" in done.stderr) == (255, True)


@pytest.fixture(scope="module")
def there(cluster: Cluster) -> Pod:
    """Return a pod that serves root."""
    return cluster.start(NAMES, SERVE)


def reaches(caller: Pod, pod: Pod) -> subprocess.CompletedProcess[str]:
    return caller.run(f"ssh -o ConnectionAttempts=20 {pod.name}.{NAMES.service} hostname")


def test_before_and_after_a_rotation(cluster: Cluster) -> None:
    """Neighbours meet in both directions, as they are and with files that kubelet has refreshed; two rotations apart
    nobody does."""
    first, second, third = (cluster.start(NAMES, LAUNCH, identity_files(NAMES, SECRET, number)) for number in (1, 2, 3))
    for caller, pod in ((first, second), (second, first), (second, third), (third, second)):
        assert reaches(caller, pod).stdout == f"{pod.name}\n", (caller, pod)
    for caller, pod in ((first, third), (third, first)):
        done = reaches(caller, pod)
        assert (done.returncode, "Host key verification failed" in done.stderr) == (255, True)
    refuses = third.run(f"ssh -o StrictHostKeyChecking=no {first.name}.{NAMES.service} true")
    assert "Permission denied (publickey)" in refuses.stderr
    first.secret.write(identity_files(NAMES, SECRET, 2))  # its sshd runs on with the host key of before
    for caller, pod in ((first, third), (first, second), (second, first)):
        assert reaches(caller, pod).stdout == f"{pod.name}\n", (caller, pod)


def missing(launcher: Pod, hosts: list[str]) -> dict[str, str]:
    """Return the hosts that wait.sh names, with its reasons. A busy machine gets more time: a host that has not
    answered yet counts as timed out."""
    for seconds in (5, 40):
        done = launcher.wait(hosts, seconds)
        head, *lines = done.stderr.splitlines()
        reasons = dict(line.strip().split(": ", 1) for line in lines if line.startswith("  "))
        if [host for host in reasons if reasons[host] == "timed out"] in ([], [DEAD]):
            break
    assert done.returncode == 1
    assert f"trainform: {len(reasons)} of {len(hosts)} hosts did not answer within {seconds} s:" in [head, *lines]
    return reasons


def test_missing_hosts_are_named_with_their_reasons(cluster: Cluster, there: Pod) -> None:
    files = identity_files(NAMES, SECRET, 1)
    other = identity_files(NAMES, f"{SECRET}!", 1)
    host_key = {name: other[name] for name in other if name.startswith("ssh_host_")}
    silent = cluster.start(NAMES, ["sleep", "600"])
    stranger = cluster.start(NAMES, SERVE, {**files, **host_key})
    refusing = cluster.start(NAMES, SERVE, {**files, "authorized_keys": other["authorized_keys"]})
    launcher = cluster.start(NAMES, LAUNCH, options=("--add-host", f"{DEAD}:203.0.113.7"))
    hosts = [f"{pod.name}.{NAMES.service}" for pod in (there, silent, stranger, refusing)]
    for pod in (there, stranger, refusing):  # port 22
        assert pod.run("until grep -q ':0016 .* 0A ' /proc/net/tcp*; do sleep 0.1; done").returncode == 0
    verification = "(host key verification failed)"
    assert missing(launcher, [*hosts, "gone.sdxl-lora", DEAD]) == {
        hosts[1]: "no sshd answers (connection refused)",
        hosts[2]: f"its host key is not the one in known_hosts {verification}",
        hosts[3]: "it does not accept this pod's key (permission denied)",
        "gone.sdxl-lora": "its name is not in DNS; its pod has not been made",
        DEAD: "timed out",
    }


@pytest.mark.parametrize("section", ["wait-for-sshd", "wait-for-rank-0", "wait-for-names"])
def test_a_waiting_pod_ends_on_sigterm(cluster: Cluster, section: str) -> None:
    """The grace period is for checkpoints: a pod that waits must not use it up and be killed (137)."""
    waiting = script("start.sh", {section}).replace(f"{defaults.LAUNCH_MOUNT}/{defaults.HOSTFILE}", "/etc/hosts.of.job")
    program = f"printf 'gone.sdxl-lora slots=1\\n' >/etc/hosts.of.job\n{waiting}"
    env = {"MASTER_ADDR": "gone.sdxl-lora", "TRAINFORM_WAIT_SECONDS": "60"}
    launcher = cluster.start(NAMES, ["/bin/sh", "-c", program], env=env)
    assert launcher.run("until pgrep -P 1 -f wait.sh; do sleep 0.1; done").returncode == 0
    docker("kill", "--signal", "TERM", launcher.container)
    assert docker("wait", launcher.container).stdout == "143\n"


def test_a_read_only_image_serves(cluster: Cluster) -> None:
    """With /run, /tmp and everything else read-only there is the shared memory."""
    there = cluster.start(NAMES, SERVE, options=("--read-only",), env=NASTY)
    launcher = cluster.start(NAMES, LAUNCH)
    assert launcher.wait([f"{there.name}.{NAMES.service}"], 60).returncode == 0
    assert launcher.output(f"ssh {there.name} 'printf %s. \"$LINES\"'") == f"{NASTY['LINES']}."


Refusal = Callable[[Cluster], Pod]
REFUSALS: dict[str, tuple[Refusal, str]] = {
    "no sshd": (
        lambda cluster: cluster.start(NAMES, LAUNCH, options=("-v", "/dev/null:/usr/sbin/sshd")),
        "trainform: the image has no sshd; install openssh-server in it",
    ),
    "no user": (
        lambda cluster: cluster.start(structs.replace(NAMES, port=2222), LAUNCH, options=("--user", "4321")),
        "trainform: the image's passwd has no user 4321, and SSH needs one; add it, or run as another user",
    ),
    "no keys": (
        lambda cluster: cluster.start(NAMES, LAUNCH, {"config": ""}),
        "sshd: no hostkeys available -- exiting.",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_pod_whose_sshd_cannot_start_ends(cluster: Cluster, case: str) -> None:
    start, reason = REFUSALS[case]
    container = start(cluster).container
    assert docker("wait", container).stdout.strip() not in {"", "0"}
    assert reason in docker("logs", container).stderr.replace("\r", "")
