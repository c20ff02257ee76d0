"""Which queues people look at: marks in Redis that end by themselves.

Kueue is asked only about queues that somebody sees. A page or an API read sets the mark; it is
a hint, as in a cache, and no state: nothing is written to the database, a lost mark costs a
comparison with Kueue and nothing else, and a page never waits for it nor fails with it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import lru_cache

import redis
import structlog
from django.conf import settings

log = structlog.get_logger(__name__)

LASTS = 300  # seconds: longer than an open page stays without asking again
MOST = 50  # queues that one page may mark
PATIENCE = 0.3  # seconds that a page waits for Redis at most
AGAIN = 60.0  # seconds after which a process marks a queue again that it has marked
MARKS = 10_000  # queues that a process remembers to have marked
REST = 5.0  # seconds without a try after Redis did not answer
_resting: dict[str, float] = {}
_marked: dict[tuple[str, int, str], float] = {}


@lru_cache(maxsize=1)
def _redis(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE, retry=None
    )


def _key(cluster_id: int) -> str:
    return f"gpuportal:looked:{cluster_id}"


def _rests() -> bool:
    return time.monotonic() < _resting.get(settings.REDIS_URL, 0.0)


def _rest(error: Exception) -> None:
    """Leave Redis alone for a moment: pages must not wait for it one after the other."""
    _resting[settings.REDIS_URL] = time.monotonic() + REST
    log.warning("looks_unknown", error=type(error).__name__)


def look(seen: Iterable[tuple[int, str]]) -> None:
    """Note that somebody looks at these queues, given as (cluster id, name)."""
    fresh = [
        each for each in sorted({each for each in seen if each[1]})[:MOST] if not _stands(each)
    ]
    if not fresh or _rests():
        return
    marks: dict[int, dict[str, float]] = {}
    until = time.time() + LASTS
    for cluster_id, queue in fresh:
        marks.setdefault(cluster_id, {})[queue] = until
    try:
        with _redis(settings.REDIS_URL).pipeline(transaction=False) as pipe:
            for cluster_id, queues in marks.items():
                pipe.zadd(_key(cluster_id), queues)
                pipe.expire(_key(cluster_id), LASTS)
            pipe.execute()
    except (redis.RedisError, OSError) as error:
        _rest(error)
    else:
        _remember(fresh)


def _stands(place: tuple[int, str]) -> bool:
    """Return whether this process has marked a queue so lately that the mark still stands."""
    return time.monotonic() < _marked.get((settings.REDIS_URL, *place), 0.0)


def _remember(places: Iterable[tuple[int, str]]) -> None:
    if len(_marked) > MARKS:
        _marked.clear()
    until = time.monotonic() + AGAIN
    _marked.update(((settings.REDIS_URL, *each), until) for each in places)


def looked_at(cluster_id: int) -> frozenset[str]:
    """Return the queues of a cluster that somebody looked at lately; none without Redis."""
    key = _key(cluster_id)
    if _rests():
        return frozenset()
    try:
        with _redis(settings.REDIS_URL).pipeline(transaction=False) as pipe:
            pipe.zremrangebyscore(key, "-inf", time.time())
            pipe.zrange(key, 0, -1)
            found = pipe.execute()[1]
    except (redis.RedisError, OSError) as error:
        _rest(error)
        return frozenset()
    return frozenset(name.decode() for name in found)
