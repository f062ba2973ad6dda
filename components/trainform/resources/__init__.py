"""Rendered manifests become registered resources of Pulumi."""

from trainform.resources.components import Rendezvous, RoleGroup, SharedStorage, TrainingQueue
from trainform.resources.platform import Platform
from trainform.resources.ssh_identity import SshIdentity
from trainform.resources.training_job import TrainingJob

__all__ = ["Platform", "Rendezvous", "RoleGroup", "SharedStorage", "SshIdentity", "TrainingJob", "TrainingQueue"]
