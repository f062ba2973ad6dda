"""A copy of the project in a folder of its own, with its own state, and the real `pulumi` to run in it."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.engine.differences import changed
from tests.support.leaks import leaks
from tests.support.repository import ROOT, read
from trainform.job.check import check_experiment
from trainform.job.render import RenderedJob
from trainform.local.sandbox.exports import NO_SIDECARS
from trainform.plan.model import Plan

PATIENCE = 600.0
PARTS_OF_REPLACE = ("create-replacement", "delete-replaced")  # beside the step `replace` itself
SSH_SECRET = "a secret of thirty-two characters"  # noqa: S105 - of the tests' stacks

# The path in previews of the record of what is deployed, which every change of an experiment updates in place.
RECORD = "data.experiment"


@dataclasses.dataclass(frozen=True)
class Ran:
    """A finished command; `output` has both streams in order."""

    code: int
    output: str

    def succeeded(self) -> str:
        """Return the output; fails the test with it where the command failed."""
        assert self.code == 0, self.output
        return self.output

    def failed(self) -> str:
        """Return the output; fails the test where the command did not fail, or failed with a traceback."""
        assert self.code != 0, self.output
        assert "Traceback" not in self.output, self.output
        return self.output


@dataclasses.dataclass(frozen=True)
class Step:
    """One step of a preview: what happens to which object, and at which paths: of a component, those of its inputs that
    differ."""

    op: str
    type: str
    name: str
    paths: tuple[str, ...]
    replaced_by: tuple[str, ...]

    @property
    def kind(self) -> str:
        """The last word of the type: `Job`."""
        return self.type.rpartition(":")[2]

    @property
    def in_cluster(self) -> bool:
        """False for a component, which is an update where the user has changed a field, beside what that makes of its
        objects."""
        return not self.type.startswith("trainform:index:")


def run(words: Sequence[str], folder: Path, environ: Mapping[str, str], timeout: float = PATIENCE) -> Ran:
    """Run a command to its end, without a terminal."""
    done = subprocess.run(
        words,
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=timeout,
        check=False,
    )
    return Ran(done.returncode, done.stdout)


@dataclasses.dataclass(frozen=True)
class Reviewed:
    """A `trainform review` that has ended. forms: `txt`, `md`, `html` and `json`, as far as there is a report, and what
    was `shown`."""

    code: int
    forms: Mapping[str, str]

    @property
    def report(self) -> dict[str, Any]:
        """The report on the first stack; fails the test with what was shown where there is none."""
        assert "json" in self.forms, self.forms["shown"]
        found: dict[str, Any] = json.loads(self.forms["json"])["stacks"][0]
        return found


class Project:
    """One Pulumi project. `namespace` is its own, so that tests never meet in the cluster."""

    def __init__(self, folder: Path, exports: Mapping[str, str], namespace: str) -> None:
        self.folder = folder
        self.namespace = namespace
        state = folder / "state"
        state.mkdir(parents=True)
        self.environ = {
            **os.environ,
            **exports,
            "PULUMI_BACKEND_URL": f"file://{state}?{NO_SIDECARS}",
            "PULUMI_CONFIG_PASSPHRASE": "correct horse battery staple",
            "PULUMI_OPTION_SUPPRESS_PROGRESS": "true",  # its dots may stand before a row, in the same line
        }
        self.environ.pop("PULUMI_CONFIG_PASSPHRASE_FILE", None)
        self.secrets = {self.environ["PULUMI_CONFIG_PASSPHRASE"]}
        definition = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())
        definition["runtime"]["options"]["virtualenv"] = sys.prefix
        (folder / "Pulumi.yaml").write_text(yaml.safe_dump(definition))
        (folder / "stacks" / "experiments").mkdir(parents=True)
        (folder / "stacks" / "environments").mkdir()
        shutil.copy(ROOT / "stacks" / "__main__.py", folder / "stacks")

    @contextlib.contextmanager
    def as_version(self, version: str) -> Iterator[None]:
        """What runs meanwhile takes trainform for one of this version."""
        information = self.folder / f"trainform {version}" / f"trainform-{version}.dist-info" / "METADATA"
        information.parent.mkdir(parents=True, exist_ok=True)
        information.write_text(f"Metadata-Version: 2.1\nName: trainform\nVersion: {version}\n")
        before = self.environ.get("PYTHONPATH")
        self.environ["PYTHONPATH"] = str(information.parent.parent)
        try:
            yield
        finally:
            del self.environ["PYTHONPATH"]
            self.environ |= {} if before is None else {"PYTHONPATH": before}

    def environment(self, **changes: Any) -> None:
        """Write the environment `dev`: that of the repository in this project's namespace, with changes."""
        data = read("environments", "dev")
        data |= {"namespace": {"name": self.namespace, "create": False}, "queues": {}, "claims": {}}
        for kind in data["accelerators"].values():
            kind["price_per_hour"]["as_of"] = datetime.datetime.now(datetime.UTC).date()  # an old one is a finding
        self._write("environments", "dev", data | changes)

    def experiment(self, name: str, data: Mapping[str, Any]) -> None:
        """Write an experiment."""
        self._write("experiments", name, {"name": name, **data})

    def copied(
        self, name: str, edit: Callable[[dict[str, Any]], object] = lambda data: None, called: str | None = None
    ) -> None:
        """Write a teaching experiment of the repository, edited, under its own name or another."""
        data = read("experiments", name)
        data.pop("environments", None)  # of which this project has `dev` alone
        edit(data)
        written = name if called is None else called
        self._write("experiments", written, data | {"name": written})

    def stack(self, experiment: str | None = None, run: int | None = None) -> str:
        """Make the stack of an experiment in `dev`, or with None that of `dev` itself; its name."""
        name = "dev" if experiment is None else f"{experiment}.dev"
        config: dict[str, Any] = {"trainform:environment": "dev"}
        config |= {} if experiment is None else {"trainform:experiment": experiment}
        config |= {} if run is None else {"trainform:run": run}
        path = self.folder / "stacks" / f"Pulumi.{name}.yaml"
        fresh = not path.exists()
        content = {} if fresh else yaml.safe_load(path.read_text())
        path.write_text(yaml.safe_dump({**content, "config": config}))
        if fresh:
            self.pulumi("stack", "init", name).succeeded()
        return name

    def program_stack(self, name: str, config: Mapping[str, Any]) -> str:
        """Make a stack of a program of the test's own, with this config."""
        content = {"config": {"trainform:environment": "dev", **config}}
        (self.folder / "stacks" / f"Pulumi.{name}.yaml").write_text(yaml.safe_dump(content))
        self.pulumi("stack", "init", name).succeeded()
        return name

    def ssh_secret(self, stack: str, *words: str, value: str = SSH_SECRET) -> Ran:
        """Set the stack's secret from which SSH keys are derived; encrypted, unless `words` say otherwise."""
        how = words if words else ("--secret",)
        self.secrets.add(value)
        return self.pulumi("config", "set", *how, "trainform:sshSecret", value, "-s", stack)

    def plan(self, experiment: str) -> Plan:
        """Return the plan of an experiment in `dev`."""
        return self.rendered(experiment).plan

    def rendered(self, experiment: str) -> RenderedJob:
        """Plan and objects of an experiment in `dev`."""
        return check_experiment(experiment, "dev", root=self.folder).or_raise()

    def pulumi(self, *words: str, timeout: float = PATIENCE, **environ: str) -> Ran:
        """Run the real engine."""
        return self.run("pulumi", *words, "--non-interactive", timeout=timeout, **environ)

    def run(self, *words: str, timeout: float = PATIENCE, **environ: str) -> Ran:
        """Run any command with the project's environment."""
        return run(words, self.folder, {**self.environ, **environ}, timeout)

    def trainform(self, *words: str, timeout: float = PATIENCE, **environ: str) -> Ran:
        """Run trainform with the project's environment."""
        return self.run(sys.executable, "-m", "trainform", *words, timeout=timeout, **environ)

    def review(self, *words: str) -> Reviewed:
        """`trainform review` of what the words name, in every form. Fails the test where one of them holds a secret of
        this project."""
        files = {form: self.folder / f"review.{form}" for form in ("txt", "md", "html", "json")}
        for file in files.values():
            file.unlink(missing_ok=True)
        named = [word for file in files.values() for word in ("-o", str(file))]
        ran = self.trainform("review", *named, *words)
        assert "Traceback" not in ran.output, ran.output
        forms = {form: file.read_text() for form, file in files.items() if file.exists()} | {"shown": ran.output}
        assert leaks(forms, self.secrets) == []
        return Reviewed(ran.code, forms)

    def up(self, stack: str, *words: str) -> str:
        """`pulumi up` without asking; its output."""
        return self.pulumi("up", "--yes", "--skip-preview", "-s", stack, *words).succeeded()

    def destroy(self, stack: str) -> str:
        """`pulumi destroy` without asking; its output."""
        return self.pulumi("destroy", "--yes", "--skip-preview", "-s", stack).succeeded()

    def steps(self, stack: str) -> list[Step]:
        """Return what a preview would change in the cluster."""
        return [step for step in self.preview(stack) if step.op != "same" and step.in_cluster]

    def preview(self, stack: str) -> list[Step]:
        """Return every step of a preview."""
        ran = self.pulumi("preview", "--json", "-s", stack)
        assert ran.code == 0, ran.output
        steps = json.loads(ran.output[ran.output.index("{") :])["steps"]
        return [_step(step, step.get("replaceReasons"), step.get("oldState"), step.get("newState")) for step in steps]

    def applied(self, stack: str, *, whole: bool = True) -> list[Step]:
        """`pulumi up`, and what it changed in the cluster: the steps that a preview before it would show, for half of
        the time. whole: False for the parts of replacements too, in their order."""
        log = self.folder / "events.json"
        self.pulumi(
            "up", "--yes", "--skip-preview", "-s", stack, "--event-log", str(log), PULUMI_DEBUG_COMMANDS="true"
        ).succeeded()
        events = [json.loads(line) for line in log.read_text().splitlines()]
        log.unlink()
        done = [event["resourcePreEvent"]["metadata"] for event in events if "resourcePreEvent" in event]
        left_out = {"same", *PARTS_OF_REPLACE} if whole else {"same"}
        found = [step for step in done if step["op"] not in left_out]
        steps = [_step(step, step.get("keys"), step.get("old"), step.get("new")) for step in found]
        return [step for step in steps if step.in_cluster]

    def unchanged(self, stack: str) -> None:
        """Fail where a preview shows any change."""
        self.pulumi("preview", "--expect-no-changes", "--diff", "-s", stack).succeeded()

    def _write(self, folder: str, name: str, data: Mapping[str, Any]) -> None:
        (self.folder / "stacks" / folder / f"{name}.yaml").write_text(yaml.safe_dump(dict(data), sort_keys=False))


State = Mapping[str, Any] | None


def _step(data: Mapping[str, Any], replaced_by: Iterable[str] | None, old: State, new: State) -> Step:
    """Return a step as the engine writes it into previews and events."""
    kind, name = data["urn"].split("::")[2:4]
    paths = data.get("detailedDiff") or ({} if old is None or new is None else _changed_inputs(old, new))
    return Step(data["op"], kind.rpartition("$")[2], name, tuple(sorted(paths)), tuple(replaced_by or ()))


def _changed_inputs(old: Mapping[str, Any], new: Mapping[str, Any]) -> set[str]:
    """Paths of the inputs that differ: only providers say them by themselves."""
    before, after = (state.get("inputs", {}) for state in (old, new))
    both = [*changed(before, after), *changed(after, before)]
    return {difference.partition(":")[0].removeprefix(".") for difference in both}
