"""What a bill and the cluster say differently about machines, and what it is worth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final, NamedTuple

from costs.billing import match
from costs.machines import Machine, Place
from costs.matching import Matched, Matcher, Method, Subject
from costs.money import WIDE
from costs.spreading import Amounts
from costs.states import Code, Finding
from costs.times import HOUR

#: Amounts of the matching are in 10^-12, rates are kept to ten places.
_UNITS: Final = 10**12
_RATE_PLACES: Final = 10


class Difference(NamedTuple):
    """A finding about a machine, its cluster if it was in one, and the money it is worth.

    ``facts`` are what else its sentence is made of.
    """

    finding: Finding
    cluster: str
    node: str
    money: Fraction
    facts: Mapping[str, str | int] = {}


def differences(
    matcher: Matcher, *, elsewhere: Collection[tuple[str, str]] = ()
) -> Iterator[Difference]:
    """Yield what was found about each machine of a bill, also what agrees.

    ``elsewhere`` are nodes (cluster and name) that other bills name, which this one need not.
    Only hours between the first and the last of the bill that were counted are compared.
    """
    found = matcher.found
    window = _window(found)
    whole = _by_subject(found)
    for subject, one in whole.items():
        if subject.method is Method.MACHINE or subject.bucket == "*orphan":
            seen = _seen_of(matcher, subject, window)
            yield _about(subject, one, seen)
    yield from _unbilled(matcher, whole, window, elsewhere)
    for name in sorted(found.conflicts):
        yield Difference(Finding(Code.FLAVOR_CONFLICT, name), "", "", Fraction(0))


def _window(found: Matched) -> tuple[int, int]:
    """Return the first hour that was billed for machine time, and the end of the last."""
    timed = [hour for (_place, hour), one in found.pools.items() if one.timed]
    return (min(timed), max(timed) + HOUR) if timed else (0, 0)


def _by_subject(found: Matched) -> dict[Subject, Amounts]:
    """Add the days up; a machine whose devices have changed is still one."""
    whole: dict[Subject, Amounts] = {}
    first: dict[tuple[str, str, str], Subject] = {}
    for (subject, _day), one in sorted(found.days.items(), key=lambda each: each[0][1]):
        key = (subject.resource, subject.method.value, subject.bucket)
        whole.setdefault(first.setdefault(key, subject), Amounts()).add(one)
    return whole


def _seen_of(matcher: Matcher, subject: Subject, window: tuple[int, int]) -> int:
    machines = matcher.machines.of(subject.resource) if subject.node else []
    return sum(_seen(matcher, each, window) for each in machines)


def _seen(matcher: Matcher, machine: Machine, window: tuple[int, int]) -> int:
    counted = matcher.counted.get(machine.cluster, set())
    return sum(machine.seen(hour) for hour in range(*window, HOUR) if hour in counted)


def _about(subject: Subject, one: Amounts, seen: int) -> Difference:
    billed = one.seconds - one.unknown
    cluster = subject.place.cluster if subject.place else ""
    rate = _rate(one.effective, one.seconds)
    if not billed and not seen:
        finding = Finding(Code.PROVISIONAL, subject.resource)
        return Difference(finding, cluster, subject.node, Fraction(0))
    found = match(subject.resource, billed, seen, rate, absent=one.orphan)
    return Difference(found.finding, cluster, subject.node, found.money)


def _rate(units: int, seconds: int) -> Decimal:
    """Return an amount per hour; nothing where no time was billed."""
    if not seconds:
        return Decimal(0)
    places = 10**_RATE_PLACES
    return Decimal(round(Fraction(units * HOUR * places, seconds * _UNITS))).scaleb(
        -_RATE_PLACES, WIDE
    )


def _unbilled(
    matcher: Matcher,
    whole: dict[Subject, Amounts],
    window: tuple[int, int],
    elsewhere: Collection[tuple[str, str]],
) -> Iterator[Difference]:
    """Yield nodes of the bill's clusters that it does not name."""
    named = [each for each in matcher.machines.all if id(each) in matcher.named]
    clusters = {each.cluster for each in named}
    paid = {s.place for s in whole if s.method in (Method.TAG, Method.GROUP) and s.place}
    known = {(each.cluster, each.node) for each in named} | set(elsewhere)
    rates = _rates(whole)
    for each in sorted(matcher.machines.all, key=lambda one: (one.cluster, one.node)):
        if each.cluster not in clusters or (each.cluster, each.node) in known:
            continue
        seen = _seen(matcher, each, window)
        if seen and not each.places & paid:
            rate = next(
                (rates[place] for place in sorted(each.places) if place in rates), Decimal(0)
            )
            found = match(each.node, 0, seen, rate)
            yield Difference(found.finding, each.cluster, each.node, found.money)


def _rates(whole: dict[Subject, Amounts]) -> dict[Place, Decimal]:
    """Return what a machine of each pool costs for an hour, on average."""
    sums: dict[Place, list[int]] = defaultdict(lambda: [0, 0])
    for subject, one in _machines(whole):
        if subject.place:
            sums[subject.place][0] += one.effective
            sums[subject.place][1] += one.seconds
    return {place: _rate(*both) for place, both in sums.items()}


def _machines(whole: dict[Subject, Amounts]) -> Iterable[tuple[Subject, Amounts]]:
    return ((subject, one) for subject, one in whole.items() if subject.node and one.seconds)
