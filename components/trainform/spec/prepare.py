"""Steps that run before the containers of a role start: code and data."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator

from trainform.spec.model import Command, Model, NonEmpty, only_one
from trainform.spec.names import COMMIT, AbsolutePath, Image, Label, Repository
from trainform.spec.roles import Env, KeyRef


class GitCheckout(Model):
    """One commit of a git repository in a folder of the pod, the same on every node, without submodules. Nothing of it runs in the step."""

    repository: Repository = Field(
        description="Address of the repository on a server: https, http, ssh or git, or USER@HOST:PATH over SSH. Variables of the step stand in it as "
        "$(NAME): a token from a Secret as https://USER:$(TOKEN)@HOST/PATH, percent-encoded. A change makes a new revision."
    )
    commit: Annotated[str, Field(pattern=COMMIT)] = Field(
        description="Full hash of the commit, of 40 or 64 digits: a branch would be another one tomorrow. A change makes a new revision."
    )
    path: AbsolutePath = Field(
        description="Where the containers find the checkout, an absolute path; an empty volume of the pod. A change makes a new revision."
    )
    key: KeyRef | None = Field(
        default=None,
        description="Private key for a repository over SSH, an entry of a Secret. Empty: none. A change makes a new revision.",
    )
    known_hosts: list[NonEmpty] = Field(
        default=[],
        description="Lines of known_hosts for the repository's server; needed with `key`. Default none. A change makes a new revision.",
    )

    @model_validator(mode="after")
    def _pinned(self) -> Self:
        if self.key is not None and not self.known_hosts:
            raise ValueError(
                "gives a key, but no known_hosts|add the line that `ssh-keyscan HOST` prints and that you have verified"
            )
        return self


class Step(Model):
    """One init container of the pods: a command of yours, or a git checkout. It sees the role's volumes, variables and SSH identity."""

    model_config = ConfigDict(json_schema_extra=only_one(("git", "command")))

    name: Label = Field(max_length=40, description="Its name in the pod. A change makes a new revision.")
    git: GitCheckout | None = Field(
        default=None, description="Check out a commit; the image needs git. Empty: `command`."
    )
    command: Command | None = Field(
        default=None, description="What it runs. Empty: `git`. A change makes a new revision."
    )
    image: Image | None = Field(default=None, description="Empty: the role's image. A change makes a new revision.")
    env: Env = Field(default={}, description="Further variables. Default none. A change makes a new revision.")
    roles: list[Label] | None = Field(
        default=None,
        description="Roles whose pods run it, all at once. Empty: all ranked roles. What writes to a claim that the pods share belongs into one pod: "
        "name a role of one replica. A change makes a new revision.",
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        if (self.git is None) == (self.command is None):
            raise ValueError("names not exactly one of git and command|write one of the two")
        return self
