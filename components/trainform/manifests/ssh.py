"""The Secret with the SSH identity of a job."""

from __future__ import annotations

from trainform.manifests.manifest import Component, Manifest, object_body
from trainform.manifests.ssh_files import Names, masked_files
from trainform.plan.model import Plan


def ssh_names(plan: Plan) -> Names:
    """The host names and ports of the job's pods, as SSH needs them. Raises ValueError if the job has no SSH
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
    """The Secret with every key masked: only the stack has the secret from which the keys are derived."""
    files = masked_files(names)
    body = object_body("Secret", name, names.namespace, labels, type="Opaque", stringData=files)
    return Manifest("ssh", body, component=Component.SSH)
