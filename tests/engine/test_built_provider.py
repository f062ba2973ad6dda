"""The components of the provider that is built from sources: its build replaces the generated Go SDK that they are written with."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.engine.live import Live
from tests.engine.project import Project

pytestmark = pytest.mark.proof("components of the provider that trainform does not use")

PROGRAM = """\
import pulumi
from pulumi_kubernetes.helm.v4 import Chart, PostRendererArgs, RepositoryOptsArgs
from pulumi_kubernetes.yaml.v2 import ConfigGroup

metadata = {{"namespace": "{namespace}", "name": "notes"}}
objects = [{{"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {{"text": "hello"}}}}]
ConfigGroup("objects", objs=objects)
renderer = PostRendererArgs(command="sed", args=["s/chart/post-rendered chart/"])
Chart("chart", namespace="{namespace}", chart="{chart}", post_renderer=renderer)
if pulumi.Config("trainform").get_bool("repository"):
    Chart("remote", chart="bert", repository_opts=RepositoryOptsArgs(repo="http://127.0.0.1:9"))
"""


def test_objects_and_a_chart_with_its_options_are_registered(project: Project, live: Live, tmp_path: Path) -> None:
    chart = tmp_path / "corpus"
    (chart / "templates").mkdir(parents=True)
    (chart / "Chart.yaml").write_text(yaml.safe_dump({"apiVersion": "v2", "name": "corpus", "version": "1.0.0"}))
    claim = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "corpus"}, "data": {"text": "from a chart"}}
    (chart / "templates" / "notes.yaml").write_text(yaml.safe_dump(claim))
    (project.folder / "stacks" / "__main__.py").write_text(PROGRAM.format(namespace=project.namespace, chart=chart))
    stack = project.program_stack("charts", {})
    project.up(stack)
    assert live.get("configmaps", "notes", project.namespace)["data"] == {"text": "hello"}
    assert live.get("configmaps", "corpus", project.namespace)["data"] == {"text": "from a post-rendered chart"}
    project.unchanged(stack)
    project.pulumi("config", "set", "trainform:repository", "true", "-s", stack).succeeded()
    refused = project.pulumi("preview", "-s", stack)  # Pulumi may interrupt the program at its end, which then says so
    assert refused.code != 0
    assert "http://127.0.0.1:9/index.yaml" in refused.output
    project.destroy(stack)
