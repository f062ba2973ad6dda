"""The component `SshIdentity`: a Secret whose keys are derived from the stack's own secret."""

from __future__ import annotations

import pulumi
from pulumi.runtime.config import get_config, is_config_secret

from trainform import defaults
from trainform.errors import MASK, InputError, Problem
from trainform.job.check import check_environment
from trainform.manifests.manifest import ownership, with_own_annotations
from trainform.manifests.ssh_files import Names, identity_files, ssh_secret
from trainform.manifests.ssh_keys import SECRET_PATH, SET_SECRET, secret_problems
from trainform.resources.apply import as_run_error, set_outputs
from trainform.resources.part import Part
from trainform.spec.environment import Environment
from trainform.spec.load import parse
from trainform.spec.names import AbsolutePath, ServiceLabel
from trainform.spec.network import Ssh


class _Inputs(Ssh):
    """The input of an `SshIdentity`. Its names are validated, since files of OpenSSH contain them."""

    service: ServiceLabel
    folder: AbsolutePath


class SshIdentity(Part):
    """A Secret with the files of `~/.ssh` for pods that reach each other as `<pod>.<service>`.

    Keys are derived from the stack's secret `trainform:sshSecret`, the service's name and `rotation`.
    """

    OUTPUT = "secret"
    secret: pulumi.Output[str]
    """Name of the Secret, known when the Secret exists."""

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
        """name: name of the component, and of the Secret in the cluster.
        service: name of the Service by which the pods reach each other. If it is an experiment's name, the keys are
        those of its job.
        environment: the environment, as a model, by its name in `stacks/environments` or by the path of its file.
        rotation: number of the keys, from 1. Another number makes new keys.
        port: port of the pods' sshd.
        folder: where the pods mount the Secret.
        opts: options. The objects are made on the environment's cluster, unless they bring a Kubernetes provider.
        """
        with as_run_error():
            environment = check_environment(environment).or_raise()
            given = {"service": service, "rotation": rotation, "port": port, "folder": folder}
            parse(_Inputs, given).or_raise()
            namespace = environment.namespace.name
            names = Names(service, namespace, service, folder, port)
            manifest = with_own_annotations(ssh_secret(name, names, ownership(name, environment=environment.name)))
            files = private_files(names, rotation)
        set_outputs(self, self._outputs(self._make(name, given, [manifest], environment, opts, secrets=files)))


def private_files(names: Names, rotation: int) -> dict[str, pulumi.Output[dict[str, str]]]:
    """Return the files of the identity as a Pulumi secret, under the field of the Secret that holds them.

    Raises InputError if the stack's secret is missing, not encrypted or too short.
    """
    value = get_config(SECRET_PATH)
    fix = f"set it once for this stack: {SET_SECRET} -s {pulumi.get_stack()}"
    if not value:
        reason = "the stack's secret is not set, and the SSH keys of the job are derived from it"
        raise InputError([Problem(SECRET_PATH, None, reason, fix)])
    if not is_config_secret(SECRET_PATH):
        raise InputError([Problem(SECRET_PATH, MASK, "the stack's file holds the secret as plain text", fix)])
    problems = list(secret_problems(value))
    if problems:
        raise InputError(problems)
    return {"stringData": pulumi.Output.secret(identity_files(names, value, rotation))}
