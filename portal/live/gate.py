"""Who may ask at all: host, origin, cookie and the form of the question. No database here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from django.conf import settings
from django.http.cookie import parse_cookie
from django.http.request import split_domain_port, validate_host

from queues import topics

LONGEST_QUERY: Final = 8_000  # bytes
MOST_TOPICS: Final = 64
#: What a page may have missed while it was on its way, in milliseconds, at most.
OLDEST: Final = 600_000
SAFE_SITES: Final = frozenset({"same-origin", "same-site"})

Scope = Mapping[str, Any]


class Refused(Exception):
    """The answer is an error; ``text`` says no more than the status."""

    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True)
class Question:
    """What a browser asks for. ``since`` is a generation, ``age`` that of its page in ms."""

    session: str
    topics: tuple[str, ...]
    since: int | None
    age: int


def other_origin(headers: Mapping[str, str]) -> str:
    """Return the page's origin if it is another of the portal's own; refuse foreign ones.

    A browser leaves the header out where the page has the same origin, and then tells by
    Sec-Fetch-Site that it is so. Programs that are no browsers send neither.
    """
    host = headers.get("host", "")
    name, _port = split_domain_port(host)
    if not name or not validate_host(name, settings.ALLOWED_HOSTS):
        raise Refused(HTTPStatus.BAD_REQUEST, "unknown host")
    origin = headers.get("origin", "")
    own = f"{'https' if settings.HTTPS else 'http'}://{host}"
    if origin and origin != own and origin not in settings.CSRF_TRUSTED_ORIGINS:
        raise Refused(HTTPStatus.FORBIDDEN, "foreign origin")
    site = headers.get("sec-fetch-site", "same-origin")
    if site not in SAFE_SITES or (site == "same-site" and not origin):
        raise Refused(HTTPStatus.FORBIDDEN, "foreign origin")
    return "" if origin == own else origin


def question(scope: Scope, headers: Mapping[str, str]) -> Question:
    """Read a request, or refuse it."""
    if scope["method"] != "GET":
        raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, "GET only")
    session = parse_cookie(headers.get("cookie", "")).get(settings.SESSION_COOKIE_NAME, "")
    if not (session.isascii() and session.isalnum()):
        raise Refused(HTTPStatus.UNAUTHORIZED, "not signed in")
    return _question(scope, session, headers.get("last-event-id", ""))


def headers_of(scope: Scope) -> dict[str, str]:
    """Return the headers; of a repeated one the last, but all of the cookies."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key, text = name.decode("latin-1"), value.decode("latin-1")
        found[key] = f"{found[key]}; {text}" if key == "cookie" and key in found else text
    return found


def _question(scope: Scope, session: str, last: str) -> Question:
    query = scope["query_string"]
    if len(query) > LONGEST_QUERY:
        raise Refused(HTTPStatus.REQUEST_URI_TOO_LONG, "too long")
    asked = parse_qs(query.decode("latin-1"))
    names = tuple(sorted({each for each in asked.get("topics", [""])[-1].split(",") if each}))
    if not names:
        raise Refused(HTTPStatus.BAD_REQUEST, "no topics")
    if len(names) > MOST_TOPICS:
        raise Refused(HTTPStatus.BAD_REQUEST, "too many topics")
    if any(topics.read(each) is None for each in names):
        raise Refused(HTTPStatus.NOT_FOUND, "no such topic")
    since = number(last or asked.get("since", [""])[-1])
    age = number(asked.get("age", [""])[-1])
    return Question(session, names, since, OLDEST if age is None else min(age, OLDEST))


def number(text: str) -> int | None:
    """Read a whole number of at most 16 digits; nonsense is none."""
    usable = text.isascii() and text.isdecimal() and len(text) <= 16
    return int(text) if usable else None


def path() -> str:
    """Return the path under which streams are served."""
    return urlsplit(f"//host{settings.LIVE_URL}").path.rstrip("/") or "/live"
