"""Tells open pages, through Redis, that something they show has moved to a new generation.

One message a call: "generation n: these topics". A generation is the time of the Redis server in
microseconds, raised where two would be equal, so it goes on rising when Redis loses its data.
Redis also keeps the newest generation of each topic for those who connect later, and a floor:
what it does not know of was announced before the floor, or never.

An announcement may be lost without harm. A page asks now and then by itself, and what it then
gets is compared by its ETag, never by a generation.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit
from uuid import UUID

import redis
import structlog
from django.conf import settings
from django.db import transaction

from queues import topics
from queues.models import Apply, Plan
from tenants.models import Request

log = structlog.get_logger(__name__)

GENERATION: Final = "gpuportal:live:generation"
TOPICS: Final = "gpuportal:live:topics"
FLOOR: Final = "gpuportal:live:floor"
#: Topics whose generation is kept; older ones sink below the floor.
KEPT: Final = 20_000
#: Redis must not slow down who announces: after a failure nothing is tried for a while.
TIMEOUT: Final = 0.3  # seconds
PAUSE: Final = 5.0  # seconds
#: First word of a message that asks to look again at a person's sessions and rights.
PERSON: Final = "person"

#: One step inside Redis, so that messages leave in the order of their generations.
SCRIPT: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local last = tonumber(redis.call('GET', KEYS[1]) or '0')
local n = string.format('%.0f', math.max(now, last + 1))
redis.call('SET', KEYS[1], n)
redis.call('SET', KEYS[3], n, 'NX')
for i = 3, #ARGV do redis.call('ZADD', KEYS[2], n, ARGV[i]) end
local over = redis.call('ZCARD', KEYS[2]) - tonumber(ARGV[2])
if over > 0 then
  local cut = redis.call('ZRANGE', KEYS[2], over - 1, over - 1, 'WITHSCORES')
  redis.call('SET', KEYS[3], cut[2])
  redis.call('ZREMRANGEBYRANK', KEYS[2], 0, over - 1)
end
redis.call('PUBLISH', ARGV[1], n .. ' ' .. table.concat(ARGV, ' ', 3))
return n
"""

Row = Request | Plan | Apply
_quiet_until = 0.0


class _Moved(threading.local):
    """Requests that the open transaction of this thread has moved; too many do no harm."""

    def __init__(self) -> None:
        self.ids: set[UUID] = set()


_moved = _Moved()


def channel(url: str) -> str:
    """Return the channel of a portal: Redis' databases share their channels, portals do not."""
    return f"gpuportal:live:{urlsplit(url).path.strip('/') or '0'}"


@lru_cache(maxsize=4)
def _client(url: str) -> tuple[redis.Redis, Any]:
    client = redis.Redis.from_url(
        url, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT, retry=None
    )
    return client, client.register_script(SCRIPT)


def say(names: Iterable[str]) -> bool:
    """Announce topics now, in one message; False when Redis did not take it."""
    told = sorted(set(names))
    if not told:
        return True
    url = settings.REDIS_URL
    arguments = (channel(url), KEPT, *told)
    return _try(lambda: _client(url)[1](keys=(GENERATION, TOPICS, FLOOR), args=arguments))


def look_again_at(user_id: int) -> bool:
    """Ask for a fresh look at a person's sessions and rights, now instead of within seconds."""
    url = settings.REDIS_URL
    return _try(lambda: _client(url)[0].publish(channel(url), f"{PERSON} {user_id}"))


def _try(call: Any) -> bool:
    global _quiet_until
    if time.monotonic() < _quiet_until:
        return False
    try:
        call()
    except (redis.RedisError, OSError) as error:
        _quiet_until = time.monotonic() + PAUSE
        log.warning("announcement_lost", error=str(error))
        return False
    return True


def moved(row: Row) -> None:
    """Announce the request that a row is or belongs to, once the transaction is committed."""
    _moved.ids.add(row.pk if isinstance(row, Request) else row.request_id)
    transaction.on_commit(_say_moved)


def _say_moved() -> None:
    """Announce in one message all that a transaction has moved; the first call takes it all."""
    ids, _moved.ids = _moved.ids, set()
    if ids:
        requests_moved(ids)


def requests_moved(ids: Collection[UUID]) -> bool:
    """Announce requests, and with them what lists them."""
    rows = Request.objects.filter(pk__in=ids, tenant__isnull=False)
    tenants = rows.values_list("tenant__slug", flat=True)
    return say([topics.REQUESTS, *map(topics.request, ids), *map(topics.tenant, tenants)])
