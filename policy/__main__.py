"""The policy pack: `pulumi preview --policy-pack policy` judges every stack by the limits of its environment."""

from trainform.resources.policy_pack.program import run

run(__file__)
