"""Pods on the real kubelet, compared with what Kubernetes documents: one that uses everything, and one for each state.

The image is the one that every node has: it holds busybox.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.local.sandbox.conftest import until
from tests.local.sandbox.real.streams import execute, forward
from trainform.local.sandbox.api import Api

pytestmark = pytest.mark.proof("one pod for each state; `make test` runs one pod")

CORE = "/api/v1/namespaces/default"
PODS = f"{CORE}/pods"
SHELL = ["/busybox", "sh", "-c"]
ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
REVIEW = "https://kubernetes.default.svc/apis/authentication.k8s.io/v1/selfsubjectreviews"
BODY = '{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}'
OF_POD = (
    "initContainers", "volumes", "restartPolicy", "hostNetwork", "dnsPolicy", "hostname", "subdomain",
    "securityContext", "nodeName",
)  # fmt: skip


def _container(command: str, name: str = "main", /, **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "trainform-pause:1", "command": [*SHELL, command]} | fields


def _pod(name: str, command: str = "exit 0", /, **fields: Any) -> dict[str, Any]:
    """Return a pod. fields: of the pod (`OF_POD`), or of its container."""
    spec: dict[str, Any] = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, "schedulerName": "volcano"}
    spec |= {key: fields.pop(key) for key in OF_POD if key in fields}
    metadata = {"name": name, "labels": fields.pop("labels", {}), "annotations": fields.pop("annotations", {})}
    return {"metadata": metadata, "spec": {**spec, "containers": [_container(command, **fields)]}}


def _status(api: Api, name: str) -> dict[str, Any]:
    status: dict[str, Any] = api.get(f"{PODS}/{name}")["status"]
    return status


def _log(api: Api, name: str, query: str = "") -> list[str]:
    return [*api.lines(f"{PODS}/{name}/log?container=main{query}")]


@pytest.mark.shows("a pod on a real kubelet: its output, and its exit code")
def test_a_pod_runs_on_a_real_node(api: Api) -> None:
    api.create(PODS, _pod("short", "echo hello; exit 3"))
    until(lambda: _status(api, "short").get("phase") == "Failed")
    assert _log(api, "short") == ["hello"]
    assert _status(api, "short")["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 3


# --- one pod that uses everything

# A shell command in the pod, and what it prints.
EXPECTED = {
    "echo $LATER": "first-$(LAST)-$(FIRST)",
    "echo $CONFIG_a $CONFIG_b": "own two",
    "echo $PASSWORD": "hunter2",
    "echo $POD_NAME $POD_NODE": "everything cpu-real-0",
    "echo $LIMIT": "67108864",
    "echo $VIP_PORT": "tcp://198.18.7.7:80",
    "echo $KUBERNETES_SERVICE_HOST": "198.18.0.1",
    "id -u": "1000",
    "hostname": "everything",
    "cat /config/a": "one",
    "readlink /config/a": "..data/a",
    "stat -Lc %a /config/a": "640",
    "stat -Lc %a /secret/sub/key": "400",
    "cat /info/labels": 'app="everything"',
    "cat /info/annotations | grep note": r'note="a\tb \"c\" \\ é"',
    "ls /all": "a key token",
    "grep ' /memory ' /proc/mounts | cut -d' ' -f3": "tmpfs",
    "df -k /memory | tail -n1 | awk '{print $2}'": "1024",
    "grep ' /open ' /proc/mounts | cut -d' ' -f3": "tmpfs",
    "df -k /open | tail -n1 | awk '{print $2}'": str(4 * 2**20),  # KiB: the memory of the node
    "stat -c %F /node": "directory",
    "stat -c '%a %F' /tool; /tool; ls -d /busybox": "555 regular file runs /busybox",
    "cat /disk/init": "from init",
    "wget -qO- http://127.0.0.1:8081/init": "from init",
    "cat /shared/server; echo mine >/shared/everything; stat -c %u /shared/everything": "from server 1000",
    "cat $C/memory.max $C/memory/memory.limit_in_bytes 2>/dev/null": "67108864",
    "cut -d' ' -f1 $C/cpu.max $C/cpu/cpu.cfs_quota_us 2>/dev/null": "50000",
    "cat /proc/self/oom_score_adj": "999",
    "forward vip.default.svc.cluster.local": "198.18.7.7",
    "reverse $(forward server.pods.default.svc.cluster.local)": "server.pods.default.svc.cluster.local",
    "nslookup nowhere.default.svc.cluster.local | grep -o NXDOMAIN | head -n1": "NXDOMAIN",
    "grep ^search /etc/resolv.conf": "search default.svc.cluster.local svc.cluster.local cluster.local",
    "wget -qO- http://198.18.7.7/server": "from server",
    "wget -qO- http://server.pods:8080/server": "from server",
    "review | grep -o 'system:serviceaccount:[a-z:]*' | head -n1": "system:serviceaccount:default:default",
    "echo the end >/dev/termination-log": "",
}
FUNCTIONS = f"""
C=/sys/fs/cgroup
/busybox --install -s /bin
forward() {{ nslookup -type=a $1 | awk '/^Address/ {{ found = $NF }} END {{ print found }}'; }}
reverse() {{ nslookup $1 | awk '/name = .*pods/ {{ print $NF }}'; }}
review() {{
  wget -qO- --no-check-certificate --header "Authorization: Bearer $(cat {ACCOUNT}/token)" \
    --header 'Content-Type: application/json' --post-data '{BODY}' {REVIEW}
}}
"""
FIELDS = [{"path": each, "fieldRef": {"fieldPath": f"metadata.{each}"}} for each in ("labels", "annotations")]
SOURCES: list[dict[str, Any]] = [
    {"configMap": {"name": "given", "items": [{"key": "a", "path": "a"}]}},
    {"secret": {"name": "given"}},
    {"serviceAccountToken": {"path": "token"}},
]
VOLUMES: dict[str, dict[str, Any]] = {
    "config": {"configMap": {"name": "given", "defaultMode": 0o640}},
    "secret": {"secret": {"secretName": "given", "items": [{"key": "key", "path": "sub/key", "mode": 0o400}]}},
    "info": {"downwardAPI": {"items": FIELDS}},
    "all": {"projected": {"sources": SOURCES}},
    "memory": {"emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
    "open": {"emptyDir": {"medium": "Memory"}},  # as large as the node's memory: a step has no limit
    "disk": {"emptyDir": {"sizeLimit": "1Gi"}},
    "node": {"hostPath": {"path": "/var/lib/made-by-the-kubelet"}},
    "tool": {"configMap": {"name": "given", "defaultMode": 0o555}},
    "bin": {"emptyDir": {}},
    "shared": {"persistentVolumeClaim": {"claimName": "shared"}},
}
ENV = [
    {"name": "FIRST", "value": "first"},
    {"name": "LATER", "value": "$(FIRST)-$(LAST)-$$(FIRST)"},
    {"name": "LAST", "value": "last"},
    {"name": "CONFIG_a", "value": "own"},
    {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "given", "key": "key"}}},
    {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    {"name": "POD_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    {"name": "LIMIT", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory"}}},
]
TOOL = "#!/busybox sh\necho runs\n"
FILES = {"tool": {"subPath": "tool", "readOnly": True}}  # a file among those of the image
CLAIM = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
LIMITS = {"limits": {"cpu": "500m", "memory": "64Mi"}, "requests": {"cpu": "100m", "memory": "1Mi"}}
PORT = {"port": 80, "targetPort": 8080}
OBJECTS: dict[str, list[dict[str, Any]]] = {
    "configmaps": [{"metadata": {"name": "given"}, "data": {"a": "one", "b": "two", "tool": TOOL}}],
    "secrets": [{"metadata": {"name": "given"}, "stringData": {"key": "hunter2"}}],
    "persistentvolumeclaims": [{"metadata": {"name": "shared"}, "spec": CLAIM}],
    "services": [
        {"metadata": {"name": name}, "spec": {"clusterIP": address, "selector": {"app": "server"}, "ports": [PORT]}}
        for name, address in (("vip", "198.18.7.7"), ("pods", "None"))
    ],
}


@pytest.fixture(scope="module")
def server(api: Api) -> str:
    """Return the name of a pod that serves the shared claim, on the second node."""
    for collection, bodies in OBJECTS.items():
        for body in bodies:
            api.create(f"{CORE}/{collection}", body)
    command = "echo from server >/shared/server; exec /busybox httpd -f -p 8080 -h /shared"
    fields: dict[str, Any] = {
        "nodeName": "cpu-real-1",
        "hostname": "server",
        "subdomain": "pods",
        "labels": {"app": "server"},
    }
    fields |= {
        "volumes": [{"name": "shared", **VOLUMES["shared"]}],
        "volumeMounts": [{"name": "shared", "mountPath": "/shared"}],
        "readinessProbe": {"httpGet": {"path": "/server", "port": 8080}, "periodSeconds": 1},
        "securityContext": {"runAsUser": 1001},
    }
    api.create(PODS, _pod("server", command, **fields))
    until(lambda: _status(api, "server").get("containerStatuses", [{}])[0].get("ready") is True)
    return "server"


@pytest.fixture(scope="module")
def printed(api: Api, server: str) -> dict[str, str]:
    """Return what each command printed in the pod that uses everything, in one line."""
    script = FUNCTIONS + "\n".join(f"echo '==='; {{ {command}; }} | tr '\\n' ' '" for command in EXPECTED)
    disk = [{"name": "disk", "mountPath": "/disk"}]
    sidecar = _container(
        "exec /busybox httpd -f -p 8081 -h /disk", "sidecar", restartPolicy="Always", volumeMounts=disk
    )
    sidecar["startupProbe"] = {"tcpSocket": {"port": 8081}, "periodSeconds": 1}
    body = _pod(
        "everything",
        script,
        nodeName="cpu-real-0",
        labels={"app": "everything"},
        annotations={"note": 'a\tb "c" \\ é'},
        securityContext={"runAsUser": 1000},
        initContainers=[_container("echo from init >/disk/init", "init", volumeMounts=disk), sidecar],
        volumes=[{"name": name, **source} for name, source in VOLUMES.items()],
        volumeMounts=[{"name": name, "mountPath": f"/{name}", **FILES.get(name, {})} for name in VOLUMES],
        env=ENV,
        envFrom=[{"prefix": "CONFIG_", "configMapRef": {"name": "given"}}],
        resources=LIMITS,
    )
    api.create(PODS, body)
    until(lambda: _status(api, "everything").get("phase") == "Succeeded")
    texts = "\n".join(_log(api, "everything")).split("===")[1:]
    return dict(zip(EXPECTED, map(str.strip, texts), strict=True))


@pytest.mark.parametrize("command", EXPECTED)
def test_a_pod_sees_what_kubernetes_documents(printed: dict[str, str], command: str) -> None:
    assert printed[command] == EXPECTED[command]


def test_the_end_of_the_pod_is_reported_and_its_files_are_shared(
    api: Api, folder: Path, printed: dict[str, str]
) -> None:
    status = _status(api, "everything")
    assert status["containerStatuses"][0]["state"]["terminated"]["message"] == "the end\n"
    assert [each["name"] for each in status["initContainerStatuses"]] == ["init", "sidecar"]
    assert execute(folder, "server", "/busybox", "cat", "/shared/everything")[0] == "mine\n"


# --- states

SLEEP = "exec /busybox sleep 600"
# containerd has two events for the kill and the end of a container, in any order: the shell ends after the first one
BIG = "/busybox dd if=/dev/zero of=/dev/null bs=256M count=1; code=$?; /busybox sleep 1; exit $code"
AGAIN = f"[ -f /disk/x ] && echo second && {SLEEP}; touch /disk/x; echo first; exit 1"
DISK = {"volumes": [{"name": "disk", "emptyDir": {}}], "volumeMounts": [{"name": "disk", "mountPath": "/disk"}]}
BROKEN, ERROR = {"exec": {"command": ["/busybox", "false"]}, "periodSeconds": 1}, "CreateContainerConfigError"
# Name -> the command, fields of the pod, and its state: phase, reason or readiness, exit code, restarts.
STATES: dict[str, tuple[str, dict[str, Any], tuple[object, ...]]] = {
    "completes": ("exit 0", {}, ("Succeeded", "Completed", 0, 0)),
    "fails": ("exit 7", {}, ("Failed", "Error", 7, 0)),
    "over-its-limit": (BIG, {"resources": LIMITS}, ("Failed", "OOMKilled", 137, 0)),
    "starts-again": (AGAIN, {"restartPolicy": "OnFailure", **DISK}, ("Running", True, None, 1)),
    "root": ("exit 0", {"securityContext": {"runAsNonRoot": True}}, ("Pending", ERROR, None, 0)),
    "no-secret": ("exit 0", {"envFrom": [{"secretRef": {"name": "missing"}}]}, ("Pending", ERROR, None, 0)),
    "no-program": ("", {"command": ["/none"]}, ("Failed", "StartError", 128, 0)),
    "no-image": ("", {"image": "none:1", "imagePullPolicy": "Never"}, ("Pending", "ErrImageNeverPull", None, 0)),
    "init-fails": ("", {"initContainers": [_container("exit 5", "init")]}, ("Failed", "PodInitializing", None, 0)),
    "unready": (SLEEP, {"readinessProbe": BROKEN}, ("Running", False, None, 0)),
    "dead": (SLEEP, {"livenessProbe": BROKEN | {"failureThreshold": 1}}, ("Failed", "Error", 137, 0)),
    "alive": (SLEEP, {"livenessProbe": {"exec": {"command": ["/busybox", "true"]}}}, ("Running", True, None, 0)),
}


def _state(status: dict[str, Any]) -> tuple[object, ...]:
    (found,) = status.get("containerStatuses") or [{"state": {}, "restartCount": 0, "ready": False}]
    (each,) = found["state"].values() or [{}]
    reason = found["ready"] if "running" in found["state"] else each.get("reason")
    return status["phase"], reason, each.get("exitCode"), found["restartCount"]


@pytest.fixture(scope="module")
def _pods_of_all_states(api: Api) -> None:
    for name, (command, fields, _) in STATES.items():
        api.create(PODS, _pod(name, command, **fields))


@pytest.mark.parametrize("name", STATES)
def test_states(api: Api, _pods_of_all_states: None, name: str) -> None:
    until(lambda: _state(_status(api, name)) == STATES[name][2])


def test_the_output_before_a_restart_is_kept(api: Api, _pods_of_all_states: None) -> None:
    until(lambda: _state(_status(api, "starts-again")) == STATES["starts-again"][2])
    assert _log(api, "starts-again", "&previous=true") == ["first"]
    until(lambda: _log(api, "starts-again") == ["second"])


# --- streams


def test_exec_gives_output_errors_and_exit_code(folder: Path, server: str) -> None:
    output, errors, status = execute(folder, server, *SHELL, "echo out; echo err >&2; exit 4")
    assert (output, errors, status["reason"]) == ("out\n", "err\n", "NonZeroExitCode")
    assert status["details"]["causes"] == [{"reason": "ExitCode", "message": "4"}]
    assert execute(folder, server, "/busybox", "true")[2]["status"] == "Success"


def test_port_forward_reaches_the_pod(folder: Path, server: str) -> None:
    answer = forward(folder, server, 8080, b"GET /server HTTP/1.0\r\n\r\n")
    assert answer.startswith(b"HTTP/1.")
    assert answer.endswith(b"from server\n")


def test_a_pod_on_the_host_network_has_the_name_and_address_of_its_node(api: Api, server: str) -> None:
    script = FUNCTIONS + "hostname; forward vip.default.svc.cluster.local"
    fields = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet", "nodeName": "cpu-real-1"}
    bin_ = {"volumes": [{"name": "bin", "emptyDir": {}}], "volumeMounts": [{"name": "bin", "mountPath": "/bin"}]}
    api.create(PODS, _pod("host", script, **fields, **bin_))
    until(lambda: _status(api, "host").get("phase") == "Succeeded")
    assert _log(api, "host") == ["cpu-real-1", "198.18.7.7"]
    addresses = {each["type"]: each["address"] for each in api.get("/api/v1/nodes/cpu-real-1")["status"]["addresses"]}
    assert _status(api, "host")["podIP"] == addresses["InternalIP"]


def test_a_kubelet_may_read_the_secrets_of_its_own_pods_only(api: Api, printed: dict[str, str]) -> None:
    allowed = []
    for node in ("cpu-real-0", "cpu-real-1"):
        asked = {"verb": "get", "resource": "secrets", "name": "given", "namespace": "default"}
        spec = {"user": f"system:node:{node}", "groups": ["system:nodes"], "resourceAttributes": asked}
        review = api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", {"spec": spec})
        allowed.append(review["status"]["allowed"])
    assert allowed == [True, False]
