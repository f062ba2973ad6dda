"""The sandbox's own certificate authority and what it signs. Nothing outside the sandbox trusts it."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from trainform.sandbox.folder import write_private

# A sandbox may stay up for long; a clock that is set back a little must not make a new certificate invalid.
LIFETIME = datetime.timedelta(days=3650)
BACKDATED = datetime.timedelta(hours=1)

SERVICE_IP = "10.0.0.1"  # the first of --service-cluster-ip-range
SERVER_NAMES = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
SERVER_ADDRESSES = ("127.0.0.1", SERVICE_IP)
ADMINISTRATOR = ("trainform-sandbox", "system:masters")
# P-256 keys take a millisecond each; every component here speaks them.
CURVE = ec.SECP256R1()
# Python >= 3.13 and strict OpenSSL refuse an authority that does not say what it may do.
AUTHORITY_USAGE = x509.KeyUsage(
    key_cert_sign=True, crl_sign=True, digital_signature=False, content_commitment=False, key_encipherment=False,
    data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
)  # fmt: skip


class Certificates:
    """Paths of the files; `make` writes those that are missing."""

    def __init__(self, folder: Path) -> None:
        self.authority = folder / "ca.crt"
        self.server = folder / "server.crt"
        self.server_key = folder / "server.key"
        self.client = folder / "client.crt"
        self.client_key = folder / "client.key"
        self.service_accounts_key = folder / "service-accounts.key"
        self.service_accounts = folder / "service-accounts.pub"

    def make(self) -> None:
        """All files, unless they are there: a restart on the same data must keep them, tokens and kubeconfigs refer to them."""
        if all(path.exists() for path in vars(self).values()):
            return
        key = ec.generate_private_key(CURVE)
        name = _name("trainform-sandbox-ca", "")
        signed = (
            _builder(name, name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(AUTHORITY_USAGE, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        write_private(self.authority, signed.public_bytes(serialization.Encoding.PEM))
        self._sign(signed, key, _name("trainform-sandbox-server", ""), self.server, self.server_key)
        self._sign(signed, key, _name(*ADMINISTRATOR), self.client, self.client_key)
        accounts = ec.generate_private_key(CURVE)
        write_private(self.service_accounts_key, _private(accounts))
        public = accounts.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        write_private(self.service_accounts, public)

    def _sign(
        self, authority: x509.Certificate, key: ec.EllipticCurvePrivateKey, name: x509.Name, path: Path, key_path: Path
    ) -> None:
        own = ec.generate_private_key(CURVE)
        names: list[x509.GeneralName] = [x509.DNSName(text) for text in SERVER_NAMES]
        names += [x509.IPAddress(ipaddress.ip_address(text)) for text in SERVER_ADDRESSES]
        # Both uses: etcd and the API server present the server's certificate to each other as well.
        uses = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        certificate = (
            _builder(name, authority.subject, own.public_key())
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(uses, critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        write_private(path, certificate.public_bytes(serialization.Encoding.PEM))
        write_private(key_path, _private(own))


def _name(common: str, organization: str) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common)]
    if organization:
        parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATED)
        .not_valid_after(now + LIFETIME)
    )


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
