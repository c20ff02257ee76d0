"""What the metrics find that a person should look at: our records against Kueue's own gauges,
use that cannot be told, use of nobody, devices that several pods share.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from django.db.models import BigIntegerField, Count, F, Func, Max, Sum

from costs.comparing import Place, Tolerances
from costs.facts import Pool
from costs.models import GaugeHour, UsedHour
from costs.selectors.hours import within
from costs.states import HELD_AND_GAUGE, Code, Finding, Kind, Tolerance, compare
from costs.times import HOUR, Span
from costs.used import GOOD_FROM, MILLI, UNKNOWN_BELOW

DAY: Final = 24 * HOUR
#: Devices that are this busy without a pod are used by somebody whose name is lost.
BUSY: Final = Fraction(2, 100)
_WHOLE: Final = BigIntegerField()


def findings(cluster_id: int, span: Span) -> list[Finding]:
    """Return what was found in the hours of a span, the subjects in their order; four queries."""
    return [
        *held_and_gauge(span, {}, cluster_id),
        *_unknown(cluster_id, span),
        *_of_nobody(cluster_id, span),
        *_shared(cluster_id, span),
    ]


def held_and_gauge(
    span: Span, tolerances: Tolerances, cluster_id: int | None = None
) -> list[Finding]:
    """Compare what each queue held with what Kueue said of it, in the hours that it was heard.

    One query. An hour in which a good part of the gauge is missing says nothing. A gauge is a
    reading every few seconds, so sums are compared and not single hours.
    """
    heard = GaugeHour.objects.filter(
        within(span), held__isnull=False,
        seen__gte=HOUR * GOOD_FROM.numerator // GOOD_FROM.denominator,
    )  # fmt: skip
    if cluster_id is not None:
        heard = heard.filter(cluster=cluster_id)
    keys = ("cluster__slug", "queue", "flavor", "resource")
    found = heard.values_list(*keys).annotate(
        # What was not heard of an hour was as the rest of it.
        said=Sum(Func(F("reserved") * HOUR, F("seen"), function="div", output_field=_WHOLE)),
        own=Sum("held"),
        hours=Count("hour", distinct=True),
    )
    return [
        _gauge(Place(cluster, Pool(flavor, resource)), queue, (own, said, hours), tolerances)
        for cluster, queue, flavor, resource, said, own, hours in found.order_by(*keys)
    ]


def _gauge(place: Place, queue: str, sums: tuple[int, int, int], tolerances: Tolerances) -> Finding:
    own, said, hours = sums
    allowed = tolerances.get((place, Kind.GAUGE), HELD_AND_GAUGE)
    # A part of the whole, or so much for each day that has begun.
    daily = Tolerance(allowed.relative, allowed.absolute * -(-hours // 24))
    found = compare(f"{place} {queue}", own, said, daily, Code.INTERVAL_GAP)
    facts: dict[str, str | int] = {
        "flavor": place.pool.flavor, "resource": place.pool.resource, "queue": queue,
        "hours": hours,
    }  # fmt: skip
    return found._replace(allowed=daily.most(said), cluster=place.cluster, facts=facts)


def gaps(span: Span, tolerances: Tolerances) -> list[Finding]:
    """Return the queues of all clusters of which Kueue says something else; one query."""
    found = held_and_gauge(span, tolerances)
    return [each for each in found if each.code is Code.INTERVAL_GAP]


def _unknown(cluster_id: int, span: Span) -> list[Finding]:
    rows = UsedHour.objects.filter(within(span), cluster=cluster_id).exclude(pod="")
    found = rows.values_list("namespace").annotate(seen=Sum("seen"), of=Sum("expected"))
    return [
        Finding(Code.USED_UNKNOWN, namespace, Fraction(seen - expected), Fraction(expected))
        for namespace, seen, expected in found.order_by("namespace")
        if expected and Fraction(seen, expected) < UNKNOWN_BELOW
    ]


def _of_nobody(cluster_id: int, span: Span) -> list[Finding]:
    rows = UsedHour.objects.filter(within(span), cluster=cluster_id, pod="")
    found = rows.values_list("node").annotate(used_=Sum("used"), seen_=Sum("seen"))
    return [
        Finding(Code.UNATTRIBUTED_USE, node, Fraction(used, MILLI), Fraction(seen))
        for node, used, seen in found.order_by("node")
        if used > seen * MILLI * BUSY
    ]


def _shared(cluster_id: int, span: Span) -> list[Finding]:
    rows = UsedHour.objects.filter(within(span), cluster=cluster_id, shared__gt=1)
    found = rows.values_list("node").annotate(most=Max("shared"), seen_=Sum("seen"))
    return [
        Finding(Code.SHARED_DEVICE, node, Fraction(most), Fraction(seen))
        for node, most, seen in found.order_by("node")
    ]
