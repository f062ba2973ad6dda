"""Steps that run before the containers of a role start: code and data."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from trainform.spec.base_model import Command, Model, NonEmpty, OnChange, OneOf
from trainform.spec.names import COMMIT, AbsolutePath, Image, Label, Repository
from trainform.spec.refusal import refusal
from trainform.spec.roles import Env, KeyRef

REVOKED = "@revoked"
# The base64 of a public key begins with the length and name of its type.
_LINE = re.compile(
    r"((@cert-authority|@revoked)[ \t]+)?[^-$@#\s]\S*[ \t]+"
    r"(ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(256|384|521)|sk-ssh-ed25519@openssh\.com|sk-ecdsa-sha2-nistp256@openssh\."
    r"com)[ \t]+"
    r"AAAA[A-Za-z0-9+/]{64,}={0,2}([ \t]+[^\r\n]*)?"
)


def known_hosts_line(line: str) -> str:
    """Return the line. Refuses a line that ssh does not read as the public key of hosts."""
    if _LINE.fullmatch(line) is None:
        reason = "the line is not one of known_hosts, with hosts, type and the whole key"
        raise refusal(reason, "write HOST KEYTYPE KEY, as `ssh-keyscan HOST` prints it")
    return line


def pins_a_host(line: str) -> bool:
    """Return False for a line that only revokes a key."""
    return not line.startswith(REVOKED)


FIRST_POD = "first-pod"


class GitCheckout(Model, on_change=OnChange.NEW_REVISION):
    """One commit of a git repository in a folder of the pod, the same on every node, without submodules. Nothing of it
    runs in the step."""

    repository: Repository = Field(
        description="Address by https, http, ssh, git or USER@HOST:PATH; $(NAME) is a variable of the step, such "
        "as a token."
    )
    commit: Annotated[str, StringConstraints(pattern=COMMIT)] = Field(
        description="Full hash of the commit, of 40 or 64 digits."
    )
    path: AbsolutePath = Field(description="Absolute path of the checkout in the containers.")
    key: KeyRef | None = Field(default=None, description="Private key for SSH, an entry of a Secret. Empty: none.")
    known_hosts: list[Annotated[NonEmpty, AfterValidator(known_hosts_line)]] = Field(
        default=[], description="Lines of known_hosts for the server; `key` needs them."
    )

    @model_validator(mode="after")
    def _pinned(self) -> Self:
        if self.key is not None and not any(map(pins_a_host, self.known_hosts)):
            raise refusal(
                "the checkout has a key, but no known_hosts",
                "add the line that `ssh-keyscan HOST` prints and that you have verified",
            )
        return self


class Step(OneOf, on_change=OnChange.NEW_REVISION):
    """One init container of the pods: a command of yours, or a git checkout. It sees the role's volumes, variables and
    SSH identity."""

    one_of = ("git", "command")

    name: Label = Field(max_length=40, description="Its name in the pod.")
    git: GitCheckout | None = Field(
        default=None, description="Check out a commit, instead of a `command`; the image needs git. Empty: none."
    )
    command: Command | None = Field(default=None, description="What it runs. Empty: `git`.")
    image: Image | None = Field(default=None, description="Image with the program. Empty: the role's image.")
    env: Env = Field(default={}, description="Further variables.")
    roles: list[Label] | None = Field(default=None, description="Roles that run it. Empty: all ranked roles.")
    on: Literal["each-pod", "first-pod"] | None = Field(
        default=None,
        description="Pods that run it: all, or the launching or first ranked one while the others wait, for "
        "shared claims. Empty: each-pod.",
    )

    @model_validator(mode="after")
    def _each_pod_checks_out(self) -> Self:
        if self.git is not None and self.on == FIRST_POD:
            raise refusal("a checkout is in a volume of its own pod, so each pod makes it", "remove `on`")
        return self
