"""The one subscription to Redis of a live process."""

from __future__ import annotations

import asyncio
from typing import Any, Final, Protocol

import redis.asyncio as redis
import structlog
from redis.exceptions import RedisError

from portal.live.hub import Hub
from queues.services import announce

log = structlog.get_logger(__name__)

QUIET: Final = 5.0  # seconds without a message, after which Redis is asked whether it lives
PAUSES: Final = (0.1, 0.5, 1.0, 2.0)  # seconds between tries to connect


class LooksAgain(Protocol):
    """Who is told that a person's rights have changed."""

    def look_again_at(self, user_id: int) -> None:
        """Look at a person's streams now."""


class Feed:
    """Brings what is announced to the hub, for as long as ``run`` runs."""

    def __init__(self, url: str, hub: Hub, people: LooksAgain) -> None:
        """Connect to nothing yet."""
        self.channel = announce.channel(url)
        self.hub = hub
        self.people = people
        # A read waits for messages, so only connecting and writing have a limit here.
        self.client = redis.Redis.from_url(
            url, socket_connect_timeout=2, socket_timeout=2 * QUIET, decode_responses=True
        )

    async def run(self) -> None:
        """Follow the channel; a connection that ends is opened again."""
        tries = 0
        while True:
            try:
                await self._follow()
            except (RedisError, OSError, TimeoutError) as error:
                tries = 0 if self.hub.sees else tries + 1
                self.hub.blind()
                if tries <= 1:
                    log.warning("live_without_redis", error=str(error))
            await asyncio.sleep(PAUSES[min(tries, len(PAUSES) - 1)])

    async def _follow(self) -> None:
        async with self.client.pubsub() as listening:
            await listening.subscribe(self.channel)
            await self._load()
            log.info("live_sees", generation=self.hub.generation)
            asked = False
            while True:
                message = await listening.get_message(timeout=QUIET)
                if message is not None:
                    asked = False
                    self._take(message)
                elif asked:
                    message = "Redis does not answer"
                    raise TimeoutError(message)
                else:
                    asked = True
                    await listening.ping()

    async def _load(self) -> None:
        """Read what was announced before; the subscription is open, so nothing falls between."""
        async with self.client.pipeline(transaction=True) as pipe:
            pipe.time()
            pipe.get(announce.GENERATION)
            pipe.get(announce.FLOOR)
            pipe.zrange(announce.TOPICS, 0, -1, withscores=True)
            time, generation, floor, known = await pipe.execute()
        now = time[0] * 1_000_000 + time[1]
        self.hub.loaded(
            now,
            int(generation) if generation else None,
            int(float(floor)) if floor else None,
            {name: int(at) for name, at in known},
        )

    def _take(self, message: dict[str, Any]) -> None:
        if message["type"] != "message":
            return
        first, *rest = str(message["data"]).split(" ")
        if first == announce.PERSON and rest[:1] and rest[0].isdecimal():
            self.people.look_again_at(int(rest[0]))
        elif first.isdecimal():
            self.hub.told(int(first), rest)

    async def close(self) -> None:
        """Close the connections."""
        await self.client.aclose()
