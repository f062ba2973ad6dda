"""The connection to a live cluster: the kubeconfig, and all errors as `ClusterError` without credentials."""

from __future__ import annotations

import binascii
import contextlib
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2
import yaml
from lightkube import KubeConfig
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import SingleConfig, to_mapping
from lightkube.config.models import User
from lightkube.core.exceptions import ConfigError

from trainform import defaults
from trainform.console.files import read_text
from trainform.errors import ClusterError, InputError, list_names, without_credentials
from trainform.project import ENVIRONMENTS, known_names, project_root, sandbox_up
from trainform.spec.libyaml import Loader
from trainform.spec.read import check_events, read_mapping, syntax_problem

CREDENTIALS_FIX = (
    "run the command of `exec` in the kubeconfig by hand; trainform reads tokens of "
    "client.authentication.k8s.io/v1beta1"
)
# Errors whose texts hold only files, programs and hosts. Others may hold any value: only their type is shown.
_PLAIN = (ConfigError, OSError, httpx2.HTTPError, AssertionError, binascii.Error)
# Errors that contain a value in quotation marks: a header with the token, or a part of a URL.
_QUOTING = (httpx2.InvalidURL, httpx2.LocalProtocolError, UnicodeError)
_QUOTED = re.compile(r"b?'.*'|b?\".*\"", re.DOTALL)
# The fields of a user by their names in the file, and signs (without "%") that a header's name may have.
_NAMES = {"as_user": "as", "as_uid": "as-uid", "as_groups": "as-groups", "as_extra": "as-user-extra"}
_IN_HEADERS = "!#$&'*+-.^_`|~"
# lightkube's msgspec may crash when two threads decode a type for the first time, as a review of several stacks does.
_DECODING = threading.Lock()


class ImpersonatingUser(User, omit_defaults=True, rename=_NAMES):
    """A user of the kubeconfig with the fields that lightkube does not read."""

    as_user: str | None = None
    as_uid: str | None = None
    as_groups: list[str] | None = None
    as_extra: dict[str, list[str]] | None = None


def cluster_name(context: str | None) -> str:
    """Return the name of the cluster for a message."""
    return f"the cluster of context {context}" if context is not None else "the cluster of the current context"


def shown_server(server: str) -> str:
    """Return scheme, host and port of a URL without its other parts, which may contain a password or a token."""
    try:
        parts = urlsplit(server)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None:
        return "an address that cannot be read"
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}" if port is None else f"{parts.scheme}://{host}:{port}"


def choose_config(context: str | None) -> SingleConfig:
    """Return the configuration that kubectl and Pulumi use for a context (None: the current one)."""
    try:
        with _DECODING:
            kubeconfig = _kubeconfig(context)
        if context is not None and context not in kubeconfig.contexts:
            known = [str(name) for name in kubeconfig.contexts]
            raise ConfigError(f"the kubeconfig has no such context; it has {list_names(known) if known else 'none'}")
        config = kubeconfig.get(context)
        if config is None:
            raise ConfigError("the kubeconfig has no current context")
    except Exception as error:  # lightkube raises many kinds of errors for an invalid file
        raise unusable_kubeconfig(context, error) from None
    return config


def unusable_kubeconfig(context: str | None, error: Exception) -> ClusterError:
    """Return the error for a kubeconfig that cannot be used."""
    reason = f"the kubeconfig has no {error}" if isinstance(error, KeyError) else _reason(error)
    fix = (
        "set KUBECONFIG or `cluster.context` of the environment; known contexts: `kubectl config get-contexts`; on the "
        f"sandbox: `{sandbox_up(meant=_environment_of(context))}`"
    )
    return ClusterError(f"cannot connect to {cluster_name(context)}: {reason}", fix)


def _environment_of(context: str | None) -> str | None:
    """Return the first environment that names the context; None if none does. Files with errors are skipped."""
    folder = project_root() / "stacks" / ENVIRONMENTS
    for name in known_names(ENVIRONMENTS):
        with contextlib.suppress(InputError):
            cluster = read_mapping(folder / f"{name}.yaml", name)[0].get("cluster")
            if context is not None and isinstance(cluster, dict) and cluster.get("context") == context:
                return name
    return None


def _kubeconfig(context: str | None) -> KubeConfig:
    """Return the first file of KUBECONFIG with the context, or ~/.kube/config, as kubectl and Pulumi do.

    Inside a cluster without these it is the pod's service account, which lightkube alone would try first.
    """
    listed = [Path(name) for name in os.environ.get("KUBECONFIG", "").split(os.pathsep) if name]
    files = [path for path in (listed if listed else [Path.home() / ".kube" / "config"]) if path.exists()]
    if not files:
        if not listed and "KUBERNETES_SERVICE_HOST" in os.environ:
            return KubeConfig.from_service_account()
        places = ", ".join(str(path.absolute()) for path in listed) if listed else "~/.kube/config"
        raise ConfigError(f"there is no kubeconfig at {places}")
    configs = [_read(path) for path in files]
    fitting = (
        config for config in configs if (config.current_context if context is None else context in config.contexts)
    )
    return next(fitting, configs[0])


def _content(path: Path) -> Any:
    """Return the data in a file. The error omits a value that cannot be read, since it may be a secret."""
    text = read_text(path, str(path), defaults.LARGEST_KUBECONFIG)
    try:
        check_events(text, str(path))
    except yaml.YAMLError as error:
        raise InputError([syntax_problem(error, str(path), text)]) from None
    try:
        return yaml.load(text, Loader)  # noqa: S506 - a safe one
    except Exception as error:
        raise ConfigError(f"{path} is not YAML that can be read: {type(error).__name__}") from None


def _read(path: Path) -> KubeConfig:
    """Return the configuration in a file. Raises `ConfigError` if it is not a kubeconfig."""
    try:
        content = _content(path)
        config = KubeConfig.from_dict(content, path)
        config.users = to_mapping(content.get("users", []), "user", factory=ImpersonatingUser)
        return config
    except InputError as error:
        (problem,) = error.problems
        raise ConfigError(f"{path}{f':{problem.line}' if problem.line else ''}: {problem.reason}") from None
    except ConfigError:
        raise
    except Exception as error:  # lightkube raises many kinds of errors; none of them contains a value
        raise ConfigError(f"{path} is not a kubeconfig that can be read ({type(error).__name__}: {error})") from None


@contextlib.contextmanager
def translate_connection_errors(context: str | None, place: str) -> Iterator[None]:
    """Raise errors of the connection and the credentials as `ClusterError`. place: the server's URL for the message."""
    try:
        yield
    except Exception as error:  # the server may not be Kubernetes
        raise _trouble(error, cluster_name(context), place) from None


def _trouble(error: Exception, name: str, place: str) -> ClusterError:
    if isinstance(error, ClusterError):
        return error
    if _is_credentials_error(error):
        reason = _reason(error) if isinstance(error, ConfigError | OSError) else "its command returned no token"
        reason = "the token is not valid in an HTTP header" if isinstance(error, UnicodeEncodeError) else reason
        return ClusterError(f"no credentials for {name}: {reason}", CREDENTIALS_FIX)
    # UnicodeError: of a host's name. An answer that is not UTF-8 raises UnicodeDecodeError.
    if isinstance(error, httpx2.HTTPError | httpx2.InvalidURL | UnicodeError) and not isinstance(
        error, UnicodeDecodeError
    ):
        return ClusterError(
            f"cannot reach {name} ({place}): {_reason(error)}",
            "check the network or VPN with `kubectl get --raw /readyz`; for a cluster on this machine: "
            f"`{sandbox_up()}`",
        )
    return not_a_kubernetes_api(place, type(error).__name__)


def not_a_kubernetes_api(place: str, found: str) -> ClusterError:
    """Return the error for a server that is not a Kubernetes API. found: the evidence."""
    fix = "check `server` of the kubeconfig: a proxy or a web server may answer there"
    return ClusterError(f"{place} does not answer as a Kubernetes API ({found})", fix)


def _is_credentials_error(error: Exception) -> bool:
    """Return True for an error of lightkube's module that runs the kubeconfig's command and reads the token."""
    place = error.__traceback__
    while place is not None and place.tb_frame.f_globals.get("__name__") != client_adapter.__name__:
        place = place.tb_next
    return place is not None


def _reason(error: Exception) -> str:
    """Return the reason on one line, without parts that may contain a secret."""
    if isinstance(error, _QUOTING):
        text = _QUOTED.sub("…", str(error))
    elif isinstance(error, _PLAIN) and str(error):
        text = str(error)
    else:
        text = type(error).__name__
    return without_credentials(" ".join(text.split()))


# --- impersonation, which kubectl and Pulumi send with each request, and lightkube leaves out


def impersonate(client: httpx2.Client | httpx2.AsyncClient, config: SingleConfig) -> None:
    """Let the client act as the kubeconfig says. Groups without a user name are ignored, as in kubectl."""
    if isinstance(config.user, ImpersonatingUser) and config.user.as_user:
        client.headers.update([(name.encode(), value.encode()) for name, value in _headers(config.user)])


def _headers(user: ImpersonatingUser) -> Iterator[tuple[str, str]]:
    """Yield names and values of headers, once for each value."""
    for name, value in (("User", user.as_user), ("Uid", user.as_uid)):
        if value:
            yield f"Impersonate-{name}", value
    if user.as_groups is not None:
        yield from (("Impersonate-Group", group) for group in user.as_groups)
    if user.as_extra is not None:
        for key, values in user.as_extra.items():
            yield from ((f"Impersonate-Extra-{quote(key, safe=_IN_HEADERS)}", value) for value in values)
