"""The table of add-ons, and their webhook configurations on loopback. No cluster runs."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from msgspec import structs

from trainform.errors import InputError
from trainform.local.sandbox.addons import add_dependencies, chosen_addons
from trainform.local.sandbox.addons.addon import InstalledAddOn, Webhooks, webhook_configurations
from trainform.local.sandbox.addons.addon_table import ADDONS
from trainform.local.sandbox.certificates import Certificates, WebhookCertificates
from trainform.local.sandbox.components import COMPONENTS, PORTS, Context
from trainform.local.sandbox.folder import Layout
from trainform.local.sandbox.ports import LOOPBACK
from trainform.local.toolchain.addons import ADDON_PARTS
from trainform.local.toolchain.tools import BuiltPart

PODS = {"matchLabels": {"ours": "yes"}}
MANIFESTS = """\
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: mutating-webhook-configuration}
webhooks:
- name: mjob.example.com
  admissionReviewVersions: [v1]
  failurePolicy: Fail
  sideEffects: None
  clientConfig: {service: {name: webhook-service, namespace: system, path: /mutate-job}}
  rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]
- name: mpod.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: webhook-service, namespace: system, path: /mutate-pod}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
- name: mother.example.com
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {name: webhook-service, namespace: system, path: /mutate-other}}
  rules: [{apiGroups: [example.com], apiVersions: [v1], operations: [CREATE], resources: [jobs, others]}]
"""


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["kubedl,kubeflow"], ("kubeflow", "kubedl")),
        (["jobset", "kueue , jobset"], ("kueue", "jobset")),
        ([], ()),
        ([","], ()),
    ],
)
def test_add_on_names_are_separated_by_commas_or_by_repeated_options(words: list[str], names: tuple[str, ...]) -> None:
    assert chosen_addons(words) == names


def test_unknown_add_on_names_are_refused_with_the_known_names() -> None:
    with pytest.raises(InputError) as caught:
        chosen_addons(["kubeflow,ray", "Kueue"])
    [problem] = caught.value.problems
    assert (problem.value, problem.reason) == ("ray, Kueue", "are not add-ons of the sandbox")
    assert problem.fix == "choose from kueue, kubeflow, mpi-operator, jobset, trainer, kubedl, kube-scheduler"
    assert caught.value.exit_code == 2


def test_unknown_add_on_names_are_refused_before_the_folder_is_made(tmp_path: Path) -> None:
    folder = tmp_path / "sandbox"
    words = ["sandbox", "up", "--with", "kubeflow,ray", "--folder", str(folder)]
    refused = subprocess.run([sys.executable, "-m", "trainform", *words], capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "ray" in refused.stderr
    assert "choose from kueue, kubeflow, mpi-operator" in refused.stderr
    assert not folder.exists()


def test_dependencies_of_add_ons_are_added() -> None:
    assert add_dependencies(["trainer"]) == ("jobset", "trainer", "kube-scheduler")
    assert add_dependencies(["kubeflow", "kubedl"]) == ("kubeflow", "mpi-operator", "kubedl")


def test_each_program_is_built_by_its_part_and_names_and_ports_are_unique() -> None:
    assert {addon.part for addon in ADDONS.values()} == set(ADDON_PARTS)
    for addon in ADDONS.values():
        assert addon.component.binary in addon.part.binaries
        assert addon.component.port in addon.ports
    names = [row.name for row in (*COMPONENTS, *(addon.component for addon in ADDONS.values()))]
    assert len(set(names)) == len(names)
    ports = [*PORTS, *(port for addon in ADDONS.values() for port in addon.ports)]
    assert len(set(ports)) == len(ports)


def _context(folder: Path) -> Context:
    layout = Layout(folder)
    ports = {port: number for number, port in enumerate((p for a in ADDONS.values() for p in a.ports), start=20_001)}
    return Context(layout, Certificates(layout.pki), ports, (), folder / "none", folder / "none")


@pytest.mark.parametrize("name", ADDONS)
def test_add_ons_are_configured_with_loopback_and_their_own_ports_only(name: str, tmp_path: Path) -> None:
    addon, context = ADDONS[name], _context(tmp_path)
    text = " ".join(addon.component.arguments(context))
    if addon.configuration is not None:
        text += f" {addon.configuration(context)}"
    assert re.findall(r"\b\d+\.\d+\.\d+\.\d+\b", text) == [LOOPBACK] * text.count(LOOPBACK)
    assert LOOPBACK in text
    used = {int(number) for number in re.findall(r"\b20\d{3}\b", text)}
    assert used == {context.ports[port] for port in addon.ports}


@pytest.mark.parametrize("mpi_operator", [True, False])
def test_one_operator_runs_mpi_jobs(mpi_operator: bool, tmp_path: Path) -> None:
    context = structs.replace(_context(tmp_path), mpi_operator=mpi_operator)
    assert ("--enable-scheme=mpijob" in ADDONS["kubeflow"].component.arguments(context)) == (not mpi_operator)


@pytest.mark.parametrize("name", ["kubeflow", "mpi-operator", "kubedl"])
def test_operators_make_gangs_only_where_volcano_admits_jobs(name: str, tmp_path: Path) -> None:
    context = _context(tmp_path)
    with_gangs, without = (
        ADDONS[name].component.arguments(structs.replace(context, gangs=gangs)) for gangs in (True, False)
    )
    assert [each for each in with_gangs if each not in without] == ["--gang-scheduler-name=volcano"]
    assert {*without} < {*with_gangs}


@pytest.mark.parametrize("name", [name for name, addon in ADDONS.items() if addon.configuration is not None])
def test_configuration_file_is_written_where_the_arguments_name_it(name: str, tmp_path: Path) -> None:
    context = _context(tmp_path)
    context.layout.make()
    addon = InstalledAddOn(ADDONS[name], BuiltPart(tmp_path / "part"))
    addon.configure(context)
    [argument] = [text for text in addon.addon.component.arguments(context) if text.startswith("--config=")]
    written = yaml.safe_load(Path(argument.removeprefix("--config=")).read_text())
    assert written["kind"] == "Configuration"
    assert addon.binary == tmp_path / "part" / "bin" / addon.addon.component.binary


def test_served_webhooks_are_registered_on_loopback_and_others_are_left_out(tmp_path: Path) -> None:
    certificates = WebhookCertificates(tmp_path)
    certificates.make()
    webhooks = Webhooks(
        names={"MutatingWebhookConfiguration": "example-webhooks"},
        resources=frozenset({"jobs", "pods"}),
        selectors={"mpod.example.com": PODS},
    )
    [made] = webhook_configurations(webhooks, MANIFESTS, 4711, certificates)
    assert made["metadata"] == {"name": "example-webhooks"}
    job, pod = made["webhooks"]  # the third is for a resource that is not served as well
    bundle = base64.b64encode(certificates.authority.read_bytes()).decode()
    assert job["clientConfig"] == {"url": "https://127.0.0.1:4711/mutate-job", "caBundle": bundle}
    assert job["failurePolicy"] == "Fail"
    assert job["rules"] == yaml.safe_load(MANIFESTS)["webhooks"][0]["rules"]
    assert "objectSelector" not in job
    assert pod["objectSelector"] == PODS
