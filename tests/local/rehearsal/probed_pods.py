"""Pods with a probe, as containers on a network of their own. The launchers are real, and nothing but Docker runs
them."""

from __future__ import annotations

import dataclasses
import subprocess
import uuid
from collections.abc import Callable, Sequence

import pytest

from trainform.local.rehearsal.probe import MOUNT, PROGRAMS, expectations
from trainform.plan import Plan
from trainform.plan.model import Pod

PORT = 29500


def docker(*words: str, check: bool = True) -> str:
    """The output of a docker command."""
    ran = subprocess.run(["docker", *words], text=True, capture_output=True, timeout=60, check=False)
    assert not check or ran.returncode == 0, ran.stderr
    return ran.stdout + ran.stderr


@dataclasses.dataclass(frozen=True)
class Ended:
    """A container that has ended: its exit code, the lines of the probe, and its whole output."""

    code: int
    reported: list[str]
    output: str


class Cluster:
    """Containers on one network, with the names that a headless Service publishes."""

    def __init__(self, image: str, made: Plan) -> None:
        self.image, self.plan = image, made
        self.network = f"probes-{uuid.uuid4().hex[:8]}"
        self.pods = list(made.pods())
        docker("network", "create", self.network)

    def start(self, place: int, command: Sequence[str], **env: str) -> Pod:
        """Start the pod at this place in the plan, with its expectations. `env` takes precedence over them."""
        pod = self.pods[place]
        variables = {
            **expectations(self.plan)[pod.role],
            "TRAINFORM_EXPECT_NAME": pod.name,
            "TRAINFORM_PROBE_TIMEOUT": "150",
        }
        name, _, service = pod.address.partition(".")
        docker(
            "run", "--detach", "--init", "--name", self._container(pod), "--network", self.network,
            "--hostname", name, "--domainname", service, "--network-alias", pod.address,
            "--volume", f"{PROGRAMS}:{MOUNT}:ro",
            *(word for key, value in {**variables, **env}.items() for word in ("--env", f"{key}={value}")),
            self.image, *command,
        )  # fmt: skip
        return pod

    def ended(self, pod: Pod, seconds: int = 400) -> Ended:
        """Wait until a pod has ended."""
        container = self._container(pod)
        try:
            code = subprocess.run(
                ["docker", "wait", container], text=True, capture_output=True, timeout=seconds, check=True
            ).stdout
        except subprocess.TimeoutExpired:
            pytest.fail(f"{pod.name} has not ended: {docker('logs', container)}")
        return _ended(int(code), docker("logs", container))

    def run(self, pod: Pod, *command: str) -> Ended:
        """Run a command in a running pod, with the pod's environment."""
        words = ["docker", "exec", self._container(pod), *command]
        ran = subprocess.run(words, text=True, capture_output=True, timeout=100, check=False)
        return _ended(ran.returncode, ran.stdout + ran.stderr)

    def runs(self, pod: Pod) -> bool:
        """True if the pod has not ended."""
        return docker("inspect", "--format", "{{.State.Running}}", self._container(pod)).strip() == "true"

    def remove(self) -> None:
        """Remove everything."""
        for pod in self.pods:
            docker("rm", "--force", "--volumes", self._container(pod), check=False)
        docker("network", "rm", self.network, check=False)

    def _container(self, pod: Pod) -> str:
        return f"{self.network}-{pod.name}"


def _ended(code: int, output: str) -> Ended:
    reported = [line[line.index("probe: ") + 7 :] for line in output.splitlines() if "probe: " in line]
    return Ended(code, reported, output)


Clusters = Callable[..., Cluster]
