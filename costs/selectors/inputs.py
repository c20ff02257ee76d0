"""What a reconciliation of a period would rest on now, as a hash: equal means nothing to do."""

from __future__ import annotations

from costs.digest import digest
from costs.models import Period, Reconciliation
from costs.selectors import losses
from costs.selectors.bill_hours import stamp
from costs.selectors.period_hours import counted, expected, span_of
from costs.selectors.reckoning import Given, given


def newest_run(period: Period) -> Reconciliation | None:
    """Return the newest reconciliation of a period; one query."""
    return period.runs.order_by("-at", "-pk").first()


def of_period(period: Period, using: Given | None = None) -> str:
    """Return the hash of all that a run would read; eleven queries, or three if ``using`` is told.

    One more where a policy gives lost work back. Hours are named by the runs that counted them,
    which carry the hash of their facts.
    """
    using = using or given(period)
    return digest(
        [
            [[each.pk, stamp(each)] for each in using.bills],
            using.prices.pk if using.prices else None,
            [each.pk for each in using.policies],
            sorted([str(place), kind, *each] for (place, kind), each in using.tolerances.items()),
            using.rate,
            counted(period),
            sorted([slug, *span] for slug, span in expected(span_of(period)).items()),
            *([losses.stamp(span_of(period))] if using.gives_back else []),
        ]
    )
