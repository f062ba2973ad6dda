"""What Volcano's svc plugin adds to every container: its files, and the lists of hosts as variables. What they leave no
room for is refused.

Source: Volcano 1.14.1, pkg/controllers/job/plugins/svc (`GenerateHosts`): of each task a variable and a file with all
its hosts, in one ConfigMap.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from trainform import defaults
from trainform.backends.volcano.controller import host_variables
from trainform.errors import Problem
from trainform.plan.model import Plan, RolePlan


def host_problems(plan: Plan) -> Iterator[Problem]:
    """Problems with lists of hosts that let no program start, or are too long for the ConfigMap."""
    written = 0
    for role in plan.roles:
        sizes = dict(_lists(plan, role))
        written += 2 * sum(sizes.values())
        name, size = max(sizes.items(), key=lambda item: len(item[0]) + item[1])
        size += len(f"{name}=")
        if size > defaults.LONGEST_WORD:
            reason = (
                f"Volcano gives every container the addresses of the role in {name}, which are {size} bytes; Linux "
                f"starts no program with a variable of more than {defaults.LONGEST_WORD}"
            )
            fix = f"write {role.replicas * defaults.LONGEST_WORD // size} or less, or use another backend"
            yield Problem(f"roles.{role.name}.replicas", role.replicas, reason, fix)
    if written > defaults.LARGEST_OBJECT:
        reason = (
            f"Volcano writes the addresses of all pods twice into one ConfigMap, which are {written} bytes; "
            f"Kubernetes takes at most {defaults.LARGEST_OBJECT}"
        )
        yield Problem("roles", None, reason, "use fewer replicas, or another backend")


def _lists(plan: Plan, role: RolePlan) -> Iterator[tuple[str, int]]:
    """The variable with the hosts of each of the role's tasks, and how many bytes they are: names and commas."""
    pods = plan.pods_of(role)
    for group in role.groups():
        addresses = [pod.address for pod in itertools.islice(pods, group.replicas)]
        yield host_variables(group.name)[0], len(",".join(addresses))


def hosts_of_separate_tasks(plan: Plan) -> dict[str, str]:
    """The hosts, and their number, of each role whose replicas are separate tasks: the plugin lists hosts by task, not
    by role. They are in a ConfigMap, since in the templates they would take space with the square of the replicas."""
    values: dict[str, str] = {}
    for role in plan.roles:
        if role.per_replica:
            hosts = [pod.address for pod in plan.pods_of(role)]
            values |= dict(zip(host_variables(role.name), (",".join(hosts), str(len(hosts))), strict=True))
    return values
