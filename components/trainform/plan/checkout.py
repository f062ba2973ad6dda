"""`prepare` steps that check out a commit: their volumes, variables and script."""

from __future__ import annotations

from trainform.plan.model import Checkout
from trainform.spec.experiment import Experiment
from trainform.spec.prepare import Step
from trainform.spec.roles import EnvSource, InitContainer

CHECKOUT_SCRIPT = "checkout.sh"
KEY_MOUNT = "/etc/trainform-git"


def steps(experiment: Experiment, role: str) -> tuple[Step, ...]:
    """The steps that the role's pods run."""
    return tuple(
        step
        for step in experiment.prepare
        if (role in step.roles if step.roles is not None else experiment.roles[role].ranked)
    )


def checkouts(experiment: Experiment, role: str) -> tuple[Checkout, ...]:
    """The checkouts that the role's pods find in their folders."""
    return tuple(
        Checkout(step.name, step.git, f"checkout-{step.name}")
        for step in steps(experiment, role)
        if step.git is not None
    )


def containers(experiment: Experiment, role: str, mount: str) -> tuple[InitContainer, ...]:
    """The steps as init containers. `mount`: where the launch files are."""
    return tuple(
        InitContainer(
            name=step.name,
            image=step.image,
            command=step.command if step.command is not None else ["/bin/sh", f"{mount}/{CHECKOUT_SCRIPT}"],
            env=_env(step) | step.env,
        )
        for step in steps(experiment, role)
    )


def _env(step: Step) -> dict[str, str | EnvSource]:
    git = step.git
    if git is None:
        return {}
    env: dict[str, str | EnvSource] = {
        "TRAINFORM_GIT_REPOSITORY": git.repository,
        "TRAINFORM_GIT_COMMIT": git.commit,
        "TRAINFORM_GIT_PATH": git.path.rstrip("/"),
    }
    if git.key is not None:
        env |= {
            "TRAINFORM_GIT_KEY": f"{KEY_MOUNT}/{step.name}/{git.key.key}",
            "TRAINFORM_GIT_KNOWN_HOSTS": "\n".join(git.known_hosts),
        }
    return env


# One commit and nothing else of the repository, where its server gives single commits; else all of its branches and tags.
CHECKOUT = """\
#!/bin/sh
# Rendered by trainform: one commit of a repository into an empty volume of the pod. It may run again, as after a restart of the pod.
set -eu
repository=$TRAINFORM_GIT_REPOSITORY commit=$TRAINFORM_GIT_COMMIT
command -v git >/dev/null || { echo "trainform: the image has no git; name one that has it in \\`image:\\` of the step" >&2; exit 1; }
cd "$TRAINFORM_GIT_PATH"
# said, and not looked for: else git asks whose the folder is, and the kubelet makes it as root, whoever the containers run as
export GIT_DIR="$PWD/.git" GIT_WORK_TREE="$PWD"
git -c init.defaultBranch=main init -q
rm -f "$GIT_DIR"/*.lock # of one that was killed at work
if [ -n "${TRAINFORM_GIT_KEY:-}" ]; then
  printf '%s\\n' "$TRAINFORM_GIT_KNOWN_HOSTS" >"$GIT_DIR/known_hosts"
  export GIT_SSH_COMMAND="ssh -i $TRAINFORM_GIT_KEY -o IdentitiesOnly=yes -o UserKnownHostsFile=$GIT_DIR/known_hosts \\
-o StrictHostKeyChecking=yes -o BatchMode=yes"
fi
there() { git cat-file -e "$commit^{commit}" 2>/dev/null; }
there || git fetch -q --depth 1 "$repository" "$commit" 2>/dev/null ||
  git fetch -q "$repository" "+refs/heads/*:refs/remotes/origin/*" "+refs/tags/*:refs/tags/*"
shown=$(printf '%s' "$repository" | sed 's#://[^/@]*@#://#') # a password stays out of the log
there || { echo "trainform: $shown has no commit $commit" >&2; exit 1; }
git -c advice.detachedHead=false checkout -q --force "$commit"
echo "trainform: $shown at $commit in $TRAINFORM_GIT_PATH"
"""
