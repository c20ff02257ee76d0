"""Records of a small cluster for the tests of the ledger: times in words, one pool."""

from datetime import UTC, datetime
from typing import Any

from costs.facts import Grant, Hold, HourFacts, NodeTime, Phase, Pool, Records
from costs.ledger import ledger
from costs.lending import Quota
from costs.steps import Dated
from costs.times import HOUR, Span, instant

A100 = Pool("a100", "nvidia.com/gpu")
DAY = instant(datetime(2026, 11, 2, tzinfo=UTC))


def at(clock: str, day: int = DAY) -> int:
    """Return an instant of the day: "10:20" or "10:20:30"."""
    hour, minute, *second = map(int, clock.split(":"))
    return day + hour * HOUR + minute * 60 + sum(second)


def span(starts: str, ends: str) -> Span:
    return Span(at(starts), at(ends))


def hold(starts: str, ends: str, amount: int, queue: str = "a", phase: Phase = Phase.ADMITTED, **k):
    return Hold(queue, A100, phase, span(starts, ends), amount, **k)


def grant(nominal: int, *path: str, lending: int | None = None, starts: int = 0) -> Dated[Grant]:
    return Dated([(starts, Grant(path, Quota(nominal, lending)))])


def records(holds: Any = (), *, nodes: int = 0, **queues: Dated[Grant]) -> Records:
    """Return records of queues that are each their own tenant, in capitals."""
    found = [NodeTime("n", A100, "ready", Span(0, DAY * 2), nodes)] if nodes else []
    return Records(
        holds=list(holds),
        grants={(queue, A100): dated for queue, dated in queues.items()},
        owners={queue: Dated([(0, queue.upper())]) for queue in queues},
        nodes=found,
        uses=[],
    )


def one_hour(found: Records, clock: str = "00:00") -> HourFacts:
    (hour,) = ledger(found, Span(at(clock), at(clock) + HOUR))
    return hour


def fact(hour: HourFacts, tenant: str) -> Any:
    return next(each for each in hour.facts if each.tenant == tenant)
