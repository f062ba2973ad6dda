"""Which cluster is read: the one that kubectl and Pulumi would take, and on behalf of whom."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from email.message import Message
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.websites import website
from trainform.cluster import connection
from trainform.cluster.api import ClusterApi
from trainform.cluster.connection import shown_server
from trainform.errors import ClusterError


def kubeconfig(path: Path, *contexts: str, current: str = "") -> Path:
    """A kubeconfig whose contexts lead to servers of the same name."""
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": current,
                "clusters": [{"name": name, "cluster": {"server": f"https://{name}:6443"}} for name in contexts],
                "contexts": [{"name": name, "context": {"cluster": name, "user": name}} for name in contexts],
                "users": [{"name": name, "user": {"token": "t0ken"}} for name in contexts],
            }
        )
    )
    return path


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the test's own, and no KUBECONFIG."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return tmp_path


def test_several_kubeconfigs_are_used_as_by_kubectl(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (
        kubeconfig(home / "one", "dev-cluster"),
        kubeconfig(home / "two", "prod-cluster", current="prod-cluster"),
    )
    monkeypatch.setenv("KUBECONFIG", f"{first}:{home / 'missing'}:{second}")
    assert ClusterApi("prod-cluster").server == "https://prod-cluster:6443"
    assert ClusterApi(None).server == "https://prod-cluster:6443"


def test_the_kubeconfig_in_the_home_folder_is_used(home: Path) -> None:
    (home / ".kube").mkdir()
    kubeconfig(home / ".kube" / "config", "dev-cluster", current="dev-cluster")
    assert ClusterApi(None).server == "https://dev-cluster:6443"


def test_a_runner_inside_a_cluster_still_takes_the_kubeconfig(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    monkeypatch.setenv("KUBECONFIG", str(kubeconfig(home / "one", "dev-cluster")))
    assert ClusterApi("dev-cluster").server == "https://dev-cluster:6443"


def test_a_missing_kubeconfig_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClusterError, match=r"there is no kubeconfig at ~/\.kube/config"):
        ClusterApi("dev-cluster")
    monkeypatch.setenv("KUBECONFIG", str(home / "missing"))
    with pytest.raises(ClusterError, match=f"there is no kubeconfig at {home / 'missing'}"):
        ClusterApi("dev-cluster")


def cluster_at(server: str) -> str:
    return (
        f"clusters: [{{name: a, cluster: {{server: {server}}}}}]\ncontexts: [{{name: dev-cluster, context: "
        f"{{cluster: a}}}}]\n"
    )


@pytest.mark.parametrize(
    "content",
    [
        "clusters: [",
        "- a\n- b\n",
        "clusters: 1\n",
        "contexts: {}\n",
        "",
        "a: 2026-02-30",
        "a: &a [*a]",
        cluster_at('"http://[::"'),
        cluster_at('"\\0"'),
        cluster_at("5"),
    ],
)
def test_an_invalid_kubeconfig_is_an_error(home: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    (home / "broken").write_text(content)
    monkeypatch.setenv("KUBECONFIG", str(home / "broken"))
    with pytest.raises(ClusterError, match="cannot connect to the cluster"):
        ClusterApi("dev-cluster")


def test_only_regular_files_are_read(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(home / "pipe")
    (home / "folder").mkdir()
    for name, kind in (("pipe", "a pipe"), ("folder", "a directory")):
        monkeypatch.setenv("KUBECONFIG", str(home / name))
        with pytest.raises(ClusterError, match=f"{home / name}: the path leads to {kind}, not to a file"):
            ClusterApi("dev-cluster")


# --- a way to the cluster that does not work: one message, no traceback, and nothing of the credentials in it

SECRET = "s3cret"  # noqa: S105 - of these kubeconfigs
EXEC = {"apiVersion": "client.authentication.k8s.io/v1beta1", "command": "false"}


@pytest.fixture
def web_page() -> Iterator[str]:
    with website() as address:
        yield address


def use(path: Path, monkeypatch: pytest.MonkeyPatch, server: object, user: dict[str, object]) -> None:
    """A kubeconfig with one context, which is the current one."""
    content = yaml.safe_load(kubeconfig(path, "dev-cluster", current="dev-cluster").read_text())
    content["clusters"][0]["cluster"]["server"] = server
    content["users"][0]["user"] = user
    path.write_text(yaml.safe_dump(content))
    monkeypatch.setenv("KUBECONFIG", str(path))


@contextlib.contextmanager
def connected(folder: Path, monkeypatch: pytest.MonkeyPatch, answers: Any) -> Iterator[ClusterApi]:
    """A connection to a server that gives these answers."""
    with website(answers) as server:
        use(folder / "kubeconfig", monkeypatch, server, {"token": "t0ken"})
        with contextlib.closing(ClusterApi(None, 60.0)) as api:
            yield api


@pytest.mark.parametrize(
    ("server", "user", "reason"),
    [
        ("WEBSITE", {"token": "t0ken"}, "does not answer as a Kubernetes API"),
        ("WEBSITE", {"token": f"{SECRET}\nx"}, "Illegal header value"),
        ("WEBSITE", {"exec": EXEC | {"apiVersion": "client.authentication.k8s.io/v1"}}, "not implemented"),
        ("WEBSITE", {"exec": EXEC}, "Exec false returned 1"),
        ("WEBSITE", {"exec": EXEC | {"command": "no-such-program"}}, "no-such-program"),
        (f"http://someone:{SECRET}@127.0.0.1:1", {"token": "t0ken"}, "Connection refused"),
        ("http://[::1", {"token": "t0ken"}, "Invalid port"),
        (f"https://u:{SECRET}/x@host.example", {"token": "t0ken"}, "Invalid port"),
        (f"https://{'a' * 64}.example", {"token": "t0ken"}, "label"),
        ("nonsense", {"token": "t0ken"}, "missing an 'http://' or 'https://' protocol"),
    ],
)
def test_connection_errors_have_a_reason_and_a_fix(
    home: Path, monkeypatch: pytest.MonkeyPatch, web_page: str, server: str, user: dict[str, object], reason: str
) -> None:
    use(home / "one", monkeypatch, web_page if server == "WEBSITE" else server, user)
    with pytest.raises(ClusterError) as caught, contextlib.closing(ClusterApi(None)) as cluster:
        cluster.get("/api/v1/namespaces/ai-namespace")
    assert reason in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.fix


def test_a_context_without_a_user(home: Path, monkeypatch: pytest.MonkeyPatch, web_page: str) -> None:
    content = yaml.safe_load(kubeconfig(home / "one", "dev-cluster").read_text())
    del content["contexts"][0]["context"]["user"]
    (home / "one").write_text(yaml.safe_dump(content))
    monkeypatch.setenv("KUBECONFIG", str(home / "one"))
    with pytest.raises(ClusterError, match="cannot connect to the cluster of context dev-cluster: Missing user"):
        ClusterApi("dev-cluster")


# --- what an attacker, or a strange server, does: one message each, whatever the transport runs into


def program(folder: Path, script: str) -> dict[str, object]:
    """A command of the kubeconfig's for a token."""
    path = folder / "gives-token"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return {"exec": EXEC | {"command": str(path)}}


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo no way >&2; exit 3", "returned 3: no way"),
        ("printf '\\377' >&2; exit 3", "returned no token"),
        ("echo '{}'", "returned no token"),
        ("echo no JSON", "returned no token"),
        ("head -c 100000 /dev/zero | tr '\\0' '['", "returned no token"),
        ("""printf '{"status": {"token": "\\\\ud800s3cret"}}'""", "the token is not valid in an HTTP header"),
        ("""printf '{"status": {"token": "s3cret\\\\n"}}'""", "Illegal header value"),
    ],
)
def test_commands_for_a_token_that_fail(
    home: Path, monkeypatch: pytest.MonkeyPatch, web_page: str, script: str, reason: str
) -> None:
    use(home / "one", monkeypatch, web_page, program(home, script))
    with pytest.raises(ClusterError) as caught, contextlib.closing(ClusterApi(None)) as cluster:
        cluster.get("/api/v1/namespaces/ai-namespace")
    assert reason in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_list_that_is_not_served_is_empty_and_one_without_permission_an_error(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for status in (404, 403):
        with website((status, "application/json", b"{}")) as server:
            use(home / "one", monkeypatch, server, {"token": "t0ken"})
            with contextlib.closing(ClusterApi(None)) as cluster:
                if status == 404:
                    assert (
                        cluster.find_all("/api/v1/namespaces/ai-namespace/pods", "list the pods of ai-namespace") == []
                    )
                    continue
                with pytest.raises(ClusterError, match="no permission to list the pods of ai-namespace"):
                    cluster.find_all("/api/v1/namespaces/ai-namespace/pods", "list the pods of ai-namespace")


@pytest.mark.parametrize(
    "server", ["http://a..b", f"http://{'a' * 300}", "http://" + "\u00e9" * 300, "http://", "http://a:99999", "//"]
)
def test_invalid_server_urls_are_errors(home: Path, monkeypatch: pytest.MonkeyPatch, server: str) -> None:
    use(home / "one", monkeypatch, server, {"token": "t0ken"})
    with pytest.raises(ClusterError, match="the current context"), contextlib.closing(ClusterApi(None)) as cluster:
        cluster.get("/api/v1/namespaces/ai-namespace")


@pytest.mark.parametrize(
    ("server", "shown"),
    [
        ("https://u:s3cret@host.example:6443/a", "https://host.example:6443"),
        ("https://host.example?token=s3cret", "https://host.example"),
        ("https://host.example/s3cret#s3cret", "https://host.example"),
        ("https://u:s3cret@[::1]:6443", "https://[::1]:6443"),
        ("https://u:s3/cret@host.example", "an address that cannot be read"),
        ("u:s3cret@host.example", "an address that cannot be read"),
        ("", "an address that cannot be read"),
    ],
)
def test_only_scheme_host_and_port_are_shown(server: str, shown: str) -> None:
    assert shown_server(server) == shown


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        # PyYAML shows the line that it does not understand
        (
            "users:\n- user:\n    token: s3cret: x\n",
            ":3: the file is not YAML that can be read: mapping values are not",
        ),
        ("users:\n- token: !!int s3cret\n", "is not YAML that can be read: ValueError"),
        ("users:\n- token: !!bool s3cret\n", "is not YAML that can be read: KeyError"),
        ("a: 1\nusers: *s3cret\n", "is not YAML that can be read: ComposerError"),
        ("users:\n- token: !s3cret x\n", "is not YAML that can be read: ConstructorError"),
        ("users:\n- token: !s3cret!x x\n", ":2: the file is not YAML that can be read: while parsing a node"),
        ('token: "s3cret\\q"\n', ":1: the file is not YAML that can be read: while parsing a quoted scalar"),
    ],
)
def test_invalid_yaml_values_are_not_shown(
    home: Path, monkeypatch: pytest.MonkeyPatch, content: str, reason: str
) -> None:
    (home / "broken").write_text(content)
    monkeypatch.setenv("KUBECONFIG", str(home / "broken"))
    with pytest.raises(ClusterError) as caught:
        ClusterApi(None)
    assert reason in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "content", ["users: " + "[" * 100_000 + "]" * 100_000, "users:\n- " + "- " * 100_000 + "s3cret"]
)
def test_a_kubeconfig_that_is_nested_deeply_ends_no_process(
    home: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    (home / "bomb").write_text(content)
    monkeypatch.setenv("KUBECONFIG", str(home / "bomb"))
    with pytest.raises(ClusterError, match="the file is nested deeper than 40 levels"):
        ClusterApi(None)


def test_one_thread_at_a_time_decodes_a_kubeconfig(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two that do so for the first time may crash the process."""
    free = threading.Lock()
    met: list[bool] = []

    def decode(context: str | None) -> Any:
        met.append(free.acquire(blocking=False))
        time.sleep(0.02)
        if met[-1]:
            free.release()
        raise OSError(2, "No such file or directory")

    monkeypatch.setattr(connection, "_kubeconfig", decode)
    with ThreadPoolExecutor(4) as pool:
        reads = [pool.submit(connection.choose_config, None) for _ in range(4)]
        assert [isinstance(read.exception(60), ClusterError) for read in reads] == [True] * 4
    assert met == [True] * 4


TOKEN = {"token": "t0ken"}
JANE = {
    "as": "jane@example.com",
    "as-uid": "4711",
    "as-groups": ["researchers", "system:authenticated"],
    "as-user-extra": {"example.com/team": ["vision", "speech"]},
}
SENT = [
    ("Impersonate-User", "jane@example.com"),
    ("Impersonate-Uid", "4711"),
    ("Impersonate-Group", "researchers"),
    ("Impersonate-Group", "system:authenticated"),
    ("Impersonate-Extra-example.com%2Fteam", "vision"),
    ("Impersonate-Extra-example.com%2Fteam", "speech"),
]


def ask() -> None:
    with contextlib.closing(ClusterApi(None, 60.0)) as api:
        api.get("/version")
        api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {})


@pytest.mark.parametrize(
    ("user", "sent"),
    [
        (JANE, SENT),
        ({"as": "jane@example.com"}, SENT[:1]),
        ({"as": "jane@example.com", "as-groups": None}, SENT[:1]),
        ({"as-groups": ["system:masters"]}, []),  # kubectl ignores groups without a user as well
        ({}, []),
    ],
)
def test_every_request_says_whom_it_acts_for(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    user: dict[str, Any],
    sent: list[tuple[str, str]],
) -> None:
    seen: list[Message] = []
    with website((200, "application/json", b'{"metadata": {}}'), seen=seen) as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {**TOKEN, **user})
        ask()
    assert len(seen) == 2
    for request in seen:
        assert [row for row in request.items() if row[0].startswith("Impersonate-")] == sent
        assert request["Authorization"] == "Bearer t0ken"


@pytest.mark.parametrize(
    ("user", "reason"),
    [
        ({"as": 5}, "is not a kubeconfig that can be read"),
        ({"as": "jane", "as-groups": "researchers"}, "is not a kubeconfig that can be read"),
        ({"as": "jane\nx"}, "Illegal header value"),
    ],
)
def test_impersonation_that_cannot_be_sent_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, user: dict[str, Any], reason: str
) -> None:
    with website() as server:
        use(tmp_path / "kubeconfig", monkeypatch, server, {**TOKEN, **user})
        with pytest.raises(ClusterError, match=reason) as caught:
            ask()
    assert caught.value.fix
