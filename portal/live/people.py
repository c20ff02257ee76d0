"""Sessions and rights behind the streams: many at once, in threads, and again and again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Final, NamedTuple

import structlog
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.db import DatabaseError, InterfaceError, close_old_connections
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from portal.live.hub import Hub, Stream
from queues.selectors.listening import needs
from tenants import access
from tenants.models import Session, User
from tenants.sessions import SessionStore

log = structlog.get_logger(__name__)

EVERY: Final = 3.0  # seconds between two looks at every open stream
#: Seconds without a look that worked, after which nobody is known to be allowed any more.
BLIND: Final = 15.0
#: Sessions of one query.
BATCH: Final = 500


class Wish(NamedTuple):
    """A session that wants to listen to topics."""

    session: str
    topics: tuple[str, ...]


class Answer(NamedTuple):
    """Who that is; nobody is signed out. ``allowed`` counts only for somebody."""

    user_id: int | None
    allowed: bool = False


class Signed(NamedTuple):
    """What a session says about its person."""

    user_id: int
    proof: str


class Unsure(Exception):
    """The database did not answer, so nobody can be let in."""


# --- the look itself, in a thread -------------------------------------------------------------


def look(wishes: Sequence[Wish], *, strict: bool = True) -> list[Answer]:
    """Answer each wish with the rows of now, in a handful of queries for all of them.

    Without ``strict`` a topic that is gone takes nothing: nobody will announce it any more.
    """
    signed = _sessions({wish.session for wish in wishes})
    passwords = dict(
        User.objects.filter(pk__in={each.user_id for each in signed.values()}, is_active=True)
        .values_list("pk", "password")
    )  # fmt: skip
    people = {
        session: each.user_id for session, each in signed.items()
        if each.user_id in passwords and _proven(each.proof, passwords[each.user_id])
    }  # fmt: skip
    held = access.rights_of(set(people.values()))
    needed = needs({topic for wish in wishes for topic in wish.topics if wish.session in people})
    answers = []
    for wish in wishes:
        user_id = people.get(wish.session)
        if user_id is None:
            answers.append(Answer(None))
            continue
        found = [needed.get(topic) for topic in wish.topics]
        allowed = all(need.met(held[user_id]) if need else not strict for need in found)
        answers.append(Answer(user_id, allowed))
    return answers


def _sessions(keys: set[str]) -> dict[str, Signed]:
    rows = Session.objects.filter(session_key__in=keys, expire_date__gt=timezone.now())
    found = {}
    for key, data in rows.values_list("session_key", "session_data"):
        signed = _signed(data)
        if signed is not None:
            found[key] = signed
    return found


@lru_cache(maxsize=10_000)
def _signed(data: str) -> Signed | None:
    """Read a session as ``django.contrib.auth.get_user`` does."""
    values = SessionStore().decode(data)
    if values.get(BACKEND_SESSION_KEY) not in settings.AUTHENTICATION_BACKENDS:
        return None
    user_id, proof = str(values.get(SESSION_KEY, "")), str(values.get(HASH_SESSION_KEY, ""))
    return Signed(int(user_id), proof) if user_id.isdecimal() and proof else None


def _proven(proof: str, password: str) -> bool:
    return any(constant_time_compare(proof, each) for each in _proofs(password))


@lru_cache(maxsize=10_000)
def _proofs(password: str) -> tuple[str, ...]:
    """Return what a session of somebody with this password hash holds, old keys included."""
    user = User(password=password)
    return user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()


def _in_thread(wishes: Sequence[Wish], *, strict: bool) -> list[Answer]:
    close_old_connections()
    try:
        return look(wishes, strict=strict)
    finally:
        close_old_connections()


# --- around it, in the event loop ---------------------------------------------------------------


class People:
    """Lets people in, and ends the streams of those who may no longer listen."""

    def __init__(self, hub: Hub) -> None:
        """Know nobody; two threads, so that letting in never waits for a look at all."""
        self.hub = hub
        self._waiting: list[tuple[Wish, asyncio.Future[Answer]]] = []
        self._called = asyncio.Event()
        self._again: set[int] = set()
        self._hurry = asyncio.Event()
        self._threads = ThreadPoolExecutor(2, "people")

    async def ask(self, wish: Wish) -> Answer:
        """Ask about one wish; it goes into the next batch."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((wish, answer))
        self._called.set()
        return await answer

    async def let_in(self) -> None:
        """Answer wishes as they come: those that came during one look share the next."""
        while True:
            await self._called.wait()
            self._called.clear()
            while self._waiting:
                batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
                await self._answer(batch)

    async def _answer(self, batch: list[tuple[Wish, asyncio.Future[Answer]]]) -> None:
        try:
            answers = await self._look([wish for wish, _ in batch], strict=True)
        except Unsure as error:
            for _, waiting in batch:
                if not waiting.done():
                    waiting.set_exception(error)
            return
        for (_, waiting), answer in zip(batch, answers, strict=True):
            if not waiting.done():
                waiting.set_result(answer)

    def look_again_at(self, user_id: int) -> None:
        """Look at a person's streams before the next round."""
        self._again.add(user_id)
        self._hurry.set()

    async def watch(self) -> None:
        """Look at every stream every few seconds, and at some at once when told so."""
        good, due = time.monotonic(), time.monotonic() + EVERY
        while True:
            await self._pause(due - time.monotonic())
            full = time.monotonic() >= due
            people, self._again = self._again, set()
            try:
                if full:
                    due = time.monotonic() + EVERY
                    for group in self.hub.groups(BATCH):
                        await self._check(group)
                    good = time.monotonic()
                else:
                    await self._check([one for each in people for one in self.hub.of_person(each)])
            except Unsure:
                if time.monotonic() - good > BLIND:
                    log.warning("live_without_database", streams=len(self.hub.streams))
                    self.hub.end()

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._hurry.wait(), max(seconds, 0.0))
        except TimeoutError:
            return
        self._hurry.clear()

    async def _check(self, streams: list[Stream]) -> None:
        wishes = [Wish(stream.session, stream.topics) for stream in streams]
        answers = await self._look(wishes, strict=False) if wishes else []
        for stream, answer in zip(streams, answers, strict=True):
            if answer.user_id != stream.user_id or not answer.allowed:
                log.info(
                    "stream_ended", user_id=stream.user_id, signed_in=answer.user_id is not None
                )
                stream.bar()

    async def _look(self, wishes: list[Wish], *, strict: bool) -> list[Answer]:
        loop = asyncio.get_running_loop()
        call = loop.run_in_executor(self._threads, lambda: _in_thread(wishes, strict=strict))
        try:
            return await asyncio.wait_for(call, BLIND)
        except (DatabaseError, InterfaceError, TimeoutError) as error:
            log.warning("live_look_failed", error=type(error).__name__)
            raise Unsure from error

    def close(self) -> None:
        """Give the threads back."""
        self._threads.shutdown(wait=False, cancel_futures=True)
