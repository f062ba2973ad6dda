"""The operator of a job as the plan knows it: its API, its names of pods, and its program instead of SSH."""

from __future__ import annotations

from msgspec import Struct


class Agent(Struct, frozen=True):
    """The operator's own program instead of SSH. program: starts a process in another pod. hostfile: the list of
    pods. client: the kubectl that the program runs; the init container `delivery` copies it into the pod."""

    program: str
    hostfile: str
    client: str
    delivery: str


class Operator(Struct, frozen=True):
    """An operator, for all or some of the jobs of a backend.

    project: its name, for a message that asks to install it. domain: the end of the names of its custom resource
    definitions. api_version: of the objects that are rendered for it. controller: NAMESPACE/NAME of the Deployment
    of its controller in the project's own manifests. plurals: resources of that API group that `pulumi up` of an
    experiment may create. mpi_job: the value of the environment's field that chooses it; empty for jobs that no
    other operator of the backend runs. keeps_job: it does not delete the job object when `ttl` has passed.
    """

    project: str
    domain: str
    api_version: str
    controller: str
    plurals: tuple[str, ...]
    mpi_job: str = ""
    keeps_job: bool = False

    @property
    def group(self) -> str:
        """Return the API group."""
        return self.api_version.partition("/")[0]

    @property
    def crds(self) -> tuple[str, ...]:
        """Return the plurals with the API group, as kubectl names them."""
        return tuple(f"{plural}.{self.group}" for plural in self.plurals)


class Naming(Struct, frozen=True):
    """The names of pods and the addresses by which peers reach them; the backend defines them for the plan."""

    pod: str
    """A format with `{job}`, `{group}` and `{index}`."""
    address: str
    """A format with `{pod}`, `{service}` and `{job}`."""
    own_service: bool
    """True if trainform's headless Service publishes the names; False if the operator makes its own Services."""
    single: tuple[str, ...] = ()  # groups whose only pod has no number
    agent: Agent | None = None
    """Starts processes in other pods instead of SSH; such pods have no DNS names."""
    hostfile: str | None = None  # the path of the operator's own hostfile
    draws_ports: bool = False
    """True if the operator chooses the ports when it makes a pod; the plan has only the ports that peers connect to."""
    ends_by_number: bool = False
    """True if a job that several groups end together ends when as many pods, of any group, have succeeded."""
    named: bool = True  # every pod of the training has a name in DNS
    gang_of_role: bool = False  # the operator makes a gang of each role, and places one after the other

    def pod_name(self, job: str, group: str, index: int) -> str:
        """Return the hostname of the pod."""
        return f"{job}-{group}" if group in self.single else self.pod.format(job=job, group=group, index=index)

    def address_of(self, pod: str, service: str, job: str) -> str:
        """Return the address by which peers reach the pod."""
        return self.address.format(pod=pod, service=service, job=job)
