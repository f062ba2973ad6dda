"""The sandbox's certificates, verified as strictly as by the newest Python."""

from __future__ import annotations

import ssl
import stat
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID

from trainform.local.sandbox.certificates import Certificates, WebhookCertificates


def _check_trusted(files: Certificates | WebhookCertificates, *names: str) -> None:
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(files.server, files.server_key)
    for name in names:
        client = ssl.create_default_context(cafile=str(files.authority))
        client.verify_flags |= ssl.VERIFY_X509_STRICT
        _shake_hands(client, server, name)


def test_the_server_is_trusted_by_name_and_address_and_the_client_is_an_administrator(tmp_path: Path) -> None:
    files = Certificates(tmp_path)
    files.make()
    _check_trusted(files, "127.0.0.1", "localhost", "kubernetes.default.svc", "198.18.0.1")
    client = x509.load_pem_x509_certificate(files.client.read_bytes())
    [group] = client.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    assert group.value == "system:masters"


def test_webhooks_are_trusted_on_loopback_and_under_the_name_that_kueue_asks_for(tmp_path: Path) -> None:
    files = WebhookCertificates(tmp_path)
    files.make()
    _check_trusted(files, "127.0.0.1", "kueue-webhook-service.kueue-system.svc")
    authority = x509.load_pem_x509_certificate(files.authority.read_bytes())
    names = authority.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["kueue-ca"]
    assert files.authority_key.read_bytes().startswith(b"-----BEGIN RSA PRIVATE KEY-----")
    assert files.folder == tmp_path / "k8s-webhook-server" / "serving-certs"


def test_files_of_webhooks_are_private_and_are_kept(tmp_path: Path) -> None:
    files = WebhookCertificates(tmp_path)
    files.make()
    before = {path: path.read_bytes() for path in files.folder.iterdir()}
    assert sorted(path.name for path in before) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in before} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in (files.folder, files.folder.parent)} == {0o700}
    files.make()
    assert {path: path.read_bytes() for path in files.folder.iterdir()} == before


def _shake_hands(client: ssl.SSLContext, server: ssl.SSLContext, name: str) -> None:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        client.wrap_bio(to_client, to_server, server_hostname=name),
        server.wrap_bio(to_server, to_client, server_side=True),
    ]
    for _ in range(4):
        for side in sides:
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
    assert sides[0].getpeercert()
