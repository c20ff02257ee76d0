"""One HTTPS request to one API server, with every limit set.

The official library's ``ApiClient`` supplies the connection pool. Its request path is not
used: it has no default time-out, changes the query list it is given, drops
``fieldValidation`` and sleeps on 429 by itself (``docs/how/cluster-door.md``).
"""

from __future__ import annotations

import email.utils
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import orjson
import urllib3
from kubernetes.client import ApiClient, Configuration
from urllib3 import exceptions as http
from urllib3.connection import HTTPSConnection

from kube import errors
from kube.classify import Phase, classify
from kube.connection import Connection, Timeouts, check_token

JSON = "application/json"
MAX_ANSWER = 64 * 1024 * 1024
MAX_ERROR = 1024 * 1024
_CHUNK = 64 * 1024
_AGENT = "gpu-quota-portal"
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNSUPPORTED_PROTOCOL", "NO_CIPHERS_AVAILABLE")

Guard = Callable[[], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What to ask. ``writes`` is true when objects change if the server says yes."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: Any = None
    content_type: str = JSON
    accept: str = JSON
    writes: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A successful answer: its raw bytes, what the headers say, whether it was to a write."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    wrote: bool = False

    def json(self) -> Any:
        """Return the decoded body."""
        try:
            return orjson.loads(self.body)
        except orjson.JSONDecodeError:
            msg = "the cluster's answer is not JSON"
            raise errors.Protocol(msg, status=self.status, outcome_unknown=self.wrote) from None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the texts of the ``Warning`` headers."""
        return parse_warnings(self.headers)


class Transport:
    """Sends requests; keeps the connections, the credential in use and the clock difference."""

    def __init__(self, connection: Connection, *, guard: Guard | None = None) -> None:
        """Prepare the pool; nothing is sent yet."""
        self.connection = connection
        self.guard = guard
        self.skew: float | None = None
        self._base = connection.server.rstrip("/")
        self._pool = self._make_pool()
        self._refreshed: str | None = None

    def _make_pool(self) -> urllib3.PoolManager:
        settings = Configuration(host=self._base)
        settings.proxy = None
        settings.retries = False
        settings.keep_alive = True
        pool: urllib3.PoolManager = ApiClient(settings).rest_client.pool_manager
        for name in ("ca_certs", "ca_cert_data", "cert_file", "key_file"):
            pool.connection_pool_kw.pop(name, None)
        pool.connection_pool_kw["ssl_context"] = self.connection.tls()
        # A watch holds its connection; an observer watches some thirty kinds.
        pool.connection_pool_kw["maxsize"] = 40
        if self.connection.address_allowed is not None:
            pool.pool_classes_by_scheme = {"https": checked_pool(self.connection.address_allowed)}
        return pool

    def close(self) -> None:
        """Give the connections back."""
        self._pool.clear()

    def send(self, request: Request, *, limit: int = MAX_ANSWER) -> Answer:
        """Send one request and return its whole answer, or raise what it means."""
        deadline = time.monotonic() + self.connection.timeouts.total
        response = self._open(request, self.connection.timeouts)
        try:
            body = self._read(response, request, limit, deadline)
        finally:
            response.release_conn()
        return Answer(response.status, response.headers, body, request.writes)

    def stream(self, request: Request, *, read: float) -> urllib3.BaseHTTPResponse:
        """Open a long answer; silence longer than ``read`` seconds ends it with an error."""
        timeouts = self.connection.timeouts
        return self._open(request, Timeouts(timeouts.connect, read, timeouts.total))

    def _open(self, request: Request, timeouts: Timeouts) -> urllib3.BaseHTTPResponse:
        if self.guard is not None:
            self.guard()
        response = self._once(request, timeouts)
        if response.status == 401:
            renewed = self._renew()
            if renewed is not None:
                response.drain_conn()
                response.release_conn()
                response = self._once(request, timeouts, renewed)
        if 200 <= response.status < 300:
            return response
        try:
            body = self._read(response, request, MAX_ERROR, time.monotonic() + timeouts.read)
        except errors.ClusterError:
            body = b""
        finally:
            response.close()
        raise classify(response.status, response.headers, body, wrote=request.writes)

    def _renew(self) -> str | None:
        source = self.connection.tokens
        return check_token(token) if source and (token := source.refresh()) else None

    def _once(
        self, request: Request, timeouts: Timeouts, token: str | None = None
    ) -> urllib3.BaseHTTPResponse:
        query = f"?{urlencode(request.query)}" if request.query else ""
        started = time.time()
        try:
            response = self._pool.request(
                request.method,
                f"{self._base}{request.path}{query}",
                body=encode(request.body),
                headers=self._headers(request, token or self.connection.bearer()),
                timeout=urllib3.Timeout(connect=timeouts.connect, read=timeouts.read),
                retries=False,
                redirect=False,
                preload_content=False,
            )
        except (http.HTTPError, OSError) as error:
            phase, reason = explain_failure(error)
            raise classify(None, {}, reason.encode(), wrote=request.writes, phase=phase) from None
        self._measure(response.headers.get("Date"), started)
        return response

    def _headers(self, request: Request, token: str | None) -> dict[str, str]:
        headers = {
            "Accept": request.accept,
            "Accept-Encoding": "gzip",
            "User-Agent": _AGENT,
        }
        if request.body is not None:
            headers["Content-Type"] = request.content_type
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        return headers

    def _measure(self, date: str | None, started: float) -> None:
        """Keep how far the cluster's clock is ahead of ours, in seconds (whole-second source)."""
        if not date:
            return
        try:
            theirs = email.utils.parsedate_to_datetime(date).timestamp()
        except ValueError:
            return
        self.skew = theirs + 0.5 - (started + time.time()) / 2

    def _read(
        self, response: urllib3.BaseHTTPResponse, request: Request, limit: int, deadline: float
    ) -> bytes:
        parts: list[bytes] = []
        size = 0
        try:
            for part in pieces(response):
                size += len(part)
                if size > limit:
                    response.close()
                    msg = f"the cluster's answer is larger than {limit} bytes"
                    raise errors.Protocol(
                        msg,
                        status=response.status,
                        retry=False,
                        outcome_unknown=request.writes,
                    )
                if time.monotonic() > deadline:
                    msg = "too slow"
                    raise TimeoutError(msg)
                parts.append(part)
        except (http.HTTPError, OSError) as error:
            response.close()
            _, reason = explain_failure(error)
            raise classify(
                response.status, {}, reason.encode(), wrote=request.writes, phase="body"
            ) from None
        return b"".join(parts)


def checked_pool(allowed: Callable[[str], bool]) -> type[urllib3.HTTPSConnectionPool]:
    """Return a pool that asks about the address it is connected to before it says a word.

    Looking the name up beforehand would not do: it can have another address a moment later.
    """

    class Checked(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            found = super()._new_conn()
            address = str(found.getpeername()[0])
            if allowed(address):
                return found
            found.close()
            message = f"the address {address} is not allowed for a cluster"
            raise errors.Unreachable(message, retry=False)

    class Pool(urllib3.HTTPSConnectionPool):
        ConnectionCls = Checked

    return Pool


def pieces(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
    """Yield the decoded body as it arrives, never waiting for a full buffer."""
    while True:
        part = response.read1(_CHUNK)
        if not part:
            return
        yield part


def encode(body: Any) -> bytes | None:
    """Return the JSON text of a body; what JSON cannot carry is a defect of the caller."""
    if body is None:
        return None
    try:
        return orjson.dumps(body)
    except orjson.JSONEncodeError as error:
        msg = f"not plain JSON: {error}"
        raise errors.ProgrammingError(msg) from None


def explain_failure(error: Exception) -> tuple[Phase, str]:
    """Tell how far a request got, and why it ended, in words without addresses or secrets."""
    cause: BaseException = error
    if isinstance(error, http.MaxRetryError) and error.reason is not None:
        cause = error.reason
    if isinstance(cause, http.SSLError):
        return _tls_failure(cause)
    if isinstance(cause, http.NameResolutionError):
        return "connect", "the server's name has no address"
    if isinstance(cause, http.ConnectTimeoutError):
        return "connect", "the connection is not answered in time"
    if isinstance(cause, http.NewConnectionError):
        return "connect", "the connection is refused or there is no way to the server"
    if isinstance(cause, http.ReadTimeoutError | TimeoutError):
        return "sent", "no data in time"
    return "sent", "the connection was closed early"


def _tls_failure(error: http.SSLError) -> tuple[Phase, str]:
    inner = error.args[0] if error.args else None
    if isinstance(inner, ssl.SSLCertVerificationError):
        return "tls", inner.verify_message or "the certificate does not verify"
    reason = str(getattr(inner, "reason", None) or "")
    if reason in _NO_TLS or "ALERT" in reason:
        return "tls", reason.lower().replace("_", " ")
    return "sent", "the encrypted connection was closed early"


def parse_warnings(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return the texts of ``299 - "text"`` warnings, each once."""
    getlist = getattr(headers, "getlist", None)
    values = getlist("Warning") if getlist else [headers.get("Warning", "")]
    found: dict[str, None] = {}
    for value in values:
        for part in str(value).split('299 - "')[1:]:
            text = part.rsplit('"', 1)[0].replace('\\"', '"').replace("\\\\", "\\")
            found[errors.one_line(text)] = None
    return tuple(found)
