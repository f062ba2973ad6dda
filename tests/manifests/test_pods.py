"""The pod template of a role."""

from __future__ import annotations

from typing import Any

from tests.support.samples import WITH_EXTRAS, container, environment, plan, pod
from trainform.job.render import job_manifests


def test_only_ranked_roles_get_rdma_devices() -> None:
    made = plan(network={"host": True, "rdma": True}, roles=WITH_EXTRAS)
    worker, watcher = container(made, "worker"), container(made, "evaluation-watcher")
    assert worker["resources"]["limits"]["rdma/hca"] == "1"
    assert worker["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    assert "securityContext" not in watcher
    assert "resources" not in watcher
    for role in ("master", "evaluation-watcher"):
        spec = pod(made, role)["spec"]
        assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")


def test_requests_and_limits() -> None:
    """One amount is both, a limit alone too, as in Kubernetes; a request alone has no limit."""
    role = {
        "cpu": {"request": "500m", "limit": 8},
        "memory": {"request": "64Gi"},
        "resources": {"ephemeral-storage": {"limit": "100Gi"}, "hugepages-2Mi": "1Gi"},
        "accelerators": {"a800": 8},
    }
    assert container(plan(roles={"worker": role}), "worker")["resources"] == {
        "requests": {
            "cpu": "500m",
            "memory": "64Gi",
            "ephemeral-storage": "100Gi",
            "hugepages-2Mi": "1Gi",
            "baidu.com/a800_80g_cgpu": "8",
        },
        "limits": {
            "cpu": "8",
            "ephemeral-storage": "100Gi",
            "hugepages-2Mi": "1Gi",
            "baidu.com/a800_80g_cgpu": "8",
        },
    }
    one, both = (plan(roles={"worker": {"cpu": cpu}}) for cpu in (4, {"request": "4000m", "limit": 4}))
    assert one.revision == both.revision


def test_shared_memory_of_the_experiment_and_of_a_role() -> None:
    roles: dict[str, Any] = {
        "worker": {},
        "big": {"shared_memory": "1.5Ti"},
        "open": {"shared_memory": "unlimited"},
        "none": {"shared_memory": 0},
    }
    made = plan(shared_memory="20G", roles=roles)
    volume = {"name": "shared-memory", "emptyDir": {"medium": "Memory", "sizeLimit": "20G"}}
    assert volume in pod(made, "worker")["spec"]["volumes"]
    assert {"name": "shared-memory", "mountPath": "/dev/shm"} in container(made, "worker")["volumeMounts"]  # noqa: S108
    assert pod(made, "big")["spec"]["volumes"][0]["emptyDir"]["sizeLimit"] == "1536Gi"
    assert pod(made, "open")["spec"]["volumes"][0] == {"name": "shared-memory", "emptyDir": {"medium": "Memory"}}
    assert [volume["name"] for volume in pod(made, "none")["spec"]["volumes"]] == ["launch"]


def test_volumes_are_mounted_in_the_roles_that_they_name() -> None:
    made = plan(
        storage={
            "models": {"claim": "cloud-ai-test-pvc-1", "mount": "/mnt/", "sub_path": "sdxl", "read_only": True},
            "checkpoints": {"size": "2Ti", "mount": "/mnt/output", "roles": ["worker"]},
            "nobody": {"claim": "unused", "mount": "/mnt/unused", "roles": []},
        },
        roles=WITH_EXTRAS,
    )
    assert pod(made, "worker")["spec"]["volumes"][:2] == [
        {"name": "models", "persistentVolumeClaim": {"claimName": "cloud-ai-test-pvc-1"}},
        {"name": "checkpoints", "persistentVolumeClaim": {"claimName": "sdxl-lora-checkpoints"}},
    ]
    assert container(made, "worker")["volumeMounts"][0] == {
        "name": "models",
        "mountPath": "/mnt/",
        "subPath": "sdxl",
        "readOnly": True,
    }
    assert [mount["name"] for mount in container(made, "evaluation-watcher")["volumeMounts"]] == ["models"]


def test_volumes_of_every_source() -> None:
    """Steps and init containers see them too."""
    made = plan(
        cluster=environment(limits={"host_paths": ["/mnt/k8s-disks"]}),
        storage={
            "disk": {"host_path": "/mnt/k8s-disks/0", "mount": "/scratch", "sub_path": "sdxl"},
            "cache": {"scratch": "500Gi", "mount": "/cache"},
            "nccl": {"config_map": "nccl", "mount": "/etc/nccl.conf", "sub_path": "nccl.conf", "read_only": True},
            "hub": {"secret": "hub-login", "mount": "/etc/hub"},
        },
        prepare=[{"name": "fetch", "command": ["fetch"]}],
    )
    spec = pod(made, "worker")["spec"]
    assert spec["volumes"][:4] == [
        {"name": "disk", "hostPath": {"path": "/mnt/k8s-disks/0"}},
        {"name": "cache", "emptyDir": {"sizeLimit": "500Gi"}},
        {"name": "nccl", "configMap": {"name": "nccl"}},
        {"name": "hub", "secret": {"secretName": "hub-login"}},
    ]
    mounts = container(made, "worker")["volumeMounts"]
    assert mounts[:4] == [
        {"name": "disk", "mountPath": "/scratch", "subPath": "sdxl"},
        {"name": "cache", "mountPath": "/cache"},
        {"name": "nccl", "mountPath": "/etc/nccl.conf", "subPath": "nccl.conf", "readOnly": True},
        {"name": "hub", "mountPath": "/etc/hub"},
    ]
    assert spec["initContainers"][0]["volumeMounts"] == mounts


def test_files_are_mounted_one_by_one_in_all_containers() -> None:
    """Other files of their folders stay visible; keys have no slash, and are not the same for one name."""
    files = {"/workload/launch.sh": {"text": "exec true"}, "/opt/launch.sh": {"text": ""}, "/日本": {"text": "é"}}
    made = plan(files=files, roles=WITH_EXTRAS, prepare=[{"name": "fetch", "command": ["fetch"]}])
    (manifest,) = [each for each in job_manifests(made) if each.key == "files"]
    assert manifest.body["metadata"]["name"] == f"{made.job}-files"
    assert (manifest.body["immutable"], manifest.revision) == (True, made.revision)
    assert manifest.body["data"] == {"0-launch.sh": "exec true", "1-launch.sh": "", "2-__": "é"}
    paths = dict(zip(files, manifest.body["data"], strict=True))
    mounts = [{"name": "files", "mountPath": path, "subPath": key, "readOnly": True} for path, key in paths.items()]
    for role in WITH_EXTRAS:
        spec = pod(made, role)["spec"]
        assert {"name": "files", "configMap": {"name": f"{made.job}-files", "defaultMode": 0o555}} in spec["volumes"]
        for each in (container(made, role), *spec.get("initContainers", ())):
            assert [mount for mount in each["volumeMounts"] if mount["name"] == "files"] == mounts


def test_node_selectors_and_tolerations_are_merged() -> None:
    made = plan(
        node_selector={"zone": "a", "disk": "ssd"},
        tolerations=[{"key": "spot", "operator": "Exists", "effect": "NoExecute", "toleration_seconds": 0}],
        roles={
            "worker": {
                "accelerators": {"l40s": 4},
                "node_selector": {"zone": "b"},
                "tolerations": [{"key": "test", "operator": "Exists"}],
            }
        },
    )
    spec = pod(made, "worker")["spec"]
    assert spec["nodeSelector"] == {"pool": "l40s", "disk": "ssd", "zone": "b"}, "role over experiment"
    assert spec["tolerations"] == [
        {"key": "spot", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0},
        {"key": "test", "operator": "Exists"},
    ]


def test_init_containers_have_the_main_containers_mounts_and_variables() -> None:
    init = [
        {"name": "fetch-data", "command": ["fetch", ""], "env": {"WORLD_SIZE": "1", "SOURCE": ""}},
        {"name": "warm-up", "image": "registry.example.com/ai/warm:1", "command": ["warm"]},
    ]
    made = plan(
        storage={"models": {"claim": "models", "mount": "/mnt"}}, roles={"worker": {"replicas": 2, "init": init}}
    )
    fetch, warm = pod(made, "worker")["spec"]["initContainers"]
    main = container(made, "worker")
    assert (fetch["image"], warm["image"]) == (main["image"], "registry.example.com/ai/warm:1")
    assert fetch["volumeMounts"] == main["volumeMounts"]
    assert warm["env"] == main["env"]
    assert [entry for entry in fetch["env"] if entry["name"] in {"WORLD_SIZE", "SOURCE"}] == [
        {"name": "WORLD_SIZE", "value": "1"},
        {"name": "SOURCE"},
    ]


def test_overrides_patch_the_template() -> None:
    overrides = {
        "metadata": {"annotations": {"example.com/team": "vision"}},
        "spec": {"containers": {"main": {"env": {"LETTER": {"value": "b"}}, "imagePullPolicy": None, "tty": True}}},
    }
    made = plan(roles={"worker": {"pod_overrides": overrides}})
    assert pod(made, "worker")["metadata"]["annotations"] == {"example.com/team": "vision"}
    assert "imagePullPolicy" not in container(made, "worker")
    assert {"name": "LETTER", "value": "b"} in container(made, "worker")["env"]
    assert made.overrides == ("roles.worker.pod_overrides",)


def test_the_names_of_variables_from_secrets_reach_the_first_process() -> None:
    """Also those of a patch; a container without a script masks nothing, and gets none."""
    token = {"secretKeyRef": {"name": "hub-login", "key": "token"}}
    parts: dict[str, Any] = {
        "env": {"HF_TOKEN": {"secret": {"name": "hf", "key": "token"}}, "NODE": {"field": "spec.nodeName"}},
        "roles": {
            "worker": {"pod_overrides": {"spec": {"containers": {"main": {"env": {"HUB": {"valueFrom": token}}}}}}},
            "watcher": {"ranked": False, "command": ["python", "watch.py"]},
        },
    }
    worker, watcher = (container(plan(**parts), role) for role in parts["roles"])
    masked = [each["value"] for each in worker["env"] if each["name"] == "TRAINFORM_MASKED"]
    assert masked == ["HF_TOKEN HUB"]
    assert "TRAINFORM_MASKED" not in {each["name"] for each in watcher["env"]}
    assert worker.get("terminationMessagePolicy") is None
    assert watcher["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_without_a_script_the_end_of_the_log_is_the_message() -> None:
    worker = container(plan(launcher={"entrypoint": []}, roles={"worker": {}}), "worker")
    assert worker["terminationMessagePolicy"] == "FallbackToLogsOnError"
