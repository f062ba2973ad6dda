"""The sandbox's certificate authorities and certificates. Nothing outside the sandbox trusts them."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID

from trainform.local.sandbox.folder import write_private
from trainform.local.sandbox.ports import LOOPBACK

# A sandbox may stay up for long, and a certificate must be valid on a machine whose clock is a little behind.
LIFETIME = datetime.timedelta(days=3650)
NOT_BEFORE_MARGIN = datetime.timedelta(hours=1)

SERVICE_IP = "198.18.0.1"  # the first address of --service-cluster-ip-range: the Service `kubernetes`
SERVER = ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", LOOPBACK, SERVICE_IP)
# Kueue (0.19) makes certificates that are not valid for loopback, unless it finds certificates with these names.
KUEUE_AUTHORITY = "kueue-ca"
WEBHOOKS = ("localhost", "kueue-webhook-service.kueue-system.svc", LOOPBACK)
SANDBOX_AUTHORITY = "trainform-sandbox-ca"
ADMINISTRATOR = "CN=trainform-sandbox,O=system:masters"
# A P-256 key is made in a millisecond, and every component supports it.
CURVE = ec.SECP256R1()
# Python >= 3.13 and strict OpenSSL refuse an authority without the extension for key usage.
AUTHORITY_USAGE = x509.KeyUsage(
    key_cert_sign=True, crl_sign=True, digital_signature=False, content_commitment=False, key_encipherment=False,
    data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
)  # fmt: skip


class Certificates:
    """The paths of the control plane's certificates and keys."""

    def __init__(self, folder: Path) -> None:
        self.authority = folder / "ca.crt"
        self.authority_key = folder / "ca.key"
        self.server = folder / "server.crt"
        self.server_key = folder / "server.key"
        self.client = folder / "client.crt"
        self.client_key = folder / "client.key"
        self.service_accounts_key = folder / "service-accounts.key"
        self.service_accounts = folder / "service-accounts.pub"

    def make(self) -> None:
        """Write all files, unless all exist: tokens and kubeconfigs refer to them, so a restart must keep them."""
        if all(path.exists() for path in vars(self).values()):
            return
        key = ec.generate_private_key(CURVE)
        authority = Authority(SANDBOX_AUTHORITY, key)
        write_private(self.authority, authority.certificate)
        write_private(self.authority_key, _private(key))
        authority.sign("CN=trainform-sandbox-server", SERVER, self.server, self.server_key)
        authority.sign(ADMINISTRATOR, SERVER, self.client, self.client_key)
        accounts = ec.generate_private_key(CURVE)
        write_private(self.service_accounts_key, _private(accounts))
        public = accounts.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        write_private(self.service_accounts, public)


class WebhookCertificates:
    """The paths of the webhook servers' certificate and its authority, whose key Kueue needs too.

    The names, and the folder below `temporary`, are the defaults of controller-runtime.
    """

    def __init__(self, temporary: Path) -> None:
        self.folder = temporary / "k8s-webhook-server" / "serving-certs"
        self.authority = self.folder / "ca.crt"
        self.authority_key = self.folder / "ca.key"
        self.server = self.folder / "tls.crt"
        self.server_key = self.folder / "tls.key"

    def make(self) -> None:
        """Write all files, unless all exist."""
        if all(path.exists() for path in vars(self).values()):
            return
        for folder in (self.folder.parent, self.folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Kueue's certificate rotation (0.19) reads this key, and supports RSA keys only.
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        authority = Authority("trainform-sandbox-webhooks-ca", key, KUEUE_AUTHORITY)
        write_private(self.authority, authority.certificate)
        write_private(self.authority_key, _private(key, serialization.PrivateFormat.TraditionalOpenSSL))
        authority.sign("CN=trainform-sandbox-webhooks", WEBHOOKS, self.server, self.server_key)


class Authority:
    """A certificate authority: a new one, unless `certificate` has its PEM text. `names`: its DNS names, if any."""

    def __init__(
        self, common: str, key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, *names: str, certificate: bytes = b""
    ) -> None:
        self._key = key
        self._name = x509.Name.from_rfc4514_string(f"CN={common}")
        self.certificate = certificate or self._self_signed(names)

    @classmethod
    def stored(cls, certificate: Path, key: Path) -> Authority:
        """Return the authority of a sandbox, whose certificate and key are in these files."""
        loaded = serialization.load_pem_private_key(key.read_bytes(), None)
        if not isinstance(loaded, ec.EllipticCurvePrivateKey):
            raise TypeError(f"{key} is not a key on an elliptic curve")
        return cls(SANDBOX_AUTHORITY, loaded, certificate=certificate.read_bytes())

    def _self_signed(self, names: tuple[str, ...]) -> bytes:
        builder = (
            _builder(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(AUTHORITY_USAGE, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
        )
        if names:
            builder = builder.add_extension(_alternatives(names), critical=False)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def sign(self, name: str, hosts: tuple[str, ...], path: Path, key_path: Path) -> None:
        """Make a new key, and write it and its certificate, which is valid for all `hosts`."""
        key = ec.generate_private_key(CURVE)
        # Both usages: etcd and the API server also use the server's certificate as clients of each other.
        uses = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        certificate = (
            _builder(x509.Name.from_rfc4514_string(name), self._name, key.public_key())
            .add_extension(_alternatives(hosts), critical=False)
            .add_extension(uses, critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        write_private(path, certificate.public_bytes(serialization.Encoding.PEM))
        write_private(key_path, _private(key))


def _alternatives(hosts: Iterable[str]) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName([_alternative(host) for host in hosts])


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - NOT_BEFORE_MARGIN)
        .not_valid_after(now + LIFETIME)
    )


def _private(
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey,
    form: serialization.PrivateFormat = serialization.PrivateFormat.PKCS8,
) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
