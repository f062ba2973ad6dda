"""The Secret with the SSH identity of a job. Every pod mounts it as the whole `~/.ssh`, for its sshd and its clients.

A rotation uses its own keys and accepts the keys of the rotations before and after it. So pods that started before a
rotation and pods that started after it can connect in both directions, also in the minute in which the kubelet updates
the files. A leaked key is therefore accepted for one more rotation: rotate twice, or set another secret.
"""

from __future__ import annotations

from msgspec import Struct

from trainform import defaults
from trainform.errors import MASK
from trainform.manifests.manifest import Component, Manifest, object_body
from trainform.manifests.ssh_keys import KeyPair, Purpose, derive
from trainform.plan.model import Plan

USER_KEY, HOST_KEY = "id_ed25519", "ssh_host_ed25519_key"
AUTHORIZED_KEYS, KNOWN_HOSTS, CONFIG = "authorized_keys", "known_hosts", "config"
FILES = {
    USER_KEY: "private key of the pods' clients, and `.pub`",
    HOST_KEY: "private key of the pods' sshd, and `.pub`",
    AUTHORIZED_KEYS: "user keys of this rotation, the last and the next",
    KNOWN_HOSTS: "host keys of the same rotations, for all names of the job",
    CONFIG: "ports, strict host key checking, time-outs",
}
"""The files in `~/.ssh`, each with its purpose."""
REQUIRED_FILES = (USER_KEY, HOST_KEY, AUTHORIZED_KEYS, KNOWN_HOSTS, CONFIG)
"""The files that a Secret of the user's own must contain; OpenSSH reads the public keys from the private ones."""

SSH_PORT = 22  # the protocol's own port: known_hosts names a host without it

# Options for the hosts of the job alone. Times are in seconds; a broken connection is noticed after 30 * 6 s.
_CLIENT = {
    "StrictHostKeyChecking": "yes",
    "UpdateHostKeys": "no",  # known_hosts is mounted read-only
    "CheckHostIP": "no",  # a pod that is made anew has another address and the same name
    "IdentitiesOnly": "yes",
    "PreferredAuthentications": "publickey",
    "BatchMode": "yes",
    "ConnectTimeout": "10",
    "ConnectionAttempts": "5",
    "ServerAliveInterval": "30",
    "ServerAliveCountMax": "6",
    "LogLevel": "ERROR",
}


class Names(Struct, frozen=True):
    """The host names and ports of a job's pods. They do not depend on the revision.

    folder: the `.ssh` folder in the containers. port: the port of each sshd that `ports` does not name. ports: patterns
    of host names, as OpenSSH reads them, each with its port; the first pattern that matches counts. services: names, or
    patterns, of Services whose names begin as those of pods do: a host name without a dot is a pod unless it is one of
    them.
    """

    experiment: str
    namespace: str
    service: str
    folder: str = defaults.SSH_FOLDER
    port: int = SSH_PORT
    ports: tuple[tuple[str, int], ...] = ()
    services: tuple[str, ...] = ()

    @property
    def hosts(self) -> tuple[str, ...]:
        """Return patterns for every name of a pod, and of a Service in front of a pod; `*` matches dots too."""
        service = f"*.{self.service}"
        short = (service, f"{service}.{self.namespace}")
        return (*short, f"{service}.{self.namespace}.svc", f"{service}.{self.namespace}.svc.*", f"{self.experiment}-*")


def ssh_names(plan: Plan) -> Names:
    """Return the host names and ports of the job's pods, as SSH needs them. ValueError if the job has no SSH
    identity."""
    if plan.ssh is None:
        raise ValueError(f"{plan.experiment} has no SSH identity")
    return Names(
        experiment=plan.experiment,
        namespace=plan.namespace,
        service=plan.rendezvous.service,
        folder=plan.ssh.folder,
        port=plan.ssh.port,
        ports=plan.ssh.ports,
        # if the operator makes a Service for each pod, DNS resolves the pod's bare name
        services=(
            *(service.name for service in plan.services),
            *(() if plan.naming.own_service else (f"{plan.experiment}-*",)),
        ),
    )


def ssh_secret(name: str, names: Names, labels: dict[str, str]) -> Manifest:
    """Return the Secret with every key masked: only the stack has the secret from which the keys are derived."""
    body = object_body("Secret", name, names.namespace, labels, type="Opaque", stringData=masked_files(names))
    return Manifest("ssh", body, component=Component.SSH)


def identity_files(names: Names, secret: str, rotation: int) -> dict[str, str]:
    """Return the files by name, with the keys of this rotation; rotations are counted from 1.

    Raises InputError if the secret is too short.
    """

    def key(purpose: Purpose, number: int) -> KeyPair:
        return derive(secret, names.experiment, names.namespace, purpose, number)

    accepted = range(max(1, rotation - 1), rotation + 2)
    users, hosts = ({number: key(purpose, number) for number in accepted} for purpose in ("user", "host"))
    return _files(
        names,
        (users[rotation], hosts[rotation]),
        [pair.public for pair in users.values()],
        [pair.public for pair in hosts.values()],
    )


def masked_files(names: Names) -> dict[str, str]:
    """Return the same files without the secret: every key is masked."""
    masked = KeyPair(MASK, MASK + "\n")
    return _files(names, (masked, masked), [masked.public], [masked.public])


def _files(names: Names, own: tuple[KeyPair, KeyPair], users: list[str], hosts: list[str]) -> dict[str, str]:
    user, host = own
    patterns = ",".join([*names.hosts, *(f"[{pattern}]:*" for pattern in names.hosts)])
    return {
        USER_KEY: user.private,
        f"{USER_KEY}.pub": user.public,
        HOST_KEY: host.private,
        f"{HOST_KEY}.pub": host.public,
        AUTHORIZED_KEYS: "".join(users),
        KNOWN_HOSTS: "".join(f"{patterns} {line}" for line in hosts),
        CONFIG: _config(names),
    }


def _config(names: Names) -> str:
    """Return the text of `config`. Of each option ssh takes the first value that it finds, so special ports come before
    the common one."""
    pods = " ".join([f"{names.experiment}-*", "!*.*", *(f"!{service}" for service in names.services)])
    options = {
        "Port": str(names.port),
        "IdentityFile": f"{names.folder}/{USER_KEY}",
        "UserKnownHostsFile": f"{names.folder}/{KNOWN_HOSTS}",
        **_CLIENT,
    }
    blocks = [
        *(_block(pattern, {"Port": str(port)}) for pattern, port in names.ports),
        _block(pods, {"HostName": f"%h.{names.service}"}),
        _block(" ".join(names.hosts), options),
    ]
    return "# Rendered by trainform; it speaks of this job's hosts alone.\n" + "\n".join(blocks)


def _block(hosts: str, options: dict[str, str]) -> str:
    return "".join([f"Host {hosts}\n", *(f"  {name} {value}\n" for name, value in options.items())])
