"""Stored hours for tests of pages: each is named by its day and hour of November 2026."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from costs.facts import HourFacts, PoolFact, Quality
from costs.services import facts
from costs.times import HOUR, Span, instant
from tests.costs.make import A100
from tests.costs.test_policy import NOTHING

NOVEMBER = instant(datetime(2026, 11, 1, tzinfo=UTC))
DAY = 24 * HOUR


def at(day: int, hour: int = 0) -> int:
    return NOVEMBER + (day - 1) * DAY + hour * HOUR


def fact(when: int, tenant: str, pool=A100, quality=Quality.OBSERVED, use=None, **gpus: int) -> Any:
    """Return an hour in which so many GPUs were committed, own, borrowed and so on."""
    held = gpus.get("own", 0) + gpus.get("borrowed", 0)
    counted = {"held": held, "admitted": held, "held_least": held, "held_most": held} | gpus
    known = {key: number * HOUR for key, number in counted.items()}
    coverage = 0 if quality is Quality.MISSING else 1800 if quality is Quality.PARTIAL else HOUR
    return replace(
        NOTHING, hour=when, tenant=tenant, pool=pool, quality=quality, use=use, coverage=coverage, **known
    )  # fmt: skip


def pool(when: int, ready: int = 32, of=A100, cordoned: int = 0, down: int = 0, nominal: int = 0):
    return PoolFact(
        when, of, ready * HOUR, cordoned * HOUR, down * HOUR, nominal * HOUR, borrowed=0, overdraft=0
    )  # fmt: skip


def store(cluster: Any, *found: Any, devices: int = 32, **of: int) -> None:
    """Write hours, each with the pools that its facts are in; those in a row are one span."""
    hours: dict[int, list[Any]] = {}
    for each in found:
        hours.setdefault(each.hour, []).append(each)
    for span in joined(sorted(hours)):
        rows = []
        for when in range(span.starts, span.ends, HOUR):
            pools = {one.pool: pool(when, devices, one.pool, **of) for one in hours[when]}
            rows.append(HourFacts(when, tuple(hours[when]), tuple(pools.values())))
        facts.store(cluster=cluster, span=span, found=rows)


def joined(hours: list[int]) -> list[Span]:
    """Return hours in their order as spans without a hole."""
    spans: list[Span] = []
    for when in hours:
        if spans and spans[-1].ends == when:
            spans[-1] = Span(spans[-1].starts, when + HOUR)
        else:
            spans.append(Span(when, when + HOUR))
    return spans


def said(answer: Any) -> str:
    """Return the words of a page, with a space where a tag was."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.content.decode()))
