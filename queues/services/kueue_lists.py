"""Asks Kueue for its own lists: a few questions at a time, in threads, and never too often.

Every question makes Kueue copy and sort a whole queue, so it is asked only when it is worth
it (:mod:`queues.services.positions` decides) and left alone when it says so.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import structlog

from kube import errors
from kube.client import ClusterClient
from kube.errors import ClusterError
from kube.visibility import LONG_PAGE, OLD_VERSION, PAGE, VERSION, Pending, pending
from queues.models import QueueOrder

log = structlog.get_logger(__name__)

AT_ONCE: Final = 4  # questions to one Kueue; its flow control gives one account no more
DEPTH: Final = 2_000  # workloads of one queue that are compared, those in front
BACK_OFF: Final = 15.0  # seconds of silence after an answer that was not a list
FIRST_WAIT: Final = 2.0  # seconds after the first 429 without a time; doubled with each further
LONGEST_WAIT: Final = 60.0
HOPELESS: Final = 600.0  # seconds until a cluster without the API is asked again

Trouble = QueueOrder.Trouble


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one question: a list, or the trouble there was (``""`` with a list)."""

    queue: str
    found: Pending | None = None
    trouble: str = ""


class KueueLists:
    """The questions to one cluster's Kueue. Not for several threads: its own are inside."""

    def __init__(self, client: ClusterClient, *, long_lists: bool = False) -> None:
        """Ask through ``client``; ``long_lists`` when this Kueue bears more than 1,000 rows."""
        self.client = client
        self.page_size = LONG_PAGE if long_lists else PAGE
        self.quiet_until = 0.0
        self._version = VERSION
        self._throttled = 0
        self._asked: dict[str, Future[Pending]] = {}
        self._threads: ThreadPoolExecutor | None = None

    def ask(self, queue: str, depth: int, now: float) -> bool:
        """Ask for the first ``depth`` workloads of a queue; ``False`` when it is not the time."""
        if now < self.quiet_until or queue in self._asked or len(self._asked) >= AT_ONCE:
            return False
        if self._threads is None:
            self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="kueue-lists")
        self._asked[queue] = self._threads.submit(
            pending, self.client, queue, limit=max(1, min(depth, DEPTH)),
            page_size=self.page_size, version=self._version,
        )  # fmt: skip
        return True

    def answers(self, now: float) -> list[Answer]:
        """Return what has come meanwhile; never waits."""
        done = [queue for queue, asked in self._asked.items() if asked.done()]
        return [self._answer(queue, self._asked.pop(queue), now) for queue in done]

    def close(self) -> None:
        """Drop what was not asked yet; questions under way end by their own time limits."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _answer(self, queue: str, asked: Future[Pending], now: float) -> Answer:
        try:
            found = asked.result()
        except ClusterError as error:
            log.warning("kueue_list_missing", queue=queue, code=error.code, status=error.status)
            return Answer(queue, trouble=self._trouble(error, now))
        self._throttled = 0
        return Answer(queue, found)

    def _trouble(self, error: ClusterError, now: float) -> str:
        """Decide for how long Kueue is left alone, and what to call it."""
        if isinstance(error, errors.NotFound):
            return Trouble.UNKNOWN_QUEUE
        if isinstance(error, errors.Throttled):
            wait = min(FIRST_WAIT * 2**self._throttled, LONGEST_WAIT)
            self._throttled = min(self._throttled + 1, 10)
            self.quiet_until = now + (error.retry_after or wait)
            return Trouble.THROTTLED
        if isinstance(error, errors.NotVisible) and not error.retry:
            return self._absent(now)
        self.quiet_until = now + max(BACK_OFF, error.retry_after or 0.0)
        return Trouble.FORBIDDEN if isinstance(error, errors.Forbidden) else Trouble.SILENT

    def _absent(self, now: float) -> str:
        """Try the older version once: a cluster may serve only that."""
        if self._version == VERSION:
            self._version = OLD_VERSION
        else:
            self._version = VERSION
            self.quiet_until = now + HOPELESS
        return Trouble.ABSENT
