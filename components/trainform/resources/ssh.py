"""The SSH identity: a Secret whose keys follow from the stack's own secret."""

from __future__ import annotations

import pulumi
from pulumi.runtime.config import get_config, is_config_secret

from trainform.catalog import defaults
from trainform.cluster.preflight import check_objects
from trainform.cluster.read import Cluster
from trainform.errors import MASK, InputError, Problem
from trainform.examine import resolve_environment
from trainform.identity.files import Names, identity_files
from trainform.identity.keys import SECRET_PATH, SET_SECRET, secret_problems
from trainform.manifests.manifest import Manifest, ownership, stamped
from trainform.manifests.ssh import ssh_secret
from trainform.resources.apply import cluster_provider, register, told
from trainform.spec.environment import Environment
from trainform.spec.load import parse
from trainform.spec.ssh import Ssh


class SshIdentity(pulumi.ComponentResource):
    """A Secret called like the component, with the files of `~/.ssh` for pods that reach each other as `<pod>.<service>` (see `Rendezvous`).

    Keys are derived from the stack's secret `trainform:sshSecret`, the service's name and `rotation`: a preview shows no change until
    `rotation` counts up. `port`: of the pods' sshd. `folder`: where the pods mount it. `secret` is its name, known once it is made.
    With an experiment's name as `service` the keys are those of its job, whose Secret is called `<experiment>-ssh`.
    """

    secret: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        service: str,
        environment: Environment | str,
        rotation: int = 1,
        port: int = defaults.SSH_PORT,
        folder: str = defaults.SSH_FOLDER,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        with told():
            environment = resolve_environment(environment)
            parsed = parse(Ssh, {"rotation": rotation, "port": port})
            if parsed.problems:
                raise InputError(parsed.problems)
            namespace = environment.namespace.name
            names = Names(service, namespace, service, folder, port)
            manifest = stamped(ssh_secret(name, names, ownership(name, environment=environment.name)))
            files = private_files(names, rotation)
            check_objects(Cluster(environment.cluster.context), [manifest])
        super().__init__("trainform:index:SshIdentity", name, None, opts)
        resource = register(manifest, self, cluster_provider(self, environment), secrets=files)
        self.secret = resource.id.apply(lambda _: name)
        self.register_outputs({"secret": self.secret})


def private_files(names: Names, rotation: int) -> dict[str, pulumi.Output[dict[str, str]]]:
    """The files of the identity as Pulumi secrets, in the Secret's own field; InputError without a fit secret of the stack."""
    value = get_config(SECRET_PATH)
    fix = f"set it once for this stack: {SET_SECRET} -s {pulumi.get_stack()}"
    if not value:
        raise InputError([Problem(SECRET_PATH, None, "is not set, and the job's SSH keys are derived from it", fix)])
    if not is_config_secret(SECRET_PATH):
        raise InputError([Problem(SECRET_PATH, MASK, "stands in clear in the stack's file", fix)])
    problems = list(secret_problems(value))
    if problems:
        raise InputError(problems)
    return {"stringData": pulumi.Output.secret(identity_files(names, value, rotation))}


def is_identity(manifest: Manifest) -> bool:
    """Whether the object is a Secret of ours, whose values only the stack knows."""
    return bool(manifest.body["kind"] == "Secret")
