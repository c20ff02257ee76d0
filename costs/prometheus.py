"""One Prometheus, asked with every limit set: time, size, address, one question at a time.

An answer is taken as a whole or not at all. Whatever goes wrong is an error with a code and, if
a person can do something about it, the field of the form; it is never an empty answer. Numbers
are kept as the text that Prometheus sends.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from types import TracebackType
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlencode, urlsplit

import urllib3
from django.utils.translation import gettext as _
from urllib3 import exceptions as http
from urllib3.connection import HTTPConnection, HTTPSConnection

from costs.metrics import Samples, number
from kube.errors import one_line
from kube.transport import explain_failure, pieces
from portal.web.errors import DomainError

LARGEST: Final = 32 * 1024 * 1024
#: Seconds: for a connection, for a silence, for all questions together (a task has not longer),
#: and what Prometheus is told.
CONNECT, READ, TOTAL, EVALUATE = 3, 35, 60, 30
_DURATION: Final = re.compile(
    r"(?:(\d+)y)?(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?"
)
_LATEST: Final = 10**11
_DAY: Final = 86_400_000
_UNITS: Final = (365 * _DAY, 7 * _DAY, _DAY, 3_600_000, 60_000, 1000, 1)


class MetricsError(DomainError):
    """Prometheus cannot be asked, or its answer cannot be used; nothing is known then."""

    code = "GP-5600"
    status = 502


class Unreachable(MetricsError):
    """No connection, or an address that is not allowed."""

    code = "GP-5601"


class NotTrusted(MetricsError):
    """Somebody answers without a certificate that the CA vouches for."""

    code = "GP-5602"


class TokenRefused(MetricsError):
    """The server wants another token, or one at all."""

    code = "GP-5603"


class Busy(MetricsError):
    """The server has trouble of its own, or no time."""

    code = "GP-5604"


class TooSlow(MetricsError):
    """The answer did not come in time."""

    code = "GP-5605"


class TooLarge(MetricsError):
    """The answer is larger than what is read."""

    code = "GP-5606"


class NotPrometheus(MetricsError):
    """The answer is none of Prometheus."""

    code = "GP-5607"


class QueryRefused(MetricsError):
    """Prometheus does not answer this question: too many samples, or a limit of its own."""

    code = "GP-5608"


class Incomplete(MetricsError):
    """The answer says of itself that something may be missing in it."""

    code = "GP-5609"


class Series(NamedTuple):
    """One series of an answer at one moment; ``None`` is no number."""

    labels: dict[str, str]
    value: Fraction | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where Prometheus is. ``allowed`` says whether a resolved address may be spoken to."""

    server: str
    allowed: Callable[[str], bool] = field(repr=False)
    ca_pem: str = field(default="", repr=False)
    token: str = field(default="", repr=False)


class Prometheus:
    """Asks one Prometheus; use it in a ``with`` block."""

    def __init__(self, place: Place) -> None:
        """Prepare the connection; nothing is sent yet. ``NotTrusted`` for a CA that is none."""
        self._base = place.server.rstrip("/")
        self._token = place.token
        self._until = time.monotonic() + TOTAL
        self._pool = urllib3.PoolManager(
            maxsize=1, retries=False, ssl_context=trust(place.ca_pem) if _tls(place) else None
        )
        self._pool.pool_classes_by_scheme = _checked(place.allowed)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the connection."""
        self._pool.clear()

    def ask(self, question: str, at: int) -> list[Series]:
        """Return the value of every series of an answer, as of one moment."""
        found = self._query(question, at, "vector")
        try:
            return [Series(_labels(each), number(_text(each["value"][1]))) for each in found]
        except (KeyError, IndexError, TypeError, ValueError):
            raise _strange() from None

    def samples(self, question: str, at: int) -> list[tuple[dict[str, str], Samples]]:
        """Return every sample of some series, their times in milliseconds."""
        found = self._query(question, at, "matrix")
        try:
            return [
                (_labels(each), [(_milliseconds(when), number(_text(value))) for when, value in each["values"]])
                for each in found
            ]  # fmt: skip
        except (KeyError, TypeError, ValueError):
            raise _strange() from None

    def version(self) -> str:
        """Return the version, empty where the server says none."""
        try:
            return one_line(str(self._get("status/buildinfo").get("version", "")), 60)
        except (NotPrometheus, QueryRefused):
            return ""

    def retention(self) -> int | None:
        """Return for how many seconds samples are kept; ``None`` where the server does not say."""
        try:
            said = str(self._get("status/runtimeinfo").get("storageRetention", ""))
        except (NotPrometheus, QueryRefused):
            return None
        found = milliseconds(said.split(" ", 1)[0])
        return found // 1000 if found else None

    def intervals(self) -> dict[tuple[str, str], int] | None:
        """Return the seconds between scrapes by job and instance; ``None`` if it is not said.

        Targets that are not scraped in whole seconds are left out.
        """
        try:
            targets = self._get("targets", state="active").get("activeTargets")
        except (NotPrometheus, QueryRefused, TooLarge):
            return None
        found: dict[tuple[str, str], int] = {}
        for each in targets if isinstance(targets, list) else ():
            if not isinstance(each, dict) or not isinstance(each.get("labels"), dict):
                raise _strange()
            every = milliseconds(str(each.get("scrapeInterval", "")))
            if every and not every % 1000:
                labels = _labels({"metric": each.get("labels")})
                found[labels.get("job", ""), labels.get("instance", "")] = every // 1000
        return found

    def _query(self, question: str, at: int, kind: str) -> list[dict[str, Any]]:
        data = self._get("query", query=question, time=str(at), timeout=f"{EVALUATE}s")
        result = data.get("result")
        if data.get("resultType") != kind or not isinstance(result, list):
            raise _strange()
        return result

    def _get(self, path: str, **query: str) -> Mapping[str, Any]:
        status, body = self._send(f"{self._base}/api/v1/{path}?{urlencode(query)}")
        if status in (401, 403):
            raise TokenRefused(_("Prometheus does not accept the token."), field="token")
        found = _read(body)
        data = found.get("data")
        if status == 200 and found.get("status") == "success" and isinstance(data, dict):
            if found.get("warnings"):
                said = one_line(str(found["warnings"]), 300)
                raise Incomplete(_("The answer may not be whole: %(said)s") % {"said": said})
            return data
        raise _refusal(status, found)

    def _send(self, url: str) -> tuple[int, bytes]:
        headers = {"Accept": "application/json", "User-Agent": "gpu-quota-portal"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if time.monotonic() > self._until:
            raise _late()
        timeout = urllib3.Timeout(connect=CONNECT, read=min(READ, TOTAL))
        try:
            response = self._pool.request(
                "GET", url, headers=headers, timeout=timeout, retries=False, redirect=False,
                preload_content=False,
            )  # fmt: skip
            try:
                body = self._body(response)
            except BaseException:
                response.close()
                raise
            response.release_conn()
            return response.status, body
        except (http.HTTPError, OSError) as error:
            raise _failure(error) from None

    def _body(self, response: urllib3.BaseHTTPResponse) -> bytes:
        parts: list[bytes] = []
        size = 0
        for part in pieces(response):
            size += len(part)
            if size > LARGEST:
                said = _("The answer is larger than %(most)d MiB.")
                raise TooLarge(said % {"most": LARGEST >> 20})
            if time.monotonic() > self._until:
                raise _late()
            parts.append(part)
        return b"".join(parts)


def milliseconds(text: str) -> int:
    """Return a duration as Prometheus writes it (1m30s) in milliseconds; 0 if it is none."""
    found = _DURATION.fullmatch(text)
    parts = found.groups() if found and text else ()
    return sum(int(part) * unit for part, unit in zip(parts, _UNITS, strict=False) if part)


def _tls(place: Place) -> bool:
    return urlsplit(place.server).scheme == "https"


def trust(ca_pem: str) -> ssl.SSLContext:
    """Return a context that trusts this CA and nothing else, or those of the system."""
    if not ca_pem:
        return ssl.create_default_context()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_verify_locations(cadata=ca_pem)
    except (ssl.SSLError, ValueError):
        raise NotTrusted(_("This is no CA certificate in PEM."), field="ca_pem") from None
    return context


def _checked(allowed: Callable[[str], bool]) -> dict[str, Any]:
    """Return pools that ask about the address they are connected to before they say a word.

    Looking the name up beforehand would not do: it can have another address a moment later.
    """

    def check(found: socket.socket) -> socket.socket:
        address = str(found.getpeername()[0])
        if allowed(address):
            return found
        found.close()
        said = _("The address %(address)s is not allowed.") % {"address": address}
        raise Unreachable(said, field="server")

    class Plain(HTTPConnection):
        def _new_conn(self) -> socket.socket:
            return check(super()._new_conn())

    class Secure(HTTPSConnection):
        def _new_conn(self) -> socket.socket:
            return check(super()._new_conn())

    class PlainPool(urllib3.HTTPConnectionPool):
        ConnectionCls = Plain

    class SecurePool(urllib3.HTTPSConnectionPool):
        ConnectionCls = Secure

    return {"http": PlainPool, "https": SecurePool}


def _failure(error: Exception) -> MetricsError:
    phase, reason = explain_failure(error)
    if phase == "tls":
        said = _("The certificate is not trusted: %(reason)s") % {"reason": one_line(reason, 200)}
        return NotTrusted(said, field="ca_pem")
    if phase == "connect":
        return Unreachable(_("No connection: %(reason)s") % {"reason": reason}, field="server")
    if "time" in reason:
        return _late()
    return Unreachable(_("No answer: %(reason)s") % {"reason": reason}, field="server")


def _late() -> TooSlow:
    return TooSlow(_("Prometheus did not answer in time."))


def _strange() -> NotPrometheus:
    return NotPrometheus(_("What answers there is not Prometheus."), field="server")


def _read(body: bytes) -> dict[str, Any]:
    """Read JSON without a binary fraction; what is none, as a page of a proxy, is no answer."""
    try:
        found = json.loads(body, parse_float=Decimal, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _no_constant(name: str) -> None:
    raise ValueError(name)


def _refusal(status: int, found: Mapping[str, Any]) -> MetricsError:
    """Say what an answer means that is no success."""
    said = one_line(str(found.get("error", "")), 300)
    if found.get("errorType") in ("timeout", "canceled"):
        return _late()
    if status == 429 or status >= 500:
        return Busy(_("Prometheus has trouble (%(status)d). %(said)s") % {"status": status, "said": said})  # fmt: skip
    if found.get("status") == "error":
        return QueryRefused(_("Prometheus does not answer this: %(said)s") % {"said": said})
    return _strange()


def _labels(each: Mapping[str, Any]) -> dict[str, str]:
    labels = each["metric"]
    if not isinstance(labels, dict):
        raise TypeError
    return {str(key): str(value) for key, value in labels.items()}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _milliseconds(when: Any) -> int:
    """Return a time; a number of any length is no time."""
    found = number(str(when))
    if found is None or abs(found) > _LATEST:
        raise ValueError
    return int(found * 1000)
