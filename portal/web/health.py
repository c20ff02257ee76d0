"""Is the process alive, and can it do its work? Two different questions."""

import time
from collections.abc import Callable
from functools import lru_cache

import redis
import structlog
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

log = structlog.get_logger(__name__)
SECONDS = 1.0


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """Answer that the process is alive: whoever asks may restart it when this fails."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Answer whether requests should be sent here: database, migrations, Redis.

    Anybody may ask, so the answer names the part and nothing else; the log says why.
    """
    parts = {name: state(name, check) for name, check in CHECKS.items()}
    ready = all(value == "ok" for value in parts.values())
    body = {"status": "ok" if ready else "unavailable", "checks": parts}
    return JsonResponse(body, status=200 if ready else 503)


def state(name: str, check: Callable[[], None]) -> str:
    """Run one check and put its outcome in a word."""
    started = time.monotonic()
    try:
        check()
    except (DatabaseError, redis.RedisError, OSError, NotMigratedError) as error:
        seconds = round(time.monotonic() - started, 3)
        log.warning("not_ready", part=name, error=str(error), seconds=seconds)
        return "failed"
    return "ok"


class NotMigratedError(Exception):
    """The tables are of another version than the code."""


def check_database() -> None:
    """Ask the database for one row."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def check_migrations() -> None:
    """Compare the migrations of the code with those recorded in the database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT app, name FROM django_migrations")
        applied = set(cursor.fetchall())
    missing = known_migrations() - applied
    if missing:
        message = f"not applied: {sorted(missing)}"
        raise NotMigratedError(message)


@lru_cache(maxsize=1)
def known_migrations() -> frozenset[tuple[str, str]]:
    """Read the migrations from disk once: the code does not change while it runs."""
    loader = MigrationLoader(None, ignore_no_migrations=True)
    return frozenset(loader.disk_migrations or ())


def check_redis() -> None:
    """Send PING, with short limits: a Redis that hangs must not hang this answer."""
    client = redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=SECONDS, socket_connect_timeout=SECONDS, retry=None
    )
    try:
        client.ping()
    finally:
        client.close()


CHECKS: dict[str, Callable[[], None]] = {
    "database": check_database,
    "migrations": check_migrations,
    "redis": check_redis,
}

PROBES: dict[str, Callable[[HttpRequest], HttpResponse]] = {"/healthz": healthz, "/readyz": readyz}
