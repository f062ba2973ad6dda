"""What a preview of Pulumi says, whichever form it came in: plain data without any secret."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from trainform.backends.pods import pods_of
from trainform.backends.workloads import Pods


class State(Struct, frozen=True, dict=True):
    """One side of a step: the resource before or after.

    inputs: without secrets. id: the provider's, None for a resource that does not exist yet, and for components.
    parent: its URN, "" for the stack. keep: `retain_on_delete`. provider: the reference URN::ID, "" for components.
    identity: of an object its UID in the cluster, of a `TrainingJob` its revision; "" if unknown.
    """

    inputs: Mapping[str, Any]
    id: str | None = None
    parent: str = ""
    keep: bool = False
    protect: bool = False
    provider: str = ""
    identity: str = ""

    @functools.cached_property
    def pods(self) -> tuple[Pods, ...]:
        """The pods that the object makes: looked for once, and asked for by most parts of the report."""
        return tuple(pods_of({**self.inputs}))


class Step(Struct, frozen=True):
    """What the engine will do to one resource.

    operation: in the engine's words (`same`, `create`, `update`, `delete`, `replace`, `create-replacement`,
    `delete-replaced`, `read`, `refresh`, `import`, `discard`…); newer engines may have others. A replacement is one
    step of a `Preview`: `replace`. keys: the properties that force a replacement. detail:
    what differs by path with the engine's kind (`add`, `delete-replace`…); None if the provider gave no detail, which
    is not the same as no difference. plain_secrets: the paths of secrets that stand as plain text in the new side, and
    did not in the old one.
    """

    operation: str
    urn: str
    type: str
    name: str
    old: State | None = None
    new: State | None = None
    keys: tuple[str, ...] = ()
    detail: Mapping[str, str] | None = None
    plain_secrets: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        """The state after, or the one before where there is no other."""
        found = self.new if self.new is not None else self.old
        return State({}) if found is None else found

    @property
    def kind(self) -> str:
        """The last part of the type: `Job`, `ConfigMap`, `RoleGroup`."""
        return self.type.rpartition(":")[2]

    @property
    def is_object(self) -> bool:
        """True for an object of Kubernetes."""
        return self.type.startswith("kubernetes:")


class PolicyResult(Struct, frozen=True):
    """What a policy of a policy pack says of a resource. level: advisory, mandatory, remediate or disabled."""

    policy: str
    level: str
    urn: str
    text: str
    pack: str = ""


class Message(Struct, frozen=True):
    """A diagnostic of the engine. severity: info, warning or error; those for debugging are dropped when they are
    read."""

    severity: str
    text: str
    urn: str = ""


class Preview(Struct, frozen=True):
    """A whole preview.

    form: `stream` (engine events) or `digest`. failed: the reason if the engine ended with an error, otherwise "".
    not_checked: what this form cannot say, each as a whole sentence; `policies`, `errors` and unchanged claims are
    missing in a digest. masked: how many values are masked. incomplete: steps are missing, so that what is not in the
    preview may happen all the same. packs: the policy packs that ran, by name, with their versions; None where the form
    does not say it. refreshed: the refreshes that have found something else than the state has: `old` is the state,
    `new` the cluster, None for an object that is gone.
    """

    form: str
    steps: tuple[Step, ...]
    policies: tuple[PolicyResult, ...] = ()
    messages: tuple[Message, ...] = ()
    failed: str = ""
    not_checked: tuple[str, ...] = ()
    masked: int = 0
    incomplete: bool = False
    packs: Mapping[str, str] | None = None
    refreshed: tuple[Step, ...] = ()
