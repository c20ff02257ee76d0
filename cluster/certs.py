"""Certificates and keys of one instance, made once and kept in its data folder."""

from __future__ import annotations

import datetime as dt
import ipaddress
import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

YEARS = 10
KUEUE_USER = "system:serviceaccount:kueue-system:kueue-controller-manager"
KUEUE_GROUPS = ("system:serviceaccounts", "system:serviceaccounts:kueue-system")
KUEUE_SERVICE = "kueue-webhook-service.kueue-system.svc"

Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


@dataclass(frozen=True)
class Pair:
    """A certificate with its private key."""

    cert: x509.Certificate
    key: Key

    @property
    def cert_pem(self) -> bytes:
        """Return the certificate as PEM."""
        return self.cert.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """Return the private key as unencrypted PEM."""
        return self.key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )


def _new_key(use_rsa: bool) -> Key:
    # Elliptic keys take no time to make; RSA only where a reader insists on it.
    if use_rsa:
        return rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return ec.generate_private_key(ec.SECP256R1())


def _names(names: Sequence[str]) -> x509.SubjectAlternativeName:
    entries: list[x509.GeneralName] = []
    for name in names:
        try:
            entries.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            entries.append(x509.DNSName(name))
    return x509.SubjectAlternativeName(entries)


def _usage(ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=not ca,
        key_cert_sign=ca,
        crl_sign=ca,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _subject(name: str, groups: Sequence[str]) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def issue(
    name: str,
    signer: Pair | None = None,
    groups: Sequence[str] = (),
    hosts: Sequence[str] = (),
    use_rsa: bool = False,
) -> Pair:
    """Make a certificate: without a signer it is a certificate authority of its own."""
    key = _new_key(use_rsa)
    subject = _subject(name, groups)
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(signer.cert.subject if signer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=365 * YEARS))
        .add_extension(x509.BasicConstraints(ca=signer is None, path_length=None), critical=True)
        .add_extension(_usage(signer is None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    if hosts:
        builder = builder.add_extension(_names(hosts), critical=False)
    if signer:
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
    return Pair(builder.sign(signer.key if signer else key, hashes.SHA256()), key)


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read, never half of it."""
    partial = path.with_name(f".{path.name}.partial")
    partial.unlink(missing_ok=True)
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
    os.replace(partial, path)


def _store(folder: Path, name: str, pair: Pair) -> None:
    write_private(folder / f"{name}.crt", pair.cert_pem)
    write_private(folder / f"{name}.key", pair.key_pem)


def _store_kubernetes(folder: Path) -> None:
    local = ("127.0.0.1", "localhost")
    ca = issue("kubernetes-ca")
    service = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "10.96.0.1")
    _store(folder, "apiserver", issue("kube-apiserver", ca, hosts=(*local, *service)))
    _store(folder, "admin", issue("cluster-admin", ca, groups=("system:masters",)))
    for user in ("kube-controller-manager", "kube-scheduler"):
        _store(folder, user, issue(f"system:{user}", ca))
    # The name of Kueue's real service account, so that the chart's own roles and every admission
    # policy that names it apply here as they do elsewhere.
    _store(folder, "kueue", issue(KUEUE_USER, ca, groups=KUEUE_GROUPS))
    _store(folder, "ca", ca)
    front = issue("front-proxy-ca")
    _store(folder, "front-proxy", issue("front-proxy-client", front))
    _store(folder, "front-proxy-ca", front)
    # An authority of its own: whoever has a Kubernetes certificate must not reach the storage.
    etcd = issue("etcd-ca")
    _store(folder, "etcd", issue("etcd", etcd, hosts=local))
    _store(folder, "etcd-client", issue("kube-apiserver", etcd))
    _store(folder, "etcd-ca", etcd)


def _store_kueue(folder: Path) -> None:
    # What Kueue's own certificate keeper accepts: names and PKCS#1 keys as it would make them.
    ca = issue("kueue-ca", groups=("kueue",), hosts=("kueue-ca",), use_rsa=True)
    _store(folder, "kueue-webhook-ca", ca)
    pair = issue(KUEUE_SERVICE, ca, hosts=(KUEUE_SERVICE, "localhost"), use_rsa=True)
    _store(folder, "kueue-webhook", pair)


def ensure(folder: Path) -> Path:
    """Make every key and certificate of an instance unless they are all there already."""
    done = folder / "complete"
    if done.exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    _store_kubernetes(folder)
    _store_kueue(folder)
    account = issue("service-accounts")
    write_private(folder / "service-accounts.key", account.key_pem)
    public = account.key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    write_private(folder / "service-accounts.pub", public)
    token = secrets.token_urlsafe(32)
    write_private(folder / "admin.token", token.encode())
    line = f'{token},cluster-admin,cluster-admin,"system:masters"\n'
    write_private(folder / "tokens.csv", line.encode())
    write_private(done, b"")
    return folder
