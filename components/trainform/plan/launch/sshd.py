"""Files with which a pod serves SSH: sshd's configuration, and the scripts that start sshd and its sessions."""

from __future__ import annotations

from trainform.plan.launch.scripts import script

SSHD_CONFIG, SSHD_SCRIPT, SESSION_SCRIPT = "sshd_config", "sshd.sh", "session.sh"


def sshd_config(folder: str) -> str:
    """sshd's configuration; `folder` holds the keys. The script that starts sshd adds the port and the forced
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
    """The files that a pod needs in its launch volume to serve SSH, by file name; `folder` holds the keys."""
    return {
        SSHD_CONFIG: sshd_config(folder),
        SSHD_SCRIPT: script(SSHD_SCRIPT),
        SESSION_SCRIPT: script(SESSION_SCRIPT),
    }
