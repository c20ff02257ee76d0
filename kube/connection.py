"""Where a cluster is and with what credential it is spoken to.

A ``Connection`` holds a secret: its text forms never show it.
"""

from __future__ import annotations

import re
import ssl
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from kube.errors import ProgrammingError

_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]{1,16384}=*", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|[0-9A-Fa-f:.]+", re.ASCII)


class TokenProvider(Protocol):
    """Something that knows the token of the moment and can fetch another one."""

    def token(self) -> str:
        """Return a token that should still be accepted."""

    def refresh(self) -> str | None:
        """Return another token after the last one was refused, or ``None``: there is none."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long a call may take, in seconds."""

    connect: float = 3.0
    read: float = 30.0
    total: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """The address, the CA and one credential of one cluster."""

    server: str
    ca_pem: str = field(repr=False)
    token: str | None = field(default=None, repr=False)
    tokens: TokenProvider | None = field(default=None, repr=False)
    client_cert_pem: str | None = field(default=None, repr=False)
    client_key_pem: str | None = field(default=None, repr=False)
    timeouts: Timeouts = Timeouts()
    address_allowed: Callable[[str], bool] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse what could not work or would weaken the connection."""
        check_server(self.server)
        if "-----BEGIN CERTIFICATE-----" not in self.ca_pem:
            msg = "a connection needs the CA certificate of the cluster"
            raise ProgrammingError(msg)
        if self.token is not None:
            check_token(self.token)
        if (self.client_cert_pem is None) != (self.client_key_pem is None):
            msg = "a client certificate and its key belong together"
            raise ProgrammingError(msg)

    def bearer(self) -> str | None:
        """Return the token to send now, if this connection uses one."""
        return check_token(self.tokens.token()) if self.tokens is not None else self.token

    def tls(self) -> ssl.SSLContext:
        """Return a context that trusts this cluster's CA and nothing else."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        try:
            context.load_verify_locations(cadata=self.ca_pem)
        except ssl.SSLError:
            msg = "the CA certificate of the cluster cannot be read"
            raise ProgrammingError(msg) from None
        if self.client_cert_pem is not None and self.client_key_pem is not None:
            _load_client_certificate(context, self.client_cert_pem, self.client_key_pem)
        return context


def check_server(server: str) -> str:
    """Return the server's address if it is a plain https URL."""
    try:
        parts = urlsplit(server)
        port = parts.port
    except ValueError:
        msg = "the server's address is not a URL"
        raise ProgrammingError(msg) from None
    if parts.scheme != "https":
        msg = "the server's address must begin with https://"
        raise ProgrammingError(msg)
    if "@" in parts.netloc or parts.query or parts.fragment:
        msg = "the server's address may hold only host, port and path"
        raise ProgrammingError(msg)
    if not parts.hostname or not _HOST.fullmatch(parts.hostname) or port == 0:
        msg = "the server's address has no usable host"
        raise ProgrammingError(msg)
    if re.search(r"[\s\\%\x00-\x1f]|/\.", server):
        msg = "the server's address holds characters that do not belong there"
        raise ProgrammingError(msg)
    return server


def check_token(token: str) -> str:
    """Return the token if it can stand in a header; the error never shows it."""
    if not _TOKEN.fullmatch(token):
        msg = "the token holds characters that no token has, or is empty"
        raise ProgrammingError(msg)
    return token


def _load_client_certificate(context: ssl.SSLContext, cert_pem: str, key_pem: str) -> None:
    """Load a certificate with its key; Python's ssl reads them from a file only."""

    def no_passphrase() -> str:
        msg = "the client key is protected by a passphrase"
        raise ProgrammingError(msg)

    with tempfile.TemporaryDirectory(prefix="gpuportal-") as folder:
        path = Path(folder) / "client.pem"
        path.touch(mode=0o600)
        path.write_text(f"{cert_pem.rstrip()}\n{key_pem.rstrip()}\n", encoding="ascii")
        try:
            context.load_cert_chain(path, password=no_passphrase)
        except (ssl.SSLError, ValueError):
            msg = "the client certificate and its key do not fit"
            raise ProgrammingError(msg) from None
