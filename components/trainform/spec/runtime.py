"""A runtime that somebody else owns, for a backend that has runtimes."""

from typing import Any, Literal, Self

from pydantic import Field, PrivateAttr

from trainform.spec.metadata import OnChange
from trainform.spec.model import Model, NonEmpty
from trainform.spec.names import Subdomain


class Runtime(Model):
    """An existing runtime: the pods are the runtime's then, and the job object changes of them what it may."""

    name: Subdomain = Field(json_schema_extra=OnChange.NEW_REVISION, description="Name of the runtime in the cluster.")
    kind: Literal["ClusterTrainingRuntime", "TrainingRuntime"] = Field(
        default="ClusterTrainingRuntime",
        json_schema_extra=OnChange.NEW_REVISION,
        description="Of the whole cluster, or of the namespace.",
    )
    file: NonEmpty | None = Field(
        default=None,
        json_schema_extra=OnChange.NO_OBJECT,
        description="YAML file with the same runtime; a relative path counts from the project's folder. With it "
        "`trainform check` knows what `up` would find. Empty: only `up` reads the runtime, from the "
        "cluster.",
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
