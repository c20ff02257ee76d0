"""Pages by key for programs: a sealed cursor, and a clear no to what cannot be read.

A page for people forgives (:mod:`portal.web.lists`); a program that sends nonsense has a bug,
and the first page instead of the asked one would hide it. A cursor is encrypted: it holds the
key of a row, and that row may belong to somebody else.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Generic, TypeVar

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from django.conf import settings
from django.db.models import Model, QuerySet
from django.http import QueryDict
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from portal.web.errors import Refused
from portal.web.lists import LARGEST, SIZE, behind, plain, value_of, with_key

M = TypeVar("M", bound=Model)
Orders = Mapping[str, tuple[str, ...]]
#: What every list understands beside its own filters.
COMMON: Final = ("sort", "size", "after")
LONGEST: Final = 1000


class BadCursor(Refused):
    """``after`` is not a cursor of this list and this sort."""

    code = "GP-1420"
    status = 400


class BadQuery(Refused):
    """A parameter is unknown, given twice, or has a value that it cannot have."""

    code = "GP-1421"
    status = 400


@dataclass(frozen=True, slots=True)
class Window(Generic[M]):
    """One page of rows, and where the next one begins (empty: this is the last)."""

    rows: list[M]
    after: str


@dataclass(frozen=True, slots=True)
class Asked:
    """What a query says about a list: ``size`` rows in the order ``sort``, after a place."""

    name: str
    sort: str
    size: int
    fields: tuple[str, ...]
    place: list[Any] | None


def asked(query: QueryDict, name: str, orders: Orders) -> Asked:
    """Read ``sort``, ``size`` and ``after`` of the list ``name``, or refuse with a 400."""
    sort = _sort(query.get("sort", ""), orders)
    fields = with_key(orders[sort])
    token = query.get("after", "")
    place = unseal(token, [name, sort]) if "after" in query else None
    if place is not None and len(place) != len(fields):
        raise BadCursor(_("This cursor is not one of this list."), field="after")
    return Asked(name, sort, _size(query.get("size")), fields, place)


def window(rows: QuerySet[M], wanted: Asked) -> Window[M]:
    """Cut one page out of ``rows``. The fields of the order must not be null."""
    if wanted.place:
        rows = behind(rows, wanted.fields, wanted.place)
    found = list(rows.order_by(*wanted.fields)[: wanted.size + 1])
    page = found[: wanted.size]
    more = len(found) > len(page)
    return Window(page, cursor(page[-1], wanted) if more else "")


def cursor(row: Model, wanted: Asked) -> str:
    """Seal the place of a row."""
    place = [plain(value_of(row, name.lstrip("-"))) for name in wanted.fields]
    return seal([wanted.name, wanted.sort], place)


def only(query: QueryDict, known: Collection[str]) -> None:
    """Refuse a parameter that nobody reads: a typing error must not look like an answer."""
    for name, values in query.lists():
        if name not in known:
            listed = ", ".join(sorted(known)) or "-"
            said = _("There is no such parameter here. Known are: %(known)s.") % {"known": listed}
            raise BadQuery(said, field=name[:80])
        if len(values) > 1:
            raise BadQuery(_("This parameter may be given once."), field=name)


def _sort(given: str, orders: Orders) -> str:
    if not given:
        return next(iter(orders))
    if given not in orders:
        said = _("There is no such order. Known are: %(known)s.") % {"known": ", ".join(orders)}
        raise BadQuery(said, field="sort")
    return given


def _size(given: str | None) -> int:
    if given is None:
        return SIZE
    number = int(given) if given.isascii() and given.isdecimal() and len(given) < 6 else 0
    if not 1 <= number <= LARGEST:
        said = _("Write a whole number from 1 to %(most)d.") % {"most": LARGEST}
        raise BadQuery(said, field="size")
    return number


# --- sealing --------------------------------------------------------------------------------------


def seal(bound: list[str], place: list[Any]) -> str:
    """Encrypt a place; the same place gives the same text, so that equal pages are equal."""
    text = json.dumps(place, separators=(",", ":"), ensure_ascii=False).encode()
    sealed = _cipher(settings.SECRET_KEY).encrypt(text, [_bytes(bound)])
    return base64.urlsafe_b64encode(sealed).decode().rstrip("=")


def unseal(token: str, bound: list[str]) -> list[Any]:
    """Return the place in a cursor that this portal sealed for this list and order."""
    for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        place = _open(token, bound, key)
        if place is not None:
            return place
    said = _(
        "This cursor cannot be read: take it unchanged from the answer before, with the same sort."
    )
    raise BadCursor(said, field="after")


def _open(token: str, bound: list[str], key: str) -> list[Any] | None:
    if not token or len(token) > LONGEST:
        return None
    try:
        sealed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        place: list[Any] = json.loads(_cipher(key).decrypt(sealed, [_bytes(bound)]))
    except (InvalidTag, binascii.Error, ValueError):
        return None
    return place


def _bytes(bound: list[str]) -> bytes:
    return json.dumps(bound).encode()


@cache
def _cipher(key: str) -> AESSIV:
    secret = salted_hmac("portal.web.cursors", b"key", secret=key, algorithm="sha512").digest()
    return AESSIV(secret)
