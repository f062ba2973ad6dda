"""The fields of an experiment as hypothesis draws them, up to the borders of Kubernetes' validation. `generators` puts
them together."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

MAXIMUM = 2**31 - 1


def some(
    fields: dict[str, st.SearchStrategy[Any]], **required: st.SearchStrategy[Any]
) -> st.SearchStrategy[dict[str, Any]]:
    """Return a mapping with the required fields and any of the others."""
    return st.fixed_dictionaries(required, optional=fields)


def labels(longest: int) -> st.SearchStrategy[str]:
    """DNS labels (RFC 1123)."""
    return st.from_regex(rf"[a-z0-9]([-a-z0-9]{{0,{longest - 2}}}[a-z0-9])?", fullmatch=True)


names = st.sampled_from(["sdxl-lora", "r", "resnet50", "a-b-c-0", "x" * 40]) | st.from_regex(
    r"[a-z]([-a-z0-9]{0,20}[a-z0-9])?", fullmatch=True
)
role_names = st.sampled_from(["master", "worker", "parameter-server", "0", "9-lives"]) | labels(12)
subdomains = st.lists(labels(10), min_size=1, max_size=3).map(".".join) | st.just("-".join(["claim"] * 40) + ".x")
images = st.sampled_from(
    [
        "python",
        "a/b:tag",
        "registry.example.com/ai/pytorch-training:latest",
        "localhost:5000/x__y/a-b.c:v1.2.3-rc_1",
        "registry.example.com:65535/ai/pytorch@sha256:" + "0a" * 32,
        "registry.example.com/ai/pytorch:2.8@sha256:" + "f" * 64,
        "UPPER.example.com/lower",
        "a:" + "t" * 128,
    ]
)
# Odd, but text: what shells, YAML and the kubelet treat in their own ways.
texts = st.sampled_from(
    ["", " ", "0", "yes", "null", "~", "1e3", "0x10", "$(VAR)", "$$(VAR)", "$VAR", "a\nb\n", "\n", " x ", "\t",
        "日本語",
     "🚀", "'\"", "key: value", "# no", "- a", "{}", "{{ x }}", "`id`", "\\", "\u2028", "\x7f", "a" * 5000]
) | st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=40)  # fmt: skip
words = texts.filter(bool)
env_names = st.sampled_from(
    [
        "RANK",
        "WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "NUM_PROCESSES",
        "NCCL_DEBUG",
        "_",
        "lower",
        "A" * 300,
        "VC_X",
        "TF_CONFIG",
        "JAX_PROCESS_ID",
        "VC_TASK_INDEX",
        "VC_WORKER_HOSTS",
        "VC_MASTER_NUM",
        "OMPI_MCA_orte_default_hostfile",
    ]
) | st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,10}", fullmatch=True).filter(lambda name: "PASS" not in name.upper())
keys = st.sampled_from(
    ["team", "example.com/team", "a" * 63, "A.b_c-9", ".".join(["d" * 50] * 5)[:253].rstrip(".") + "/" + "n" * 63,
     "aijob.cce.baidubce.com/bccl.tracehang.enabled", "1"]
)  # fmt: skip
values = st.sampled_from(["", "true", "1", "a" * 63, "A.b_c-9"])
notes = st.dictionaries(keys, texts, max_size=3) | st.just({"example.com/notes": "n" * 200_000})
selectors = st.dictionaries(keys, values, max_size=2)
entry = some({}, name=subdomains, key=st.sampled_from(["key", "a.b_c-D", ".hidden", "k" * 253, "..."[:1] + "x"]))
sources = st.one_of(
    entry.map(lambda found: {"secret": found}),
    entry.map(lambda found: {"config_map": found}),
    st.sampled_from(
        ["metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
            "status.hostIP", "status.hostIPs", "status.podIP",
         "status.podIPs", "metadata.labels['a']", "metadata.annotations['example.com/A_b']"]
    ).map(lambda field: {"field": field}),
)  # fmt: skip
env = st.dictionaries(env_names, texts | sources, max_size=5)
cpus = st.sampled_from(
    [0, 1, 8, 0.5, 1.5, "500m", "1", "0.001", "96", "2k", {"request": 1, "limit": 1.5}, {"limit": 2}]
)
memories = st.sampled_from([0, 2**20, "0", "1.5Gi", "64Gi", "800G", "1Ti", "1024Mi", "1024Ki", "123456789"])
sizes = st.sampled_from([2**20, "1Mi", "1.5Gi", "2Ti", "20G", "1Ei"])
resources = st.dictionaries(
    st.sampled_from(["ephemeral-storage", "smarter-devices.io/fuse", "x.y/Z_z.9", "d" * 60 + ".example.com/n"]),
    st.sampled_from([0, 1, 7, "1k", "2Ki", "9223372036854775"]),
    max_size=2,
)
tolerations = st.lists(
    st.one_of(
        some({"value": values, "effect": st.sampled_from(["NoSchedule", "PreferNoSchedule"])}, key=keys),
        some({}, key=keys, operator=st.just("Exists")),  # without a key it is of every taint, and refused
        some(
            {}, key=keys, operator=st.just("Exists"), effect=st.just("NoExecute"),
            toleration_seconds=st.sampled_from([0, 300, MAXIMUM]),
        ),
    ),
    max_size=2,
)  # fmt: skip
durations = st.sampled_from(["0s", "90s", "30m", "12h", "1d12h30m5s", "24855d"])
ACTIONS = ["AbortJob", "RestartJob", "RestartTask", "RestartPod", "TerminateJob", "CompleteJob", "ResumeJob"]
EVENTS = ["PodFailed", "PodEvicted", "Unknown", "TaskCompleted", "TaskFailed", "JobUpdated"]
policies = st.one_of(
    st.lists(
        st.one_of(
            some({"timeout": durations}, action=st.sampled_from(ACTIONS), event=st.sampled_from(EVENTS)),
            some({}, action=st.sampled_from(ACTIONS), event=st.just("PodPending"), timeout=durations),
            some({}, action=st.sampled_from(ACTIONS), exit_code=st.sampled_from([1, 137, -1, MAXIMUM, -MAXIMUM - 1])),
        ),
        max_size=3,
        unique_by=lambda policy: (policy.get("event"), policy.get("exit_code")),
    ),
    st.just([{"action": "RestartJob", "event": "*"}]),
)
programs = words.filter(lambda word: word.startswith("/") or not any(map(str.isspace, word)))
commands = st.tuples(programs, st.lists(texts, max_size=3)).map(lambda parts: [parts[0], *parts[1]])
init = st.lists(
    some({"image": images, "env": env}, name=labels(20).filter(lambda name: name != "main"), command=commands),
    max_size=2,
    unique_by=lambda container: container["name"],
)  # fmt: skip
pod_overrides = st.sampled_from(
    [
        {},
        {"metadata": {"annotations": {"example.com/patched": "yes"}, "labels": {"patched": "yes"}}},
        {"spec": {"terminationGracePeriodSeconds": 0, "enableServiceLinks": False}},
        {"spec": {"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["storage.example.com"]}]}},
        {"spec": {"containers": {"main": {"workingDir": "/app", "tty": True,
                        "lifecycle": {"preStop": {"exec": {"command": ["sync"]}}}}}}},
        {"spec": {"containers": {"sidecar": {"image": "registry.example.com/ai/log:1", "args": ["--follow"]}}}},
        {"spec": {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
            {"topologyKey": "kubernetes.io/hostname",
                "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "sdxl-lora"}}}
        ]}}}},
        {"spec": {"securityContext": {"runAsUser": 1000, "fsGroup": 1000}}},
    ]
)  # fmt: skip
manifest_overrides = st.dictionaries(
    st.sampled_from(["job", "service", "launch-script"]),
    st.sampled_from([{}, {"metadata": {"annotations": {"example.com/patched": "yes"}, "labels": {"patched": "yes"}}}]),
    max_size=2,
)

restarts = st.one_of(
    st.sampled_from(["never", "on-failure", "1 times", "3 times", "999999999 times"]),
    some({"when": st.just("on-failure")}, exit_codes=st.sampled_from([[1], [42, "137-139"], ["200-215"]])),
)
_role: dict[str, st.SearchStrategy[Any]] = {
    "image": images,
    "accelerators": st.sampled_from([{}, {"a800": 0}, {"a800": 1}, {"a800": 8}, {"l40s": 4}]),
    "cpu": cpus,
    "memory": memories | st.sampled_from([{"request": "1Gi"}, {"request": 0, "limit": "64Gi"}]),
    "resources": resources,
    "shared_memory": memories | st.just("unlimited"),
    "env": env,
    "init": init,
    "restart": restarts,
    "working_dir": st.sampled_from(["/app", "/日本"]),
    "grace_period": st.sampled_from(["0s", "90s", "1d"]),
    "policies": policies,
    "node_selector": selectors,
    "node_affinity": some(
        dict.fromkeys(
            ("require", "avoid", "prefer"),
            st.dictionaries(keys, st.lists(values, min_size=1, max_size=2, unique=True), max_size=2),
        )
    ),
    "tolerations": tolerations,
    "labels": selectors,
    "annotations": notes,
    "pod_overrides": pod_overrides,
}
_ranked_role: dict[str, st.SearchStrategy[Any]] = {**_role, "ranked": st.just(True)}
replicas = st.sampled_from([1, 1, 2, 3, 8])
ranked_roles = some({**_ranked_role, "command": commands}, replicas=replicas)
# under a launcher that starts everything over SSH they run nothing of their own
served_roles = some(_ranked_role, replicas=replicas)
launching_roles = some(_role, replicas=st.just(1), ranked=st.just(False))
extra_roles = st.builds(
    dict.__or__,
    some({**_role, "min_available": st.just(0)}, replicas=st.sampled_from([0, 1, 4]), ranked=st.just(False)),
    some({}, command=commands) | some({}, args=st.lists(texts, max_size=3)),
)

_script: dict[str, st.SearchStrategy[Any]] = {
    "args": st.lists(texts, max_size=4),
    "launcher_args": st.lists(texts, max_size=2),
    "processes_per_node": st.sampled_from([1, 8, 64]),
}
torchrun_fields = {**_script, "max_restarts": st.sampled_from([0, 3, MAXIMUM])}
_accelerate = {**_script, "rdzv_backend": st.sampled_from(["static", "c10d"])}
static_launchers = st.one_of(
    some({}, torchrun=some(torchrun_fields, script=words)),
    some({}, accelerate=some({**_accelerate, "processes_per_node": st.just(8)}, script=words)),
    some({}, jax=some({}, command=commands)),
    some({}, command=commands),
)
entrypoints = some({}, entrypoint=st.lists(texts, max_size=3))
launchers_over_ssh = st.one_of(
    some({}, deepspeed=some(_script, script=words)),
    some({}, mpi=some({name: _script[name] for name in ("launcher_args", "processes_per_node")}, command=commands)),
)

mounts = st.sampled_from(["/mnt", "/mnt/", "/mnt/data", "/data", "/a/b/c/d.e-f_g", "/日本", "/mnt/output", "/x"])
_volume: dict[str, st.SearchStrategy[Any]] = {
    "sub_path": st.sampled_from(["runs", "runs/first", ".hidden", "a..b", "with space", "日本"]),
    "read_only": st.booleans(),
}
volumes = st.one_of(
    some(_volume, claim=subdomains, mount=mounts),
    some(
        {
            **_volume,
            "class": st.sampled_from(["fast", "archive"]),
            "access_modes": st.sampled_from([["ReadWriteMany"], ["ReadWriteOnce", "ReadOnlyMany"], ["ReadWriteOnce"]]),
            "keep": st.booleans(),
        },
        size=sizes,
        mount=mounts,
    ),
    some(_volume, host_path=st.sampled_from(["/mnt/disks", "/mnt/disks/0/"]), mount=mounts),
    some(_volume, scratch=sizes, mount=mounts),
    some(_volume, config_map=subdomains, mount=mounts),
    some(_volume, secret=subdomains, mount=mounts),
)
networks = some(
    {
        "host": st.booleans(),
        "rdma": st.booleans(),
        "port": st.sampled_from([1024, 20000, 29500]),
        "wait": st.sampled_from(["0s", "90s", "10m", "1d"]),
        "topology": st.one_of(
            some({"mode": st.sampled_from(["hard", "soft"])}, highest_tier=st.sampled_from([1, 2, MAXIMUM])),
            some({"mode": st.sampled_from(["hard", "soft"])}, highest_tier_name=st.sampled_from(["rack", "spine.1"])),
        ),
    }
)
queues = st.one_of(
    st.sampled_from(["default", "night.vision", "vision"]),
    some(
        {
            "name": st.sampled_from(["own-queue", "own.queue", "q" * 63]),
            "weight": st.sampled_from([1, 65535]),
            "reclaimable": st.booleans(),
            "priority": st.sampled_from([0, 1, MAXIMUM]),
            "capability": st.just({"a800": 512, "l40s": 256, "cpu": "0.5k", "memory": "64Ti", "x.y/Z": "1k"}),
            "deserved": st.just({"a800": 8, "cpu": 8}),
        }
    ),
)
run_as = some(
    {"group": st.sampled_from([0, 100, MAXIMUM])},
    user=st.sampled_from([0, 1, 1000, MAXIMUM]),
    home=st.sampled_from(["/home/trainer", "/home/trainer/", "/日本"]),
)
ssh = some({"port": st.sampled_from([1025, 2222, 30022])}, rotation=st.sampled_from([1, 2, MAXIMUM - 1])) | some(
    {"port": st.just(2222)}, secret=subdomains
)
checkouts = some(
    {},
    repository=st.sampled_from(
        [
            "https://git.example.com/vision/sdxl.git",
            "git@git.example.com:vision/sdxl.git",
            "https://ada:$(TOKEN)@[2001:db8::1]:8443/a",
        ]
    ),
    commit=st.sampled_from(["0123456789" * 4, "f" * 64]),
    path=st.sampled_from(["/code", "/workspace/src/", "/opt/d.e-f", "/a;$(b)'\"\\"]),
) | some(
    {},
    repository=st.just("ssh://git@git.example.com:2222/vision/sdxl.git"),
    commit=st.just("9" * 40),
    path=st.just("/code/日本"),
    key=entry,
    known_hosts=st.just(
        [
            "[git.example.com]:2222 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE",
            "*.example.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBE",
        ]
    ),
)
_step: dict[str, st.SearchStrategy[Any]] = {"image": images, "env": env}
steps = st.lists(
    st.one_of(some(_step, name=labels(20), git=checkouts), some(_step, name=labels(20), command=commands)),
    max_size=2,
    unique_by=(lambda step: str(step["name"]),
        lambda step: str(step.get("git", step)["path"] if "git" in step else step["name"])),
).filter(lambda found: all(step["name"] != "main" for step in found))  # fmt: skip
not_of_volcano: dict[str, st.SearchStrategy[Any]] = {
    "clean_pods": st.sampled_from(["none", "all"]),
    "restart": some(
        {"when": st.sampled_from(["never", "on-failure", "3 times"]), "exit_codes": st.just([42])},
        ignore=st.just("disruption"),
    ).filter(lambda rule: rule.get("when") != "never" or "exit_codes" not in rule),
}
experiment_fields: dict[str, st.SearchStrategy[Any]] = {
    "backend": st.just("volcano"),
    "image_pull_policy": st.sampled_from(["Always", "IfNotPresent", "Never"]),
    "files": st.dictionaries(
        st.sampled_from(["/workload/run.sh", "/workload/a", "/etc/nccl.conf", "/opt/日本/é"]),
        some({}, text=texts),
        max_size=2,
    ),
    "image_pull_secrets": st.lists(subdomains | st.just("registry.cluster"), max_size=2),
    "network": networks,
    "shared_memory": memories | st.just("unlimited"),
    "queue": queues,
    "priority_class": st.sampled_from(["urgent", "idle"]),
    "restart": restarts,
    "max_retry": st.sampled_from([1, 3, MAXIMUM]),
    "policies": policies,
    "ttl": durations,
    "max_run_time": durations.filter(lambda duration: duration != "0s"),
    "clean_pods": st.just("running"),
    "run_as": run_as,
    "service_account": st.sampled_from(["default"]),
    "env": env,
    "node_selector": selectors,
    "tolerations": tolerations,
    "labels": selectors,
    "annotations": notes,
    "manifest_overrides": manifest_overrides,
}
