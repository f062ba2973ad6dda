"""`trainform new`."""

from __future__ import annotations

import re
import shlex
from typing import Annotated, Any

from trainform import defaults
from trainform.cli import candidates
from trainform.cli.app import prints
from trainform.cli.arguments import DATA, Form, StackEnvironmentOption, argument, option
from trainform.cli.created_files import show_created_files
from trainform.cli.jobs import MISSING_ENVIRONMENT, only_environment
from trainform.cli.new_stack import EXISTS_FIX, add_stack, copy_experiment, engine_commands, name_in_stack
from trainform.console.lines import note
from trainform.errors import CommandLineError, InputError, Problem
from trainform.job.check import check_environment, check_experiment
from trainform.local.scaffold.new_environment import environment_text, skeleton
from trainform.local.scaffold.new_experiment import LauncherName, NewExperiment, placeholder_image, stack_text
from trainform.local.scaffold.writing import write_files
from trainform.project import EXPERIMENTS, deploy, require_project
from trainform.spec.environment import Environment
from trainform.spec.experiment import Experiment
from trainform.spec.load import Text, project_root
from trainform.spec.names import LABEL, MEANING, SERVICE_LABEL, is_label, matches
from trainform.spec.trial import read_assignments

ENVIRONMENT_EXISTS_FIX = (
    "choose another name, or edit that file; for a new experiment there: trainform new EXPERIMENT -e {name}"
)
CHECKED_IMAGE = f"checked@sha256:{'0' * 64}"  # for the check, which refuses the placeholder

NAME = "Name of the experiment: lower-case letters, digits, '-'. Without it, a new environment is written."
IMAGE = "Container image. Default: a placeholder in the environment's first registry."
LAUNCHER = f"What starts the processes: {', '.join(LauncherName)}. Default: torchrun."
ACCELERATORS = "For each pod. Default: a full node of the environment's first kind."
QUEUE = (
    "Queue of the job; with Kueue a LocalQueue of the namespace. Default: the environment's first queue, else "
    "`default`."
)
CONTEXT = (
    "For a new environment: read accelerators, nodes, storage classes, operator and queues from the cluster of this "
    "kubeconfig context."
)
FROM = (
    "Copy this experiment with its comments: its name, or the path of its file. -e is optional if only one environment "
    "has it."
)
FIELDS = "With --from: set a field of the copy, as with `check --set`: roles.worker.replicas=2. May be repeated."
NameArgument = Annotated[str | None, argument("EXPERIMENT", NAME, candidates.experiments)]
ImageOption = Annotated[str | None, option("IMAGE", IMAGE)]
LauncherOption = Annotated[LauncherName | None, option("LAUNCHER", LAUNCHER)]
NodesOption = Annotated[int | None, option("N", "Pods that compute. Default: 2.", min=1)]
AcceleratorsOption = Annotated[str | None, option("KIND:COUNT", ACCELERATORS)]
QueueOption = Annotated[str | None, option("QUEUE", QUEUE)]
ContextOption = Annotated[str | None, option("CONTEXT", CONTEXT, "--from-context")]
FromOption = Annotated[str | None, option("EXPERIMENT", FROM, "--from", autocompletion=candidates.experiments)]
SetOption = Annotated[list[str] | None, option("PATH=VALUE", FIELDS, "--set")]


@prints(*DATA)
def command(
    name: NameArgument = None,
    environment: StackEnvironmentOption = None,
    image: ImageOption = None,
    launcher: LauncherOption = None,
    nodes: NodesOption = None,
    accelerators: AcceleratorsOption = None,
    queue: QueueOption = None,
    context: ContextOption = None,
    source: FromOption = None,
    fields: SetOption = None,
    *,
    form: Form,
) -> None:
    """Write the files of a new experiment or environment.

    The files of an experiment are stacks/experiments/EXPERIMENT.yaml and stacks/Pulumi.EXPERIMENT.ENV.yaml. Nothing is
    overwritten. An existing experiment gets a stack for ENV. A copy (--from) is checked before it is written.

    Without EXPERIMENT, the files of a new environment are written: stacks/environments/ENV.yaml and
    stacks/Pulumi.ENV.yaml, with examples in comments; with --from-context, they have the nodes, queues and storage
    classes of a live cluster.
    """
    as_json = form is Form.JSON
    options = {
        "--image": image,
        "--launcher": launcher,
        "--nodes": nodes,
        "--accelerators": accelerators,
        "--queue": queue,
        "--from": source,
        "--set": " ".join(fields) if fields else None,
    }
    options = {option: value for option, value in options.items() if value is not None}
    if environment is None:
        if source is None:
            raise CommandLineError(MISSING_ENVIRONMENT, "name one with -e")
        environment = only_environment(source, project_root())
    texts = {**options, "--environment": environment, "--from-context": context}
    undecoded = {option: text for option, text in texts.items() if isinstance(text, str) and not _is_utf8(text)}
    _refuse_options(undecoded, "is not valid UTF-8", "write it in UTF-8")
    if name is None:
        _refuse_options(options, "is an option of a new experiment", "name the experiment, or remove it")
        _new_environment(environment, context, as_json)
        return
    if context is not None:
        fix = f"remove {name}, or this option"
        _refuse_options({"--from-context": context}, "is an option of a new environment", fix)
    if not matches(SERVICE_LABEL, name):
        reason, fix = MEANING[SERVICE_LABEL]
        raise InputError([Problem("EXPERIMENT", name, f"the name {reason}", fix)])
    root = project_root()
    if source is not None:
        others = {option: value for option, value in options.items() if option not in ("--from", "--set")}
        _refuse_options(others, "is not an option of a copy", "set the field with --set, such as --set image=IMAGE")
        copy_experiment(name, source, read_assignments(fields or ()), environment, root, as_json)
        return
    if fields:
        raise CommandLineError("--set sets a field of a copy", "add --from EXPERIMENT")
    if not options and (root / "stacks" / EXPERIMENTS / f"{name}.yaml").is_file():
        add_stack(name, environment, root, as_json)
        return
    target = check_environment(environment).or_raise()
    request = NewExperiment(
        name,
        target.name,
        LauncherName.TORCHRUN if launcher is None else launcher,
        2 if nodes is None else nodes,
        _full_node(target) if accelerators is None else _accelerators(accelerators),
        _first_queue(target) if queue is None else queue,
    )
    open_points = [] if image is not None else ["its image is a placeholder, which no check accepts"]
    if queue is None and target.admission == defaults.KUEUE:  # the environment's file does not list LocalQueues
        open_points.append(f"its queue must be a LocalQueue of the namespace {target.namespace.name}")
    _new_experiment(request, image, target, environment, open_points, as_json)


def _first_queue(target: Environment) -> str | None:
    return None if target.admission == defaults.NONE else next(iter(target.queues), defaults.QUEUE)


def _new_experiment(
    request: NewExperiment,
    image: str | None,
    target: Environment,
    environment: str,
    open_points: list[str],
    as_json: bool,
) -> None:
    root = project_root()
    named = name_in_stack(environment, root)
    check_environment(named, root).or_raise()  # with the name that the stack will have
    registry = next(iter(target.limits.registries), None)
    # the file is checked with a valid image before it is written with the placeholder
    checked = placeholder_image(registry, CHECKED_IMAGE) if image is None else image
    request, experiment = _first_valid(request, checked, target)
    path, stack = f"stacks/experiments/{request.name}.yaml", f"{request.name}.{target.name}"
    files = {
        path: request.text(placeholder_image(registry) if image is None else image),
        f"stacks/Pulumi.{stack}.yaml": stack_text(named, request.name),
    }
    written = write_files(root, files, EXISTS_FIX.format(name=request.name, environment=shlex.quote(environment)))
    points = f" ({'; '.join(open_points)})" if open_points else ""
    plan = f"trainform plan {request.name} -e {shlex.quote(environment)}"
    following = [plan, *engine_commands(stack, experiment.launcher.over_ssh is not None, target)]
    show_created_files(written, {f"next: edit {path}{points}, then": following}, as_json)


def _new_environment(name: str, context: str | None, as_json: bool) -> None:
    if not is_label(name):
        reason, fix = MEANING[LABEL]
        raise InputError([Problem("--environment", name, f"the name {reason}", fix)])
    root = require_project()
    text = skeleton(name) if context is None else _from_context(name, context)
    model = check_environment(Text("", text)).or_raise()
    path = f"stacks/environments/{name}.yaml"
    files = {path: text, f"stacks/Pulumi.{name}.yaml": stack_text(name)}
    written = write_files(root, files, ENVIRONMENT_EXISTS_FIX.format(name=name))
    deployment = [deploy(name)] if model.namespace.create else []
    following = {
        f"next: edit {path}, then": [f"trainform doctor -e {name}", *deployment],
        f"and for each new experiment: trainform new EXPERIMENT -e {name}": [],
    }
    show_created_files(written, following, as_json)


def _from_context(name: str, context: str) -> str:
    """Return the text of the environment, with a note for what could not be read."""
    from trainform.cluster.survey import survey

    if not context:
        raise InputError([Problem("--from-context", None, "is empty", "name one of `kubectl config get-contexts`")])
    found = survey(context)
    note(*(f"note: {what}" for what in found.unread), err=True)
    return environment_text(name, found)


def _refuse_options(options: dict[str, Any], reason: str, fix: str) -> None:
    if options:
        raise InputError([Problem(option, value, reason, fix) for option, value in options.items()])


def _is_utf8(text: str) -> bool:
    return text.encode(errors="replace").decode() == text


def _full_node(environment: Environment) -> tuple[str, int] | None:
    kind = next(iter(environment.accelerators), None)
    per_node = None if kind is None else environment.accelerators[kind].per_node
    return None if kind is None else (kind, 1 if per_node is None else per_node)


def _accelerators(option: str) -> tuple[str, int] | None:
    kind, _, count = option.partition(":")
    if not is_label(kind) or re.fullmatch("[0-9]{1,9}", count) is None:
        fix = "write it like a800:8, with at most 9 of the digits 0 to 9"
        raise InputError([Problem("--accelerators", option, "is not KIND:COUNT", fix)])
    return (kind, int(count)) if int(count) else None


def _first_valid(request: NewExperiment, image: str, environment: Environment) -> tuple[NewExperiment, Experiment]:
    """Return the simplest layout that passes `check`, and its model. Raises `InputError` with the problems of the first
    layout if none passes."""
    problems = []
    for layout in request.layouts:
        checked = check_experiment(Text("", layout.text(image)), environment)
        if not checked.problems:
            return layout, checked.or_raise().experiment
        problems.append(checked.problems)
    raise InputError(problems[0])
