"""A runtime of Kubeflow Trainer's that somebody else owns."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, PrivateAttr

from trainform.spec.model import Model, NonEmpty
from trainform.spec.names import Subdomain


class Runtime(Model):
    """An existing runtime of Kubeflow Trainer's: the pods are then the runtime's, and the TrainJob says what it may."""

    name: Subdomain = Field(description="Name of the runtime in the cluster. A change makes a new revision.")
    kind: Literal["ClusterTrainingRuntime", "TrainingRuntime"] = Field(
        default="ClusterTrainingRuntime",
        description="Of the whole cluster, or of the namespace. Default ClusterTrainingRuntime, as in Trainer. A change makes a new revision.",
    )
    file: NonEmpty | None = Field(
        default=None,
        description="YAML file with the same runtime; a relative path counts from the project's folder. With it `trainform check` knows what `up` "
        "would find. Empty: only `up` reads the runtime, from the cluster. Changes no object.",
    )
    # what the file holds; only `spec.load` reads files
    _content: dict[str, Any] | None = PrivateAttr(default=None)

    @property
    def content(self) -> dict[str, Any] | None:
        """The object in the file, None where none was read."""
        return self._content

    def with_content(self, content: dict[str, Any]) -> Self:
        """The same with what its file holds."""
        read = self.model_copy()
        read._content = content
        return read
