"""Impersonation: whom a user of the kubeconfig acts as. kubectl and Pulumi send it with each request, and lightkube
leaves it out."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

import httpx2
from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import User

_NAMES = {"as_user": "as", "as_uid": "as-uid", "as_groups": "as-groups", "as_extra": "as-user-extra"}
_PLAIN = "!#$&'*+-.^_`|~"  # what a header's name may contain besides letters and digits, without "%"


class ImpersonatingUser(User, omit_defaults=True, rename=_NAMES):
    """A user of the kubeconfig with the fields that lightkube does not read."""

    as_user: str | None = None
    as_uid: str | None = None
    as_groups: list[str] | None = None
    as_extra: dict[str, list[str]] | None = None


def impersonate(client: httpx2.Client, config: SingleConfig) -> None:
    """Let the client act as the kubeconfig says. As with kubectl, groups without a user name count for nothing."""
    if isinstance(config.user, ImpersonatingUser) and config.user.as_user:
        client.headers.update([(name.encode(), value.encode()) for name, value in _headers(config.user)])


def _headers(user: ImpersonatingUser) -> Iterator[tuple[str, str]]:
    """Yield names and values of headers; a header of several values comes once for each of them."""
    for name, value in (("User", user.as_user), ("Uid", user.as_uid)):
        if value:
            yield f"Impersonate-{name}", value
    if user.as_groups is not None:
        yield from (("Impersonate-Group", group) for group in user.as_groups)
    if user.as_extra is not None:
        for key, values in user.as_extra.items():
            yield from ((f"Impersonate-Extra-{quote(key, safe=_PLAIN)}", value) for value in values)
