"""Reads a kubeconfig that somebody pasted, and takes from it only what is safe to take.

A kubeconfig can name commands to run and files to read. Nothing of that is followed: whatever
is not a server, a CA, a token or a client certificate is refused, with the reason by name.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Hashable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NoReturn

import yaml
from cryptography import x509

from kube.connection import Connection, check_server, check_token
from kube.errors import ClusterError, ProgrammingError, one_line

MAX_TEXT: Final = 256 * 1024

_CLUSTER: Final = {
    "certificate-authority": ("file", "names a file; put the CA into it as data"),
    "insecure-skip-tls-verify": ("insecure", "switches off the check of the certificate"),
    "proxy-url": ("proxy", "names a proxy"),
    "tls-server-name": ("server-name", "asks for a certificate of another name"),
}
_USER: Final = {
    "exec": ("exec", "wants to run a command"),
    "auth-provider": ("auth-provider", "uses an auth provider"),
    "tokenFile": ("file", "names a file; put the token into it"),
    "client-certificate": ("file", "names a file; put the certificate into it as data"),
    "client-key": ("file", "names a file; put the key into it as data"),
    "username": ("password", "uses a user name and password"),
    "password": ("password", "uses a user name and password"),
    "as": ("impersonation", "acts as somebody else"),
    "as-uid": ("impersonation", "acts as somebody else"),
    "as-groups": ("impersonation", "acts as somebody else"),
    "as-user-extra": ("impersonation", "acts as somebody else"),
}
_CLUSTER_KEYS: Final = {"server", "certificate-authority-data", "extensions", "disable-compression"}
_USER_KEYS: Final = {"token", "client-certificate-data", "client-key-data", "extensions"}


class KubeconfigRefused(ClusterError):
    """A kubeconfig is not taken; ``reason`` is a stable word for why."""

    code = "GP-3126"

    def __init__(self, reason: str, message: str) -> None:
        """Keep the reason; the message never holds any part of the file."""
        self.reason = reason
        super().__init__(message)


def read_kubeconfig(
    text: str | bytes, *, context: str | None = None, now: datetime | None = None
) -> Connection:
    """Return the connection that a kubeconfig (YAML or JSON) describes.

    With more than one context, ``context`` must name one; ``current-context`` is no choice that
    the person who pastes the file has made here.
    """
    config = _parse(text)
    chosen = _context(config, context)
    cluster = _named(config, "clusters", "cluster", chosen.get("cluster"))
    user = _named(config, "users", "user", chosen.get("user"))
    _check_keys("cluster", cluster, _CLUSTER, _CLUSTER_KEYS)
    _check_keys("user", user, _USER, _USER_KEYS)
    return _connection(cluster, user, now or datetime.now(UTC))


def _refuse(reason: str, message: str) -> NoReturn:
    raise KubeconfigRefused(reason, message)


class _Loader(yaml.SafeLoader):
    """Plain YAML: no tags, no aliases, no key twice."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Refuse aliases before they are followed."""
        if self.check_event(yaml.events.AliasEvent):
            _refuse("yaml", "the kubeconfig uses YAML aliases")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        """Refuse a key that comes twice."""
        keys = [self.construct_object(key, deep=True) for key, _value in node.value]
        if len({str(key) for key in keys}) != len(keys):
            _refuse("twice", "the kubeconfig holds a key twice")
        return super().construct_mapping(node, deep)


def _parse(text: str | bytes) -> Mapping[str, Any]:
    if len(text) > MAX_TEXT:
        _refuse("size", f"the kubeconfig is larger than {MAX_TEXT // 1024} kB")
    try:
        plain = text.decode("utf-8") if isinstance(text, bytes) else text
        if plain.lstrip().startswith("{"):
            found = json.loads(plain, object_pairs_hook=_once)
        else:
            found = yaml.load(plain, Loader=_Loader)  # noqa: S506 - a stricter SafeLoader
    except KubeconfigRefused:
        raise
    except RecursionError:
        _refuse("yaml", "the kubeconfig is nested too deeply")
    except (UnicodeDecodeError, ValueError, yaml.YAMLError):
        _refuse("yaml", "the kubeconfig is neither YAML nor JSON")
    if not isinstance(found, dict) or found.get("kind") != "Config":
        _refuse("kind", "this is not a kubeconfig (kind: Config)")
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _value in pairs}) != len(pairs):
        _refuse("twice", "the kubeconfig holds a key twice")
    return dict(pairs)


def _entries(config: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    found = config.get(key)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        _refuse("shape", f"the kubeconfig has no list of {key}")
    return found


def _context(config: Mapping[str, Any], name: str | None) -> Mapping[str, Any]:
    contexts = _entries(config, "contexts")
    if name is None and len(contexts) != 1:
        _refuse("contexts", f"the kubeconfig has {len(contexts)} contexts; say which one is meant")
    if name is None:
        name = str(contexts[0].get("name"))
    return _named(config, "contexts", "context", name)


def _named(config: Mapping[str, Any], key: str, inner: str, name: object) -> Mapping[str, Any]:
    found = [each for each in _entries(config, key) if each.get("name") == name]
    if len(found) != 1 or not isinstance(found[0].get(inner), dict):
        shown = one_line(str(name), 100)
        _refuse("shape", f"the kubeconfig holds not exactly one entry {shown!r} in {key}")
    entry: Mapping[str, Any] = found[0][inner]
    return entry


def _check_keys(
    what: str,
    entry: Mapping[str, Any],
    refused: Mapping[str, tuple[str, str]],
    known: set[str],
) -> None:
    for key, (reason, words) in refused.items():
        if entry.get(key) not in (None, False):
            _refuse(reason, f"the kubeconfig's {what} {words} ({key})")
    unknown = sorted(str(key) for key in entry if key not in known and key not in refused)
    if unknown:
        _refuse("unknown", f"the kubeconfig's {what} has an unknown key {unknown[0][:60]!r}")


def _connection(cluster: Mapping[str, Any], user: Mapping[str, Any], now: datetime) -> Connection:
    try:
        server = check_server(_word(cluster, "server"))
    except ProgrammingError as error:
        _refuse("server", error.message)
    ca = _pem(cluster, "certificate-authority-data")
    if ca is None:
        _refuse("ca", "the kubeconfig holds no CA certificate (certificate-authority-data)")
    certificate, key = _pem(user, "client-certificate-data"), _pem(user, "client-key-data")
    token = _token(user)
    if (token is None) == (certificate is None):
        _refuse("credential", "the kubeconfig needs one token or one client certificate, not both")
    if certificate is not None:
        _check_certificate(certificate, key, now)
    try:
        found = Connection(
            server=server,
            ca_pem=ca,
            token=token,
            client_cert_pem=certificate,
            client_key_pem=key,
        )
        found.tls()
    except ProgrammingError as error:
        _refuse("certificate", error.message)
    return found


def _word(entry: Mapping[str, Any], key: str) -> str:
    found = entry.get(key)
    if not isinstance(found, str):
        _refuse("shape", f"{key} in the kubeconfig is missing or no text")
    return found


def _token(user: Mapping[str, Any]) -> str | None:
    if "token" not in user:
        return None
    try:
        return check_token(_word(user, "token"))
    except ProgrammingError as error:
        _refuse("token", error.message)


def _pem(entry: Mapping[str, Any], key: str) -> str | None:
    if key not in entry:
        return None
    try:
        return base64.b64decode(_word(entry, key), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        _refuse("base64", f"{key} in the kubeconfig is not base64 of a PEM text")


def _check_certificate(certificate: str, key: str | None, now: datetime) -> None:
    if key is None:
        _refuse("certificate", "the kubeconfig holds a client certificate without its key")
    if "ENCRYPTED" in key:
        _refuse("passphrase", "the client key is protected by a passphrase")
    try:
        found = x509.load_pem_x509_certificate(certificate.encode("ascii"))
    except ValueError:
        _refuse("certificate", "the client certificate cannot be read")
    if found.not_valid_after_utc <= now:
        _refuse("expired", "the client certificate has expired")
