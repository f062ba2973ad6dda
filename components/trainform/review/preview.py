"""A preview of Pulumi as plain data without secrets, whichever form it came in."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from trainform.backends.backend import Pods, pods_of


@dataclasses.dataclass(frozen=True)
class State:
    """One side of a step: the resource before or after."""

    inputs: Mapping[str, Any]
    """Without secrets."""
    id: str | None = None
    """The provider's; None for a resource that does not exist yet, and for components."""
    parent: str = ""
    """Its URN; "" for the stack."""
    keep: bool = False
    """`retain_on_delete`."""
    protect: bool = False
    provider: str = ""
    """The reference URN::ID; "" for components."""
    identity: str = ""
    """Of an object its UID in the cluster, of a `TrainingJob` its revision; "" if unknown."""
    unmasked: Callable[[], Mapping[str, Any]] = dataclasses.field(default=dict, repr=False, compare=False)
    """The inputs with their secrets, of which only a hash may be kept; a function is never printed or stored."""

    @functools.cached_property
    def pods(self) -> tuple[Pods, ...]:
        """Return the pods that the object makes: looked for once, and asked for by most parts of the report."""
        return tuple(pods_of({**self.inputs}))


class Step(Struct, frozen=True):
    """The engine's plan for one resource. A replacement is one step of a `Preview`: `replace`."""

    operation: str
    """In the engine's words (`same`, `create`, `update`, `refresh`, `import`…); newer engines may have others."""
    urn: str
    type: str
    name: str
    old: State | None = None
    new: State | None = None
    keys: tuple[str, ...] = ()
    """The properties that force a replacement."""
    detail: Mapping[str, str] | None = None
    """What differs by path with the engine's kind (`add`, `delete-replace`…); None if the provider gave no detail."""
    plain_secrets: tuple[str, ...] = ()
    """The paths of secrets that stand as plain text in the new side, and did not in the old one."""

    @property
    def state(self) -> State:
        """Return the state after, or the one before where there is no other."""
        return self.new or self.old or State({})

    @property
    def kind(self) -> str:
        """Return the last part of the type: `Job`, `ConfigMap`, `RoleGroup`."""
        return self.type.rpartition(":")[2]

    @property
    def is_object(self) -> bool:
        """Return True for an object of Kubernetes."""
        return self.type.startswith("kubernetes:")


class PolicyResult(Struct, frozen=True):
    """The result of a policy for a resource."""

    policy: str
    level: str
    """advisory, mandatory, remediate or disabled."""
    urn: str
    text: str
    pack: str = ""


class Message(Struct, frozen=True):
    """A diagnostic of the engine, without those for debugging."""

    severity: str
    """info, warning or error."""
    text: str
    urn: str = ""


class Preview(Struct, frozen=True):
    """A whole preview."""

    form: str
    """`stream` (engine events) or `digest`."""
    steps: tuple[Step, ...]
    policies: tuple[PolicyResult, ...] = ()
    messages: tuple[Message, ...] = ()
    failed: str = ""
    """The reason if the engine ended with an error."""
    not_checked: tuple[str, ...] = ()
    """What this form does not have, each as a whole sentence."""
    masked: int = 0
    """How many values are masked."""
    incomplete: bool = False
    """True if steps are missing, so that what is not in the preview may happen all the same."""
    packs: Mapping[str, str] | None = None
    """The policy packs that ran, by name, with their versions; None if the form does not list them."""
    refreshed: tuple[Step, ...] = ()
    """Refreshes that found another state: `old` is Pulumi's, `new` the cluster's; None for an object that is gone."""
