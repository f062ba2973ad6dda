"""Files and steps before the processes of a pod start: SSH, and the init containers of `prepare`."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from trainform.plan.launch.scripts import script
from trainform.plan.model import Checkout
from trainform.plan.world import launching_role
from trainform.spec.experiment import Experiment
from trainform.spec.prepare import FIRST_POD, Step
from trainform.spec.roles import EnvSource, InitContainer

SSHD_CONFIG, SSHD_SCRIPT, SESSION_SCRIPT = "sshd_config", "sshd.sh", "session.sh"


def sshd_config(folder: str) -> str:
    """Return sshd's configuration; `folder` holds the keys. The script that starts sshd adds the port and the forced
    command."""
    return f"""\
# Rendered by trainform. Port and ForceCommand: see {SSHD_SCRIPT}.
HostKey {folder}/ssh_host_ed25519_key
AuthorizedKeysFile {folder}/authorized_keys
# kubelet's folders may be written to by the pod's group, which sshd would refuse
StrictModes no
AuthenticationMethods publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
# its limits would take the place of the container's
UsePAM no
PermitUserEnvironment no
X11Forwarding no
PrintMotd no
PrintLastLog no
PidFile none
# all pods of a large job may come at once
MaxStartups 500:30:1000
MaxSessions 500
LoginGraceTime 60
# a peer that is gone is noticed after 30 s * 6
ClientAliveInterval 30
ClientAliveCountMax 6
Subsystem sftp internal-sftp
"""


def ssh_files(folder: str) -> dict[str, str]:
    """Return the files that a pod needs in its launch volume to serve SSH, by file name; `folder` holds the keys."""
    return {SSHD_CONFIG: sshd_config(folder), SSHD_SCRIPT: script(SSHD_SCRIPT), SESSION_SCRIPT: script(SESSION_SCRIPT)}


FIRST_POD_SCRIPT = "first_pod.sh"


def step_roles(experiment: Experiment, step: Step) -> tuple[str, ...]:
    """Return the roles whose pods run the step. With `first-pod` it is the role of that pod, for which the others wait:
    the pod that launches, otherwise the first in order of rank."""
    named = [name for name, role in experiment.roles.items() if role.ranked] if step.roles is None else step.roles
    if step.on != FIRST_POD:
        return tuple(dict.fromkeys(named))
    launching = launching_role(experiment)
    if launching is not None and (step.roles is None or launching in named):
        return (launching,)
    return tuple(name for name, role in experiment.roles.items() if name in named and role.replicas > 0)[:1]


def in_first_pod(experiment: Experiment, name: str) -> tuple[str, ...]:
    """Return the steps that only the first of the role's pods runs, by their names. A script decides that in the pods,
    since they share a template; the template of a role that scales in place must not depend on the current number of
    its replicas."""
    role = experiment.roles[name]
    scales = name != launching_role(experiment) and (not role.ranked or experiment.elastic)
    if role.replicas <= 1 and not scales:
        return ()
    first = (step for step in experiment.prepare if step.on == FIRST_POD)
    return tuple(step.name for step in first if name in step_roles(experiment, step))


def containers(steps: Iterable[Step], first: Collection[str], mount: str) -> tuple[InitContainer, ...]:
    """Return the steps as init containers. first: those that only the first pod runs. mount: the folder of the launch
    files."""
    return tuple(
        InitContainer(
            name=step.name,
            image=step.image,
            command=[
                *(_script(mount, FIRST_POD_SCRIPT) if step.name in first else ()),
                *(_script(mount, CHECKOUT_SCRIPT) if step.command is None else step.command),
            ],
            # In a value Kubernetes expands only variables that are defined before it, such as a token in the address.
            env=step.env | checkout_env(step),
        )
        for step in steps
    )


def _script(mount: str, name: str) -> list[str]:
    return ["/bin/sh", f"{mount}/{name}"]


CHECKOUT_SCRIPT = "checkout.sh"
GIT_PREFIX = "TRAINFORM_GIT_"
KEY_MOUNT = "/etc/trainform-git"


def checkouts(steps: Iterable[Step]) -> tuple[Checkout, ...]:
    """Return the checkouts of these steps, each with the name of its volume."""
    return tuple(Checkout(step.name, step.git, f"checkout-{step.name}") for step in steps if step.git is not None)


def checkout_env(step: Step) -> dict[str, str | EnvSource]:
    """Return the variables of the step's script; empty for a step that is a command."""
    git = step.git
    if git is None:
        return {}
    env: dict[str, str | EnvSource] = {
        f"{GIT_PREFIX}REPOSITORY": git.repository,
        f"{GIT_PREFIX}COMMIT": git.commit,
        f"{GIT_PREFIX}PATH": git.path.rstrip("/").replace("$", "$$"),  # nothing is expanded in the path of a mount
    }
    if git.key is not None:
        env |= {
            f"{GIT_PREFIX}KEY": f"{KEY_MOUNT}/{step.name}/{git.key.key}",
            f"{GIT_PREFIX}KNOWN_HOSTS": "\n".join(git.known_hosts),
        }
    return env
