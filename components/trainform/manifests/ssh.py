"""The Secret of the SSH identity."""

from __future__ import annotations

from trainform.identity.files import Names, masked_files
from trainform.manifests.manifest import Manifest
from trainform.plan.model import Plan


def identity(plan: Plan) -> Names:
    """Where the pods of the job are found."""
    if plan.ssh is None:
        raise ValueError(f"{plan.experiment} has no SSH identity")
    return Names(
        experiment=plan.experiment,
        namespace=plan.namespace,
        service=plan.rendezvous.service,
        folder=plan.ssh.folder,
        port=plan.ssh.port,
        ports=plan.ssh.ports,
        # where the operator makes a Service for each pod, a pod's name is found as it is
        services=(
            *(service.name for service in plan.services),
            *(() if plan.naming.own_service else (f"{plan.experiment}-*",)),
        ),
    )


def ssh_secret(name: str, names: Names, labels: dict[str, str]) -> Manifest:
    """The Secret, with every key masked: the stack alone knows what they follow from."""
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": names.namespace, "labels": labels},
        "type": "Opaque",
        "stringData": masked_files(names),
    }
    return Manifest("ssh", body)
