"""The policy pack: a policy for each rule of the table, at the level that the environment of the stack gives it."""

from __future__ import annotations

import dataclasses
import datetime
import functools
import io
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

from pulumi.runtime.config import get_config_env
from pulumi_policy import (
    EnforcementLevel,
    Policy,
    PolicyPack,
    ReportViolation,
    ResourceValidationArgs,
    ResourceValidationPolicy,
)
from pulumi_policy import policy as sdk
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError

from trainform.check import check_environment
from trainform.errors import CommandLineError, TrainformError
from trainform.escaping import escaped
from trainform.policy_pack.judgement import Resource, Verdict, environment_verdict, unseen, verdict
from trainform.policy_pack.properties import CHARTS, is_patch, kubernetes_object
from trainform.project import project_root
from trainform.rules.limits.table import RULES
from trainform.spec.environment import Environment
from trainform.spec.names import LABEL
from trainform.spec.stack import NAMESPACE

NAME = "trainform"
CONFIG = f"{NAMESPACE}:environment"
VARIABLE = "TRAINFORM_ENVIRONMENT"
LEVELS = {
    "error": EnforcementLevel.MANDATORY,
    "warning": EnforcementLevel.ADVISORY,
    "off": EnforcementLevel.DISABLED,
}
STACK = "pulumi:pulumi:Stack"
Judge = Callable[[Resource], Verdict]


class NotCheckedError(UnknownValueError):
    """A policy cannot judge a resource in a preview. The SDK makes an advisory message of it, whatever the policy's level is."""

    def __init__(self, message: str) -> None:
        super().__init__(UNKNOWN_STRING_VALUE, [])
        self.message = message


def run(program: str) -> None:
    """Serve the policies to the engine. program: the file of the pack, from which the project with its environments is found."""
    root = project_root(Path(program).resolve().parent)
    served = policies(root, get_config_env())

    # The SDK keeps nothing of what the engine says about the stack but its tags. Its class is private, and its release is locked.
    class Servicer(sdk._PolicyAnalyzerServicer):
        def ConfigureStack(self, request: Any, context: Any) -> Any:  # noqa: N802 - the name in the protocol
            served[:] = policies(root, request.config, dry_run=request.dry_run)
            return super().ConfigureStack(request, context)

    sys.stdout = _unbuffered(sys.stdout)
    setattr(sdk, "_PolicyAnalyzerServicer", Servicer)  # noqa: B010 - an assignment to a class is none to the type checker
    PolicyPack(NAME, policies=served)


def _unbuffered(stream: TextIO) -> TextIO:
    """The stream as `python -u` has it. The engine waits for the number of the port, which the SDK prints and never flushes."""
    return io.TextIOWrapper(io.FileIO(stream.fileno(), "wb", closefd=False), stream.encoding, write_through=True)


def policies(root: Path, config: Mapping[str, Any], *, dry_run: bool = False) -> list[Policy]:
    """The policies of a stack with this config. Without a valid environment there is one policy, which no stack passes. dry_run: True in a
    preview, where values may be unknown."""
    try:
        environment = check_environment(environment_name(config), root).checked()
    except TrainformError as error:
        return [_without_environment("\n".join(error.lines()))]
    today = datetime.datetime.now(datetime.UTC).date()
    judges = {rule: functools.partial(verdict, rule, environment=environment, today=today) for rule in RULES}
    of_rules = [
        ResourceValidationPolicy(
            rule.code, rule.title, _validation(judge, dry_run), LEVELS[rule.severity_in(environment)]
        )
        for rule, judge in judges.items()
    ]
    return [_own_environment(environment, dry_run), *of_rules]


def environment_name(config: Mapping[str, Any]) -> str:
    """The environment of the stack: its config `trainform:environment`, or else the variable TRAINFORM_ENVIRONMENT. Raises CommandLineError if
    neither is set, and for the path of a file."""
    name = config.get(CONFIG) or os.environ.get(VARIABLE)
    if name and not re.fullmatch(LABEL, str(name)):
        raise CommandLineError(
            "a stack is judged by an environment of the project that has the policy pack, not by any file",
            f"write the name of a file in stacks/environments as {CONFIG}, without its folder and its ending",
        )
    if name:
        return str(name)
    raise CommandLineError(
        "nothing says by the limits of which environment this stack is judged",
        f"pulumi config set {CONFIG} NAME, or set {VARIABLE}; NAME is a file in stacks/environments, beside the policy pack",
    )


def _without_environment(problems: str) -> Policy:
    """The policy that no stack passes."""

    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        if args.resource_type == STACK:
            report(problems, None)

    title = "A stack belongs to an environment, by whose limits it is judged."
    return ResourceValidationPolicy("environment", title, validate, EnforcementLevel.MANDATORY)


def _own_environment(environment: Environment, dry_run: bool) -> Policy:
    """All objects that trainform rendered are of the environment by which they are judged."""

    def judge(resource: Resource) -> Verdict:
        found = environment_verdict(resource, environment)
        return dataclasses.replace(found, elsewhere=tuple(unseen(resource)))

    title = "All objects of a stack belong to its environment."
    return ResourceValidationPolicy("environment", title, _validation(judge, dry_run), EnforcementLevel.MANDATORY)


def _validation(judge: Judge, dry_run: bool) -> Callable[[ResourceValidationArgs, ReportViolation], None]:
    """What the SDK calls for each resource. Outside a preview everything is known; what is not is a violation then."""

    def validate(args: ResourceValidationArgs, report: ReportViolation) -> None:
        if args.resource_type in CHARTS:
            raise NotCheckedError(
                f"{args.name} is not checked: its provider makes the objects of the chart, which nobody sees here"
            )
        body = kubernetes_object(args.resource_type, args.props)
        if body is None:
            return
        parent = "" if args.opts.parent is None else args.opts.parent
        found = judge(Resource(args.name, body, parent, is_patch(args.resource_type)))
        for message in found.found:
            report(escaped(message), None)
        for message in () if dry_run else found.not_known:
            report(escaped(message), None)
        open_ends = [*found.not_known, *found.elsewhere]
        if open_ends:
            raise NotCheckedError(escaped(f"{args.name} is not checked in full: {'; '.join(open_ends)}"))

    return validate
