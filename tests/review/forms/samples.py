"""Reports for the tests of forms: a usual one, one that has everything, and one that has nothing."""

from __future__ import annotations

from typing import Any

from trainform.review.model import (
    Capacity,
    Change,
    Cost,
    Dependents,
    Effect,
    EngineMessage,
    Fact,
    FieldChange,
    Finding,
    Money,
    NotChecked,
    ObjectChange,
    Outcome,
    Place,
    Report,
    Selection,
    Shortage,
    WaiverUse,
)
from trainform.review.picture.parts import Picture, PictureEdge, PictureFact, PictureNode
from trainform.review.stand_ins import CHANGED_MASK, MASKED
from trainform.review.whole import review_of

FILE = "stacks/experiments/sdxl-lora.yaml"
OLD = "registry.example.com/ai/diffusers-lora:2.3"
NEW = "registry.example.com/ai/diffusers-lora:2.4"


def usd(amount: str) -> Money:
    return Money(amount=amount, currency="USD")


def finding(**given: Any) -> Finding:
    usual = {
        "code": "TR-RESTART-1",
        "category": "restart",
        "level": "high",
        "object": "sdxl-lora-1f3a9c",
        "title": "The running job sdxl-lora-1f3a9c is stopped, and a new one waits in the queue.",
        "why": "What it has computed since its last checkpoint is lost.",
        "fix": "Wait for its end, or apply the change after a checkpoint.",
        "fingerprint": "5d2f61c0a7b94e38",
    }
    return Finding.model_validate(usual | given)


RESTART = finding(
    field="image",
    before=OLD,
    after=NEW,
    place=Place(path="image", file=FILE, line=4),
)
TAG = finding(
    code="TR-SECURITY-3",
    category="security",
    level="medium",
    object="sdxl-lora",
    field="image",
    before=OLD,
    after=NEW,
    title="The tag of the image can be moved to another image.",
    why="What runs is then not what was reviewed.",
    fix="Name the image by its digest: IMAGE@sha256:….",
    place=Place(path="image", file=FILE, line=4),
    fingerprint="91c4be0d2f5a7e63",
)
REPLACED = Effect(
    kind="replace",
    thing="job",
    state="running",
    age="16 h",
    size="32 a800",
    object="sdxl-lora-1f3a9c",
    sentence="The running job sdxl-lora-1f3a9c (up 16 h, 32 a800) is deleted, and sdxl-lora-7b20de takes its place.",
    causes=[Change(place=Place(path="image", file=FILE, line=4), before=OLD, after=NEW)],
)
KEPT = Effect(
    kind="keep",
    thing="claim",
    object="sdxl-lora-checkpoints",
    sentence="The claim sdxl-lora-checkpoints and its mount path /checkpoints are unchanged.",
)
PICTURE = Picture(
    job="sdxl-lora",
    nodes=[
        PictureNode(id="queue/default", kind="queue", name="default", change="same"),
        PictureNode(
            id="job/",
            kind="job",
            name="sdxl-lora",
            change="restarted",
            facts=[PictureFact(label="object", before="sdxl-lora-1f3a9c", after="sdxl-lora-7b20de")],
        ),
        PictureNode(
            id="role/worker",
            kind="role",
            name="worker",
            change="restarted",
            facts=[PictureFact(label="pods", before="4", after="4"), PictureFact(label="image", before=OLD, after=NEW)],
        ),
        PictureNode(id="claim/sdxl-lora-checkpoints", kind="claim", name="sdxl-lora-checkpoints", change="same"),
        PictureNode(id="claim/datasets", kind="claim", name="datasets", change="added"),
    ],
    edges=[
        PictureEdge(start="queue/default", end="job/", change="same"),
        PictureEdge(start="job/", end="role/worker", change="same"),
        PictureEdge(start="role/worker", end="claim/sdxl-lora-checkpoints", label="/checkpoints", change="same"),
        PictureEdge(start="role/worker", end="claim/datasets", label="/data (read-only)", change="added"),
    ],
)
FACTS = [
    Fact(key="run", number="32 a800", text="sdxl-lora-1f3a9c (up 16 h) stops and starts again"),
    Fact(key="data", number="1 claim unchanged", text="sdxl-lora-checkpoints"),
    Fact(key="cost", number="+0.00 USD/h", text="96.00 USD an hour as before, 6912.00 USD for 72 h"),
    Fact(key="queue", number="fits now"),
]
NONE = [
    Fact(key="run", number="unchanged"),
    Fact(key="data", number="unchanged"),
    Fact(key="cost", number="no price"),
    Fact(key="queue", number="unchanged"),
]
USUAL = Report(
    stack="sdxl-lora.prod",
    environment="prod",
    experiment="sdxl-lora",
    outcome=Outcome.findings,
    headline="Replaces the running job sdxl-lora-1f3a9c (up 16 h, 32 a800) because `image` changes; checkpoints stay "
    "in sdxl-lora-checkpoints. +0.00 USD/h. 1 high finding.",
    facts=FACTS,
    effects=[REPLACED, KEPT],
    findings=[RESTART, TAG],
    cost=Cost(
        before=usd("96.00"),
        after=usd("96.00"),
        difference=usd("0.00"),
        percent="+0.0",
        prices_of="2026-09-01",
        price_age_days=83,
        hours="72",
        total=usd("6912.00"),
    ),
    capacity=Capacity(
        verdict="now",
        sentence="All 4 pods fit now: the old job frees as much as the new one asks for.",
        basis="cluster",
    ),
    objects=[
        ObjectChange(
            operation="replace",
            kind="Job",
            name="sdxl-lora-1f3a9c",
            destructive=True,
            fields=[
                FieldChange(path="metadata.name", before="sdxl-lora-1f3a9c", after="sdxl-lora-7b20de"),
                FieldChange(path="spec.tasks[worker].template.spec.containers[main].image", before=OLD, after=NEW),
            ],
        ),
        ObjectChange(operation="create", kind="ConfigMap", name="sdxl-lora-launch-script-7b20de", destructive=False),
    ],
    read_at="2026-11-23T03:20:31Z",
)
RICH = USUAL.model_copy(
    update={
        "findings": [
            finding(
                code="TR-DATA-1",
                category="data",
                object="sdxl-lora-dataset",
                field="storage.dataset.keep",
                before=True,
                title="The claim sdxl-lora-dataset is deleted, with all that is in it.",
                why="Nobody can bring the data back.",
                fix="Set `keep: true` again, or copy the data first.",
                place=Place(path="storage.dataset.keep", file=FILE, line=21),
                fingerprint="0aa1bb2cc3dd4ee5",
            ),
            RESTART,
            TAG,
            finding(
                code="TF-COST-1",
                category="limits",
                level="medium",
                title="All pods together cost 128.00 USD in an hour, and the environment allows 100.",
                fingerprint="77aa1bb2cc3dd4e0",
                waived=True,
            ),
            finding(
                code="TR-DRIFT-1", category="drift", level="low", field="spec", before={"replicas": 3},
                after={"replicas": 5}
            ),
        ],
        "effects": [
            REPLACED,
            KEPT,
            Effect(
                kind="update",
                object="sdxl-lora",
                sentence="A secret value of the role worker changes.",
                causes=[
                    Change(
                        place=Place(path="roles.worker.env.HF_TOKEN"),
                        before=MASKED,
                        after=CHANGED_MASK,
                    )
                ],
            ),
        ],
        "facts": [
            FACTS[0],
            Fact(key="data", number="1 claim deleted", text="sdxl-lora-dataset; 1 unchanged"),
            Fact(key="cost", number="unknown", text="The cost is not known: no price of a800."),
            Fact(key="queue", number="waits", text="24 nvidia.com/gpu missing, held by ml/llama-sft-20ab4c"),
        ],
        "cost": Cost(known=False, unknown="The cost is not known: no price of a800."),
        "capacity": Capacity(
            verdict="later",
            sentence="The pods fit when other jobs have finished.",
            basis="cluster",
            shortages=[
                Shortage(
                    resource="nvidia.com/gpu",
                    asked="32",
                    available="8",
                    missing="24",
                    holders=["ml/llama-sft-20ab4c", "ml/resnet-b35761"],
                )
            ],
        ),
        "objects": [
            *USUAL.objects,
            ObjectChange(
                operation="delete", kind="PersistentVolumeClaim", name="sdxl-lora-dataset", destructive=True
            ),
            ObjectChange(
                operation="update",
                kind="ConfigMap",
                name="sdxl-lora-deployed",
                destructive=False,
                fields=[FieldChange(path="data.experiment", before="{" + "x" * 400, after="{" + "y" * 500)],
            ),
            ObjectChange(
                operation="reconcile", kind="Widget", name="of-another-provider", destructive=False, fields_known=False
            ),
        ],
        "pictures": [PICTURE],
        "waivers": [
            WaiverUse(
                code="TF-COST-1",
                fingerprint="77aa1bb2cc3dd4e0",
                owner="team-lead",
                until="2026-12-31",
                reason="a deadline",
                state="applies",
            ),
            WaiverUse(
                code="TF-IMG-2",
                fingerprint="1234567890abcdef",
                owner="team-lead",
                until="2026-10-31",
                reason="the registry moves",
                state="expired",
                why="Its last day was 2026-10-31.",
            ),
        ],
        "not_checked": [NotChecked(what="preview", reason="A digest does not have the results of policies.")],
        "messages": [EngineMessage(severity="warning", text="the field will be removed", object="sdxl-lora-job")],
        "masked": 2,
    }
)  # fmt: skip
EMPTY = Report(
    stack="hello.dev",
    outcome=Outcome.clean,
    headline="Nothing changes.",
    facts=NONE,
    effects=[Effect(kind="none", thing="stack", object="hello.dev", sentence="Nothing changes.")],
    cost=Cost(),
    capacity=Capacity(verdict="unchanged", sentence="Nothing asks for more.", basis="none"),
)
FAILED = EMPTY.model_copy(
    update={
        "stack": "llama-sft.prod",
        "outcome": Outcome.failed,
        "headline": "The preview failed: incorrect passphrase",
        "failure": ["set PULUMI_CONFIG_PASSPHRASE to the passphrase of the stack"],
        "facts": [],
        "effects": [],
        "cost": Cost(known=False, unknown="The preview failed, so the cost is not known."),
        "capacity": Capacity(
            verdict="unknown",
            sentence="The preview failed, so it is not known whether the pods fit.",
            basis="none",
        ),
    }
)
CHEAPER = USUAL.model_copy(
    update={
        "stack": "resnet.prod",
        "headline": "Scales the elastic role worker 5 → 3 in place. -24.00 USD/h.",
        "outcome": Outcome.clean,
        "findings": [],
        "effects": [
            Effect(
                kind="scale",
                thing="job",
                object="resnet-b35761",
                sentence="Scales the elastic role worker 5 → 3 in place.",
            )
        ],
        "facts": [
            Fact(key="run", number="40 a800", text="resnet-b35761 keeps running with other replicas"),
            *NONE[1:2],
            Fact(key="cost", number="-24.00 USD/h", text="60.00 USD → 36.00 USD an hour, 2592.00 USD for 72 h"),
            Fact(key="queue", number="fits now"),
        ],
        "cost": Cost(
            before=usd("60.00"),
            after=usd("36.00"),
            difference=usd("-24.00"),
            percent="-40.0",
            prices_of="2026-08-01",
            price_age_days=114,
            hours="72",
            total=usd("2592.00"),
        ),
    }
)
SHARED = EMPTY.model_copy(
    update={
        "stack": "prod",
        "environment": "prod",
        "headline": "Changes the queue research because `environment.queues.research.weight` changes.",
        "facts": [Fact(key="run", number="2 experiments", text="used by resnet, sdxl-lora"), *NONE[1:]],
        "effects": [Effect(kind="update", thing="queue", object="research", sentence="Changes the queue research.")],
        "dependents": [
            Dependents(
                kind="Queue",
                object="research",
                stacks={"resnet.prod": "resnet", "sdxl-lora.prod": "sdxl-lora"},
                sentence="Queue research: resnet (resnet.prod), sdxl-lora (sdxl-lora.prod) use it.",
            ),
            Dependents(
                kind="PersistentVolumeClaim",
                object="datasets",
                stacks={},
                sentence="Claim datasets: no experiment of the project uses it.",
            ),
        ],
    }
)
SEVERAL = review_of([USUAL, EMPTY, CHEAPER])
ONE_FAILED = review_of([RICH, FAILED])
BASE = "6f1c0de5b7a24c9e8d3f52a1b0c4e7f9d8a61b35"
SELECTED = review_of(
    [USUAL, CHEAPER],
    Selection(
        since="origin/main",
        base=BASE,
        touched={
            "sdxl-lora.prod": ["stacks/Pulumi.sdxl-lora.prod.yaml", FILE],
            "resnet.prod": [f"components/vision/part_{number}.py" for number in range(7)],
        },
        removed=["bert.prod"],
    ),
)
NONE_TOUCHED = review_of([], Selection(since="origin/main", base=BASE, touched={}))
ONE_TOUCHED = review_of([EMPTY], Selection(since="v1.2", base=BASE, touched={"hello.dev": ["requirements.txt"]}))
